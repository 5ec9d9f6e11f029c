// Rows in blocks, by all threads of the CPU: what the GPU side asks of it, whose own source knows
// no threads.
#pragma once

#include "workloads/risk/rows.h"

#include <cstddef>
#include <cstdint>

namespace breakeven::risk {

/// Values of rows [begin, end), row by row, labels left out.
void read_values(const Rows& rows, std::int64_t begin, std::int64_t end, float* values);

void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes);

} // namespace breakeven::risk
