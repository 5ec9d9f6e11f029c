#include "workloads/imaging/series.h"

#include "sim/errors.h"
#include "workloads/imaging/dicom.h"
#include "workloads/imaging/gzip_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>

namespace breakeven::imaging {

namespace fs = std::filesystem;

namespace {

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector difference(const Vector& a, const Vector& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Vector normalised(const Vector& a) {
  const double length = std::sqrt(dot(a, a));
  return {a[0] / length, a[1] / length, a[2] / length};
}

/// Runs `work(i)` for all i in several threads; throws what the lowest i threw.
template <class Work>
void for_each(std::size_t count, int threads, const Work& work) {
  std::vector<std::exception_ptr> thrown(count);
#pragma omp parallel for schedule(dynamic) num_threads(std::max(1, threads))
  for (std::size_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}

// ---- the folder ---------------------------------------------------------------------------------

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

struct Folder {
  std::string shown;
  std::vector<fs::path> files;
  std::vector<std::string> names; ///< as messages show them
  std::size_t hidden = 0, subfolders = 0;
};

/// File names are often UIDs, or patients' names: two characters and the place in the listing tell
/// the user which it is, and nobody else who it is.
std::string shown_name(const fs::path& file, std::size_t place, std::size_t count) {
  return fmt::format("{}... (entry {} of {} by name)", file.filename().string().substr(0, 2),
                     place + 1, count);
}

Folder list_folder(const fs::path& folder) {
  Folder listed{shown_path(folder), {}, {}, 0, 0};
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (entry->path().filename().string().front() == '.')
      ++listed.hidden;
    else
      entries.push_back(entry->path());
  if (error) throw BadInput(listed.shown, 0, error.message(), "a readable folder");
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (fs::is_directory(entries[i], error)) {
      ++listed.subfolders;
      continue;
    }
    listed.files.push_back(entries[i]);
    listed.names.push_back(listed.shown + "/" + shown_name(entries[i], i, entries.size()));
  }
  return listed;
}

void note_skipped(const Folder& folder, const std::vector<DicomHeader>& headers,
                  std::vector<std::string>& notes) {
  const auto count = [&](DicomKind kind) {
    return static_cast<std::size_t>(std::count_if(
        headers.begin(), headers.end(), [&](const DicomHeader& h) { return h.kind == kind; }));
  };
  const auto note = [&](std::size_t files, const std::string& text) {
    if (files > 0) notes.push_back(text + " skipped");
  };
  note(count(DicomKind::no_dicom),
       plural(count(DicomKind::no_dicom), "file") + " other than DICOM");
  note(count(DicomKind::directory), plural(count(DicomKind::directory), "DICOMDIR file"));
  std::map<std::string, std::size_t> modalities;
  for (const DicomHeader& header : headers)
    if (header.kind == DicomKind::no_image)
      ++modalities[header.modality.empty() ? "unknown" : header.modality];
  for (const auto& [modality, files] : modalities)
    note(files, fmt::format("{} without pixels ({})", plural(files, "DICOM object"), modality));
  note(folder.hidden, plural(folder.hidden, "hidden entry"));
  note(folder.subfolders, plural(folder.subfolders, "subfolder"));
}

/// Series are told apart by UID and shown by number; those of one number by their first file.
void check_one_series(const Folder& folder, const std::vector<DicomHeader>& slices) {
  struct Series {
    std::optional<int> number;
    std::string modality;
    std::size_t files = 0;
  };
  std::map<std::string, Series> all;
  std::vector<const Series*> order;
  for (const DicomHeader& slice : slices) {
    const auto [found, is_new] = all.try_emplace(slice.series_uid);
    if (is_new) {
      found->second = {slice.series_number, slice.modality, 0};
      order.push_back(&found->second);
    }
    ++found->second.files;
  }
  if (all.size() == 1) return;
  std::string list;
  constexpr std::size_t most_listed = 8;
  for (std::size_t i = 0; i < std::min(order.size(), most_listed); ++i)
    list +=
        fmt::format("{}{}, {} {}", i == 0 ? "" : "; ",
                    order[i]->number ? fmt::format("number {}", *order[i]->number) : "no number",
                    plural(order[i]->files, "file"), order[i]->modality);
  if (order.size() > most_listed) list += "; ...";
  throw BadInput(folder.shown, 0, fmt::format("{} series ({})", all.size(), list),
                 "one CT series a folder");
}

// ---- the stack ----------------------------------------------------------------------------------

/// Slices in order along the normal, and where each lies.
struct Stack {
  std::vector<DicomHeader> slices;
  Vector along_row{}, along_column{}, normal{}; ///< unit vectors, LPS
  double column_mm = 1, row_mm = 1;             ///< spacing along a row, along a column
  std::vector<double> height_mm;                ///< along the normal, of each slice
  std::vector<double> shift_x, shift_y;         ///< sideways from the first slice, in pixels
};

void check_same_plane(const DicomHeader& slice, const DicomHeader& first) {
  const auto bad = [&](const std::string& found, const std::string& expected) {
    throw BadInput(slice.shown, 0, found, expected + ", as in " + first.shown);
  };
  if (slice.rows != first.rows || slice.columns != first.columns)
    bad(fmt::format("{} x {} pixels", *slice.columns, *slice.rows),
        fmt::format("{} x {}", *first.columns, *first.rows));
  constexpr double rounding = 2e-4; // of numbers with four digits behind the point
  for (std::size_t i = 0; i < 6; ++i)
    if (std::fabs((*slice.orientation)[i] - (*first.orientation)[i]) > rounding)
      bad("another Image Orientation", "the same");
  for (std::size_t i = 0; i < 2; ++i)
    if (std::fabs((*slice.pixel_spacing_mm)[i] / (*first.pixel_spacing_mm)[i] - 1) > rounding)
      bad(fmt::format("Pixel Spacing {}", (*slice.pixel_spacing_mm)[i]),
          fmt::format("{}", (*first.pixel_spacing_mm)[i]));
  if (slice.sign != first.sign)
    bad(fmt::format("Pixel Representation {}", *slice.sign), fmt::format("{}", *first.sign));
  if (slice.padding != first.padding || slice.padding_limit != first.padding_limit)
    bad("another Pixel Padding Value", "the same");
}

Stack stack_of(std::vector<DicomHeader> slices) {
  Stack stack;
  const DicomHeader& first = slices.front();
  const auto& o = *first.orientation;
  stack.along_row = normalised({o[0], o[1], o[2]});
  // Rounded vectors are only nearly at right angles; the volume's axes are exactly so.
  stack.normal = normalised(cross(stack.along_row, {o[3], o[4], o[5]}));
  stack.along_column = cross(stack.normal, stack.along_row);
  stack.row_mm = (*first.pixel_spacing_mm)[0];
  stack.column_mm = (*first.pixel_spacing_mm)[1];
  for (const DicomHeader& slice : slices)
    check_same_plane(slice, first);
  std::stable_sort(slices.begin(), slices.end(), [&](const DicomHeader& a, const DicomHeader& b) {
    return dot(*a.position_mm, stack.normal) < dot(*b.position_mm, stack.normal);
  });
  const Vector origin = *slices.front().position_mm;
  for (const DicomHeader& slice : slices) {
    const Vector from_first = difference(*slice.position_mm, origin);
    stack.height_mm.push_back(dot(from_first, stack.normal));
    stack.shift_x.push_back(dot(from_first, stack.along_row) / stack.column_mm);
    stack.shift_y.push_back(dot(from_first, stack.along_column) / stack.row_mm);
  }
  stack.slices = std::move(slices);
  return stack;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Refuses stacks with slices too many or too few; the others' usual gap, in mm.
double checked_gap(const Stack& stack) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < stack.slices.size(); ++i)
    gaps.push_back(stack.height_mm[i] - stack.height_mm[i - 1]);
  constexpr double least_mm = 1e-3, duplicate_part = 0.05, multiple_part = 0.1;
  std::vector<double> real_gaps;
  std::copy_if(gaps.begin(), gaps.end(), std::back_inserter(real_gaps),
               [](double gap) { return gap > least_mm; });
  const double usual = real_gaps.empty() ? least_mm : median_of(real_gaps);
  const auto bad = [&](std::size_t i, const std::string& found, const std::string& expected) {
    throw BadInput(stack.slices[i].shown, 0, fmt::format("{} {}", found, stack.slices[i - 1].shown),
                   expected);
  };
  for (std::size_t i = 1; i < stack.slices.size(); ++i)
    if (gaps[i - 1] < std::max(least_mm, duplicate_part * usual))
      bad(i, "a duplicate: the same position as", "one slice a position");
  for (std::size_t i = 1; i < stack.slices.size(); ++i) {
    const double ratio = gaps[i - 1] / usual, multiple = std::round(ratio);
    if (multiple >= 2 && std::fabs(ratio - multiple) <= multiple_part)
      bad(i,
          fmt::format("{} missing: {:.3f} mm without a slice since",
                      plural(static_cast<std::size_t>(multiple) - 1, "slice"), gaps[i - 1]),
          fmt::format("{:.3f} mm from slice to slice", usual));
    if (ratio > 2)
      bad(i, fmt::format("an uneven gap of {:.3f} mm from", gaps[i - 1]),
          fmt::format("at most twice the usual {:.3f} mm", usual));
  }
  return usual;
}

/// Farthest that a slice lies from where it would if they stepped evenly from the first to the
/// last.
double unevenness(const std::vector<double>& height_mm, const std::vector<double>& values) {
  double farthest = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    farthest =
        std::max(farthest, std::fabs(values[i] - values.back() * height_mm[i] / height_mm.back()));
  return farthest;
}

/// Degrees between the stacking direction and the normal; 0 for a stack that needs no correction.
double checked_tilt(const Stack& stack) {
  constexpr double straight_mm = 0.1, steepest = 30;
  const auto in_mm = [](std::vector<double> shift, double spacing) {
    for (double& value : shift)
      value *= spacing;
    return shift;
  };
  const auto x = in_mm(stack.shift_x, stack.column_mm), y = in_mm(stack.shift_y, stack.row_mm);
  double farthest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    farthest = std::max(farthest, std::hypot(x[i], y[i]));
  if (farthest <= straight_mm) return 0;
  const double degrees =
      std::atan2(std::hypot(x.back(), y.back()), stack.height_mm.back()) * 180 / std::numbers::pi;
  const double irregular = std::max(unevenness(stack.height_mm, x), unevenness(stack.height_mm, y));
  const std::string& shown = stack.slices.front().shown;
  if (irregular > straight_mm)
    throw BadInput(shown, 0,
                   fmt::format("slices that lie up to {:.2f} mm beside a straight line", irregular),
                   "slices above one another, or sheared evenly by a tilted gantry");
  if (degrees > steepest)
    throw BadInput(shown, 0, fmt::format("slices stacked {:.1f} degrees off their normal", degrees),
                   fmt::format("a gantry tilt of at most {}", steepest));
  return degrees;
}

// ---- corrections --------------------------------------------------------------------------------

/// Voxels as int16 or float, and which of them are padding.
template <class T>
struct Voxels {
  Extent extent;
  std::vector<T> values;
  bool has_padding = false;
  T padding_low = 0, padding_high = 0;

