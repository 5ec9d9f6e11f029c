#include "workloads/imaging/load.h"

#include "sim/errors.h"
#include "workloads/imaging/gzip_file.h"
#include "workloads/imaging/nifti.h"
#include "workloads/imaging/series.h"

#include <omp.h>

#include <algorithm>
#include <cctype>
#include <new>

namespace breakeven::imaging {

namespace fs = std::filesystem;

namespace {

bool is_nifti(const fs::path& path) {
  std::string name = path.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.ends_with(".nii") || name.ends_with(".nii.gz");
}

void need_nifti(const fs::path& path) {
  if (!is_nifti(path))
    throw BadInput(shown_path(path), 0, "another kind of file", "labels in .nii or .nii.gz");
}

/// What the volume would take is checked before; other processes may still have taken it.
template <class Read>
auto within_memory(const fs::path& path, const Read& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw Failure("not enough memory to read " + shown_path(path));
  }
}

} // namespace

CtImage read_ct(const fs::path& path) { return read_ct(path, omp_get_max_threads()); }

CtImage read_ct(const fs::path& path, int threads) {
  return within_memory(path, [&] {
    std::error_code error;
    if (fs::is_directory(path, error)) return read_dicom_folder(path, threads);
    return is_nifti(path) ? read_nifti_ct(path) : read_dicom_file(path);
  });
}

Volume<std::uint32_t> read_labels(const fs::path& path) {
  need_nifti(path);
  return within_memory(path, [&] { return read_nifti_labels(path); });
}

void write_labels(const fs::path& path, const Volume<std::uint32_t>& labels) {
  need_nifti(path);
  write_nifti_labels(path, labels);
}

} // namespace breakeven::imaging
