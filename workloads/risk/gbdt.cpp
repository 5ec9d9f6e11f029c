#include "workloads/risk/gbdt.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace breakeven::risk {

std::vector<std::int32_t> drawn_columns(int features, const GbdtParameters& parameters, int round) {
  std::vector<std::int32_t> columns(static_cast<std::size_t>(features));
  std::iota(columns.begin(), columns.end(), 0);
  const auto wanted = static_cast<std::ptrdiff_t>(
      std::max(1.0, std::round(static_cast<double>(parameters.column_share) * features)));
  if (wanted >= features) return columns;
  std::vector<std::uint32_t> keys(columns.size());
  for (const std::int32_t column : columns)
    keys[static_cast<std::size_t>(column)] =
        philox4x32({static_cast<std::uint32_t>(column), 0, static_cast<std::uint32_t>(round), 1},
                   parameters.seed)
            .x;
  std::stable_sort(columns.begin(), columns.end(), [&](std::int32_t a, std::int32_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  columns.resize(static_cast<std::size_t>(wanted));
  std::sort(columns.begin(), columns.end());
  return columns;
}

} // namespace breakeven::risk