  bool is_padding(T value) const {
    return has_padding && value >= padding_low && value <= padding_high;
  }
};

template <class T>
T rounded(float value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::lrintf(value));
  else
    return value;
}

/// A value for what was not scanned: the padding there is, or a new one below all values.
template <class T>
T padding_for(Voxels<T>& voxels, float stored_air) {
  if (voxels.has_padding) return voxels.padding_low;
  const T least = *std::min_element(voxels.values.begin(), voxels.values.end());
  T padding;
  if constexpr (std::is_integral_v<T>) {
    padding = std::numeric_limits<T>::min();
    if (least == padding) // no value is free
      return static_cast<T>(
          std::clamp<float>(std::round(stored_air), padding, std::numeric_limits<T>::max()));
  } else {
    padding = std::min(T{-1e9}, 2 * least);
  }
  voxels.has_padding = true;
  voxels.padding_low = voxels.padding_high = padding;
  return padding;
}

/// Where along one side an output pixel lies in its slice.
struct Place {
  std::int64_t lower = -1; ///< -1: not in the slice
  float weight = 0;        ///< of lower + 1
};
std::vector<Place> places(std::int64_t input_side, std::int64_t output_side, double first) {
  std::vector<Place> table(static_cast<std::size_t>(output_side));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double at = first + static_cast<double>(i);
    const double last = static_cast<double>(input_side - 1);
    if (at < -0.5 || at > last + 0.5) continue; // beyond the outermost pixels' sides
    const double inside = std::clamp(at, 0.0, last);
    table[i].lower =
        std::min(static_cast<std::int64_t>(inside), std::max<std::int64_t>(0, input_side - 2));
    table[i].weight = static_cast<float>(inside - static_cast<double>(table[i].lower));
  }
  return table;
}

