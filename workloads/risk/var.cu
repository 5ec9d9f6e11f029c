// Value at risk on the GPU. The serial loops:
//
//   for (path p) {
//     for (factor i) z[i] = normal_of(bit i of the path's draws);
//     for (factor i) r[i] = drift[i] + sum over j <= i of loadings[i][j] * z[j];
//     profit[p] = sum over positions of rounded(worth after r) - worth now;
//   }
//   sort(profit); worst = profit[0 .. needed);
//
// Paths go in chunks, three kernels each; profits stay on the device until all are sorted.
#include "sim/errors.h"
#include "workloads/clock.h"
#include "workloads/risk/var_kernels.h"
#include "workloads/risk/var_result.h"
#include "workloads/risk/var_work.h"

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <new>
#include <string>

namespace breakeven::ON_PATH {

namespace risk_var {

namespace thrust = THRUST_NS_QUALIFIER;

#if defined(__CUDACC__)
constexpr Path this_path = Path::cuda;
constexpr Processor this_processor = Processor::gpu;
void synchronise() {
  const cudaError_t code = cudaStreamSynchronize(Stream{}.handle);
  if (code != cudaSuccess)
    throw Failure(std::string("revalue a portfolio: CUDA error ")
                  + std::to_string(static_cast<int>(code)) + " (" + cudaGetErrorName(code)
                  + "): " + cudaGetErrorString(code));
}
#else
constexpr Path this_path = Path::host;
constexpr Processor this_processor = Processor::gpu;
void synchronise() {}
#endif

template <class T>
using Device = thrust::device_vector<T>;
template <class T>
T* pointer(Device<T>& values) {
  return thrust::raw_pointer_cast(values.data());
}
template <class T>
const T* pointer(const Device<T>& values) {
  return thrust::raw_pointer_cast(values.data());
}

/// Thrust's exceptions as ours, with CUDA's own code and text.
template <class Function>
auto reporting_failures(const VarBook& book, const VarSettings& settings, Function f) {
  try {
    return f();
  } catch (const thrust::system_error& error) {
    throw Failure("revalue a portfolio: error " + std::to_string(error.code().value()) + ": "
                  + error.what());
  } catch (const std::bad_alloc&) {
    throw no_room_for(book, settings, this_path);
  }
}

class DeviceBook {
public:
  explicit DeviceBook(const VarBook& book)
      : loadings_(book.loadings),
        factors_(book.factor_terms),
        first_option_(book.first_option),
        options_(book.options),
        view_{pointer(loadings_), pointer(factors_),      pointer(first_option_),
              pointer(options_),  book.options_value_now, book.factors,
              book.tiles()} {}
  const BookView& view() const { return view_; }

private:
  const Device<float> loadings_;
  const Device<FactorTerms> factors_;
  const Device<std::int32_t> first_option_;
  const Device<OptionTerms> options_;
  BookView view_;
};

std::int64_t whole_blocks(std::int64_t lanes, std::int64_t block) {
  return (lanes + block - 1) / block;
}

/// Room for a chunk's normals and returns.
struct ChunkMemory {
  ChunkMemory(const VarBook& book, std::int64_t paths)
      : pitch(whole_blocks(paths, threads_per_warp) * threads_per_warp),
        normals(static_cast<std::size_t>(book.rows() * pitch)),
        log_returns(static_cast<std::size_t>(book.rows() * pitch)) {}
  std::int64_t pitch;
  Device<float> normals, log_returns;
};

void run_chunk(const BookView& book, std::uint64_t seed, const Chunk& chunk, ChunkMemory& memory,
               std::int64_t* profits) {
  const std::int64_t quads = book.tiles * rows_a_tile / 4;
  const std::int64_t blocks_a_quad = whole_blocks(chunk.paths, usual_block);
  float* normals = pointer(memory.normals);
  float* log_returns = pointer(memory.log_returns);
  launch(quads * blocks_a_quad, usual_block, 0, Stream{}, DrawNormals{}, seed, chunk, blocks_a_quad,
         normals);
  const std::int64_t path_blocks = whole_blocks(chunk.paths, correlate_paths);
  launch(whole_blocks(book.tiles, correlate_warps) * path_blocks, correlate_block,
         Correlate::shared_bytes, Stream{}, Correlate{}, book, chunk, path_blocks,
         static_cast<const float*>(normals), log_returns);
  launch(whole_blocks(chunk.paths, usual_block), usual_block, Revalue::shared_bytes, Stream{},
         Revalue{}, book, chunk, static_cast<const float*>(log_returns), profits);
}

void run_chunks(const VarBook& book, const DeviceBook& device_book, std::uint64_t seed,
                std::int64_t first_path, std::int64_t paths, std::int64_t chunk_paths,
                std::int64_t* profits) {
  ChunkMemory memory(book, std::min(paths, chunk_paths));
  for (std::int64_t begin = 0; begin < paths; begin += chunk_paths)
    run_chunk(device_book.view(), seed,
              {static_cast<std::uint64_t>(first_path + begin), std::min(chunk_paths, paths - begin),
               memory.pitch},
              memory, profits + begin);
  synchronise(); // the chunk's memory ends here
}

VarTail tail_of(Device<std::int64_t>& profits, std::int64_t worst_paths) {
  VarTail tail;
  tail.paths = static_cast<std::int64_t>(profits.size());
  tail.sum =
      thrust::transform_reduce(profits.begin(), profits.end(), AsSum{}, ProfitSum{}, AddSums{});
  thrust::sort(profits.begin(), profits.end());
  tail.worst_profits.resize(static_cast<std::size_t>(worst_paths));
  return tail;
}

} // namespace risk_var

void var_profits(const risk::VarBook& book, std::uint64_t seed, std::int64_t first_path,
                 std::int64_t paths, std::int64_t chunk_paths, std::int64_t* profits) {
  using namespace risk_var;
  if (paths == 0) return;
  VarSettings settings;
  settings.paths = paths;
  reporting_failures(book, settings, [&] {
    const DeviceBook device_book(book);
    Device<std::int64_t> on_device(static_cast<std::size_t>(paths));
    run_chunks(book, device_book, seed, first_path, paths, chunk_paths, pointer(on_device));
    thrust::copy(on_device.begin(), on_device.end(), profits);
  });
}

risk::VarRun var(const risk::VarBook& book, const risk::VarSettings& settings) {
  using namespace risk_var;
  return reporting_failures(book, settings, [&] {
    const std::int64_t worst_paths = worst_paths_needed(settings);
    const double start_s = seconds_now();
    const DeviceBook device_book(book);
    synchronise();
    const double copied_in_s = seconds_now();
    Device<std::int64_t> profits(static_cast<std::size_t>(settings.paths));
    run_chunks(book, device_book, settings.seed, 0, settings.paths, chunk_paths_for(book),
               pointer(profits));
    const double priced_s = seconds_now();
    VarRun run;
    run.tail = tail_of(profits, worst_paths);
    synchronise();
    const double sorted_s = seconds_now();
    thrust::copy_n(profits.begin(), worst_paths, run.tail.worst_profits.begin());
    const double end_s = seconds_now();
    run.phases = {var_phase("transfer", this_processor, copied_in_s - start_s + end_s - sorted_s,
                            transfer_work(book, worst_paths)),
                  var_phase("scenarios", this_processor, priced_s - copied_in_s,
                            scenarios_work(book, settings.paths)),
                  var_phase("quantiles", this_processor, sorted_s - priced_s,
                            quantiles_work(settings.paths, worst_paths))};
    return run;
  });
}

} // namespace breakeven::ON_PATH
