// The bins of a table as the kernels meet them: chunk by chunk. Chunks that fit the path's memory
// stay there; the others come through two buffers, each while the one before is worked on. Takes
// binned rows, which must outlive it; gives each chunk once a pass.
#pragma once

#include "workloads/risk/gbdt_device.h"
#include "workloads/risk/gbdt_grow.h"
#include "workloads/risk/gbdt_kernels.h"

#include <array>
#include <numeric>
#include <optional>

namespace breakeven::ON_PATH::risk_gbdt {

using imaging::Block;
using imaging::Memory;

/// How a table lies: all chunks of as many rows, the last one of the rest.
struct ChunkPlan {
  std::int64_t chunk_rows = 0;
  std::int64_t resident_chunks = 0;
};

class BinChunks {
public:
  BinChunks(const BinnedRows& rows, const ChunkPlan& plan, Memory& memory)
      : rows_(rows),
        plan_(plan),
        resident_(memory, bytes_of(resident_rows())) {
    if (resident_rows() < rows.count) {
      for (Block<std::uint8_t>& buffer : buffers_)
        buffer = Block<std::uint8_t>(memory, bytes_of(plan.chunk_rows));
      pinned_.emplace(rows.row(resident_rows()), bytes_of(rows.count - resident_rows()));
    }
    risk_device::upload(resident_.data(), rows.by_row.data(), resident_.bytes());
  }

  std::int64_t chunks() const { return (rows_.count + plan_.chunk_rows - 1) / plan_.chunk_rows; }
  std::int64_t resident_rows() const {
    return std::min(rows_.count, plan_.resident_chunks * plan_.chunk_rows);
  }
  Range rows_of(std::int64_t chunk) const {
    const std::int64_t begin = chunk * plan_.chunk_rows;
    return {begin, std::min(rows_.count, begin + plan_.chunk_rows)};
  }

  /// Calls use(chunk, bins) for each chunk; what it launches runs before the chunk is overwritten.
  /// Gives the bytes that were copied. Passes go to and fro, so that each finds the last two chunks
  /// of the one before. Nothing that `use` asks for may wait for a copy to the GPU: it would queue
  /// behind the next chunk.
  template <class Use>
  double for_each(const Use& use) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(chunks()));
    std::iota(order.begin(), order.end(), 0);
    const auto streamed =
        order.begin() + static_cast<std::ptrdiff_t>(std::min(plan_.resident_chunks, chunks()));
    if (is_backward_) std::reverse(streamed, order.end());
    is_backward_ = !is_backward_;
    double bytes = 0;
    if (!order.empty()) bytes += fetch(order[0]);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i + 1 < order.size()) bytes += fetch(order[i + 1]);
      if (!is_resident(order[i])) queues_[buffer_of(order[i])].let_kernels_wait();
      use(order[i], bins_of(order[i]));
    }
    return bytes;
  }

private:
  std::size_t bytes_of(std::int64_t rows) const {
    return static_cast<std::size_t>(rows * rows_.row_bytes);
  }
  bool is_resident(std::int64_t chunk) const { return chunk < plan_.resident_chunks; }
  static std::size_t buffer_of(std::int64_t chunk) { return static_cast<std::size_t>(chunk % 2); }

  Bins bins_of(std::int64_t chunk) const {
    const std::int64_t first = rows_of(chunk).begin;
    return {is_resident(chunk) ? resident_.data() + bytes_of(first)
                               : buffers_[buffer_of(chunk)].data(),
            rows_.row_bytes, first};
  }

  /// The chunk before the last one had the same buffer; its kernels are queued already.
  double fetch(std::int64_t chunk) {
    const std::size_t buffer = buffer_of(chunk);
    if (is_resident(chunk) || holds_[buffer] == chunk) return 0;
    const Range rows = rows_of(chunk);
    queues_[buffer].wait_for_kernels();
    queues_[buffer].copy_in(buffers_[buffer].data(), rows_.row(rows.begin), bytes_of(rows.count()));
    holds_[buffer] = chunk;
    return static_cast<double>(bytes_of(rows.count()));
  }

  const BinnedRows& rows_;
  ChunkPlan plan_;
  Block<std::uint8_t> resident_;
  std::array<Block<std::uint8_t>, 2> buffers_;
  std::array<std::int64_t, 2> holds_{-1, -1};
  bool is_backward_ = false;
  std::optional<risk_device::Pinned> pinned_;
  std::array<risk_device::Queue, 2> queues_{}; // ends first, and waits for its copies
};

} // namespace breakeven::ON_PATH::risk_gbdt