/// Between two values; next to padding the nearer of them, since padding is no density.
template <class T>
T between(const Voxels<T>& voxels, T a, T b, float weight) {
  if (weight == 0) return a;
  if (voxels.is_padding(a) || voxels.is_padding(b)) return weight < 0.5f ? a : b;
  return rounded<T>(static_cast<float>(a)
                    + weight * (static_cast<float>(b) - static_cast<float>(a)));
}

/// Whole pixels that the volume grows by on either side to hold shifted slices.
struct Margin {
  std::int64_t before = 0, after = 0;
};
Margin margin_of(const std::vector<double>& shift) {
  constexpr double noise = 1e-3; // pixels
  const auto [least, most] = std::minmax_element(shift.begin(), shift.end());
  return {static_cast<std::int64_t>(std::ceil(-*least - noise)),
          static_cast<std::int64_t>(std::ceil(*most - noise))};
}

template <class T>
Voxels<T> sheared(Voxels<T> in, const Stack& stack, const Margin& x, const Margin& y, T padding,
                  int threads) {
  Voxels<T> out = in;
  out.extent.x += x.before + x.after;
  out.extent.y += y.before + y.after;
  out.values.assign(static_cast<std::size_t>(out.extent.voxels()), padding);
  for_each(stack.slices.size(), threads, [&](std::size_t z) {
    const auto columns =
        places(in.extent.x, out.extent.x, -static_cast<double>(x.before) - stack.shift_x[z]);
    const auto rows =
        places(in.extent.y, out.extent.y, -static_cast<double>(y.before) - stack.shift_y[z]);
    const T* slice = in.values.data() + static_cast<std::int64_t>(z) * in.extent.slice();
    T* to = out.values.data() + static_cast<std::int64_t>(z) * out.extent.slice();
    for (const Place& row : rows) {
      if (row.lower >= 0) {
        const T* lower = slice + row.lower * in.extent.x;
        const T* upper = row.weight > 0 ? lower + in.extent.x : lower;
        for (std::size_t i = 0; i < columns.size(); ++i) {
          const Place& column = columns[i];
          if (column.lower < 0) continue;
          const std::int64_t a = column.lower, b = column.weight > 0 ? a + 1 : a;
          to[i] = between(in, between(in, lower[a], lower[b], column.weight),
                          between(in, upper[a], upper[b], column.weight), row.weight);
        }
      }
      to += out.extent.x;
    }
  });
  return out;
}

