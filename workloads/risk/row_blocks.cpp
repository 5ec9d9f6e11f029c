#include "workloads/risk/row_blocks.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace breakeven::risk {

void read_values(const Rows& rows, std::int64_t begin, std::int64_t end, float* values) {
  constexpr std::int64_t rows_at_once = 1024;
  const auto features = static_cast<std::int64_t>(rows.features());
#pragma omp parallel
  {
    std::vector<std::uint8_t> labels(static_cast<std::size_t>(rows_at_once));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t first = begin; first < end; first += rows_at_once)
      rows.read(first, std::min(end, first + rows_at_once), values + (first - begin) * features,
                labels.data());
  }
}

void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
#pragma omp parallel for schedule(static)
  for (std::size_t begin = 0; begin < bytes; begin += bytes_at_once)
    std::memcpy(to + begin, from + begin, std::min(bytes_at_once, bytes - begin));
}

} // namespace breakeven::risk