template <class T>
Voxels<T> evened(Voxels<T> in, const std::vector<double>& height_mm, std::int64_t count,
                 double step_mm, int threads) {
  Voxels<T> out = in;
  out.extent.z = count;
  out.values.resize(static_cast<std::size_t>(out.extent.voxels()));
  const std::int64_t slice = in.extent.slice();
  for_each(static_cast<std::size_t>(count), threads, [&](std::size_t z) {
    const double at = std::min(static_cast<double>(z) * step_mm, height_mm.back());
    const auto above = std::upper_bound(height_mm.begin() + 1, height_mm.end() - 1, at);
    const auto upper = static_cast<std::int64_t>(above - height_mm.begin());
    const double gap = *above - *(above - 1);
    const auto weight = static_cast<float>((at - *(above - 1)) / gap);
    const T* b = in.values.data() + upper * slice;
    const T* a = b - slice;
    T* to = out.values.data() + static_cast<std::int64_t>(z) * slice;
    for (std::int64_t i = 0; i < slice; ++i)
      to[i] = between(in, a[i], b[i], weight);
  });
  return out;
}

/// What a stack needs to become even, and what it is then.
struct Correction {
  double tilt_degrees = 0;
  Margin x, y;
  bool is_uneven = false;
  std::int64_t slices = 1;
  double step_mm = 1;
  bool is_needed() const { return tilt_degrees > 0 || is_uneven; }
};

Correction correction_of(const Stack& stack, std::vector<std::string>& notes) {
  Correction correction;
  if (stack.slices.size() == 1) {
    const auto& thickness = stack.slices[0].slice_thickness_mm;
    constexpr double thickest_mm = 1e3;
    if (!thickness || !(*thickness > 0 && *thickness <= thickest_mm))
      throw BadInput(stack.slices[0].shown, 0,
                     thickness ? fmt::format("Slice Thickness {} of a single slice", *thickness)
                               : "a single slice without Slice Thickness",
                     "a thickness above 0 mm");
    correction.step_mm = *thickness;
    notes.emplace_back("a single slice, its thickness taken as spacing");
    return correction;
  }
  const double usual = checked_gap(stack);
  const double length = stack.height_mm.back();
  correction.slices = static_cast<std::int64_t>(stack.slices.size());
  correction.step_mm = length / static_cast<double>(correction.slices - 1);
  std::vector<double> even(stack.slices.size());
  for (std::size_t i = 0; i < even.size(); ++i)
    even[i] = static_cast<double>(i) * correction.step_mm;
  double farthest = 0;
  for (std::size_t i = 0; i < even.size(); ++i)
    farthest = std::max(farthest, std::fabs(stack.height_mm[i] - even[i]));
  constexpr double rounding_mm = 0.05 + 1e-6, even_part = 0.01;
  correction.tilt_degrees = checked_tilt(stack);
  if (correction.tilt_degrees > 0) {
    correction.x = margin_of(stack.shift_x);
    correction.y = margin_of(stack.shift_y);
    notes.push_back(fmt::format("gantry tilt of {:.1f} degrees corrected by shifting the slices",
                                correction.tilt_degrees));
  }
  // Positions rounded to tenths keep within 0.05 mm, but must not hide steps of that size.
  constexpr double rounded_part = 0.1;
  if (farthest > std::max(even_part * usual, std::min(rounding_mm, rounded_part * usual))) {
    correction.is_uneven = true;
    correction.slices = std::lround(length / usual) + 1;
    correction.step_mm = length / static_cast<double>(correction.slices - 1);
    notes.push_back(fmt::format("{} slices up to {:.2f} mm off even spacing resampled to {} at "
                                "{:.3f} mm",
                                stack.slices.size(), farthest, correction.slices,
                                correction.step_mm));
  }
  return correction;
}

template <class T>
Voxels<T> corrected(Voxels<T> voxels, const Stack& stack, const Correction& correction,
                    const Rescale& first, int threads) {
  if (correction.tilt_degrees > 0) {
    const T padding = padding_for(voxels, (air_hu - first.intercept) / first.slope);
    voxels = sheared(std::move(voxels), stack, correction.x, correction.y, padding, threads);
  }
  if (correction.is_uneven)
    voxels =
        evened(std::move(voxels), stack.height_mm, correction.slices, correction.step_mm, threads);
  return voxels;
}

// ---- the image ----------------------------------------------------------------------------------

Geometry geometry_of(const Stack& stack, const Correction& correction) {
  Geometry geometry;
  const DicomHeader& first = stack.slices.front();
  geometry.extent = {*first.columns + correction.x.before + correction.x.after,
                     *first.rows + correction.y.before + correction.y.after, correction.slices};
  const double step[3] = {stack.column_mm, stack.row_mm, correction.step_mm};
  const Vector* axis[3] = {&stack.along_row, &stack.along_column, &stack.normal};
  constexpr double to_ras[3] = {-1, -1, 1}; // DICOM's x and y grow to the left and to the back
  for (std::size_t row = 0; row < 3; ++row) {
    auto& m = geometry.to_ras_mm[row];
    for (std::size_t i = 0; i < 3; ++i)
      m[i] = to_ras[row] * (*axis[i])[row] * step[i];
    m[3] = to_ras[row] * (*first.position_mm)[row] - m[0] * static_cast<double>(correction.x.before)
           - m[1] * static_cast<double>(correction.y.before);
  }
  for (auto& row : geometry.to_ras_mm)
    for (double& value : row)
      value += 0.0; // no -0
  return geometry;
}

std::vector<std::int16_t> decode(const Stack& stack, bool& exceeds_int16,
                                 std::vector<std::string>& notes, int threads) {
  const auto slice = static_cast<std::size_t>(stack.slices.front().pixels());
  std::vector<std::int16_t> stored(slice * stack.slices.size());
  std::vector<DecodedSlice> decoded(stack.slices.size());
  for_each(stack.slices.size(), threads, [&](std::size_t i) {
    decoded[i] = decode_slice(stack.slices[i], std::span(stored).subspan(i * slice, slice));
  });
  std::int64_t cut_off = 0;
  for (const DecodedSlice& one : decoded) {
    exceeds_int16 = exceeds_int16 || one.exceeds_int16;
    cut_off += one.cut_off_pixels;
  }
  if (cut_off > 0)
    notes.push_back(fmt::format("bits outside Bits Stored dropped from {} pixels", cut_off));
  return stored;
}

template <class T>
Voxels<T> with_padding(std::vector<T> values, const Extent& extent, const DicomHeader& header) {
  Voxels<T> voxels{extent, std::move(values), false, 0, 0};
  if (!header.padding) return voxels;
  const int limit = header.padding_limit.value_or(*header.padding);
  const int low = std::min(*header.padding, limit), high = std::max(*header.padding, limit);
  if constexpr (std::is_integral_v<T>) { // what lies outside int16 is no value of the image
    constexpr int least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    if (high < least || low > most) return voxels;
    voxels.padding_low = static_cast<T>(std::max(low, least));
    voxels.padding_high = static_cast<T>(std::min(high, most));
  } else {
    voxels.padding_low = static_cast<T>(low);
    voxels.padding_high = static_cast<T>(high);
  }
  voxels.has_padding = true;
  return voxels;
}

template <class T>
void give(CtImage& image, Voxels<T> voxels) {
  assert(voxels.extent == image.geometry.extent);
  image.has_padding = voxels.has_padding;
  image.padding_low = static_cast<float>(voxels.padding_low);
  image.padding_high = static_cast<float>(voxels.padding_high);
  if constexpr (std::is_integral_v<T>)
    image.stored = std::move(voxels.values);
  else
    image.float_stored = std::move(voxels.values);
}

/// Stored values as Hounsfield units, padding as it was.
void to_hu(Voxels<float>& voxels, std::vector<Rescale>& rescale) {
  const float outside = -1e9f;
  const auto slice = static_cast<std::size_t>(voxels.extent.slice());
  for (std::size_t z = 0; z < rescale.size(); ++z)
    for (std::size_t i = z * slice; i < (z + 1) * slice; ++i) {
      float& value = voxels.values[i];
      value = voxels.is_padding(value) ? outside : rescale[z].slope * value + rescale[z].intercept;
    }
  voxels.padding_low = voxels.padding_high = voxels.has_padding ? outside : 0;
  std::fill(rescale.begin(), rescale.end(), Rescale{});
}

CtImage image_of(std::vector<DicomHeader> slices, const std::string& shown, int threads,
                 std::vector<std::string> notes) {
  for (const DicomHeader& slice : slices)
    check_ct_slice(slice);
  const Stack stack = stack_of(std::move(slices));
  const DicomHeader& first = stack.slices.front();
  CtImage image;
  image.notes = std::move(notes);
  const Correction correction = correction_of(stack, image.notes);
  image.geometry = geometry_of(stack, correction);
  if (first.photometric == "MONOCHROME1")
    image.notes.emplace_back("MONOCHROME1: shown inverted elsewhere, values read as stored");
  const Extent& extent = image.geometry.extent;
  constexpr double uncorrected_bytes = 2, corrected_bytes = 8; // int16; or twice float
  check_volume_fits(shown,
                    static_cast<double>(extent.x) * static_cast<double>(extent.y)
                        * static_cast<double>(std::max<std::size_t>(
                            static_cast<std::size_t>(extent.z), stack.slices.size())),
                    correction.is_needed() ? corrected_bytes : uncorrected_bytes);

  for (const DicomHeader& slice : stack.slices)
    image.rescale.push_back(
        {static_cast<float>(*slice.slope), static_cast<float>(*slice.intercept)});
  const bool is_one_rescale =
      std::adjacent_find(image.rescale.begin(), image.rescale.end(), std::not_equal_to<>())
      == image.rescale.end();
  bool exceeds_int16 = false;
  std::vector<std::int16_t> stored = decode(stack, exceeds_int16, image.notes, threads);
  const Extent scanned{*first.columns, *first.rows, static_cast<std::int64_t>(stack.slices.size())};
  // Slices of different scales have nothing between them but Hounsfield units.
  const bool mixes_scales = correction.is_uneven && !is_one_rescale;
  if (exceeds_int16 || mixes_scales) {
    std::vector<float> values(stored.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = first.is_signed() ? static_cast<float>(stored[i])
                                    : static_cast<float>(static_cast<std::uint16_t>(stored[i]));
    stored = {};
    Voxels<float> voxels = with_padding(std::move(values), scanned, first);
    if (mixes_scales) to_hu(voxels, image.rescale);
    give(image, corrected(std::move(voxels), stack, correction, image.rescale.front(), threads));
  } else {
    give(image, corrected(with_padding(std::move(stored), scanned, first), stack, correction,
                          image.rescale.front(), threads));
  }
  image.rescale.resize(static_cast<std::size_t>(extent.z), image.rescale.front());
  return image;
}

} // namespace

CtImage read_dicom_folder(const fs::path& path, int threads) {
  const Folder folder = list_folder(path);
  std::vector<DicomHeader> headers(folder.files.size());
  for_each(headers.size(), threads, [&](std::size_t i) {
    headers[i] = read_dicom_header(folder.files[i], folder.names[i]);
  });
  std::vector<std::string> notes;
  note_skipped(folder, headers, notes);
  std::erase_if(headers, [](const DicomHeader& h) { return h.kind != DicomKind::image; });
  if (headers.empty())
    throw BadInput(
        folder.shown, 0,
        fmt::format("{} and no DICOM image among them", plural(folder.files.size(), "file")),
        "the slices of one CT series");
  check_one_series(folder, headers);
  return image_of(std::move(headers), folder.shown, threads, std::move(notes));
}

CtImage read_dicom_file(const fs::path& path) {
  const std::string shown = shown_path(path);
  DicomHeader header = read_dicom_header(path, shown);
  switch (header.kind) {
  case DicomKind::image:
    break;
  case DicomKind::no_dicom:
    throw BadInput(shown, 0, "no DICM at byte 128", "DICOM, .nii or .nii.gz");
  case DicomKind::directory:
    throw BadInput(shown, 0, "a DICOMDIR", "the folder of a series, or a slice");
  case DicomKind::no_image:
    throw BadInput(shown, 0, "a DICOM object without pixels", "a CT slice");
  }
  return image_of({std::move(header)}, shown, 1, {});
}

} // namespace breakeven::imaging
