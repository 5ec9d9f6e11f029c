// The median of 3 x 3 x 3 on the CPU: part of a row at a time, so that sorted triples and columns
// stay in the first cache.
#include "workloads/imaging/intensity_openmp.h"

namespace breakeven::imaging {

using namespace intensity_openmp;

namespace {

// A part of a row has at most 254 outputs and so 256 columns; its sorted triples of three rows and
// its sorted columns are 9 KiB each.
constexpr std::int64_t most_columns = 256;
constexpr std::int64_t pitch = most_columns + lanes;
constexpr std::int64_t rows_a_task = 32;

using TripleRows = float[3][pitch];
using ColumnRows = float[9][pitch];
struct MedianMemory {
  alignas(64) TripleRows triples[3]; ///< of rows y - 1, y, y + 1
  alignas(64) ColumnRows columns;
};

/// Sorts the voxels of three slices above each other, for the columns from first_x on; x outside
/// the volume repeats its border.
void sort_triples(const float* __restrict below, const float* __restrict here,
                  const float* __restrict above, std::int64_t first_x, std::int64_t columns,
                  std::int64_t row_length, TripleRows& triples) {
  float* __restrict low = triples[0];
  float* __restrict middle = triples[1];
  float* __restrict high = triples[2];
  const auto sort_at = [&](std::int64_t x, std::int64_t column) {
    float a = sortable(below[x]), b = sortable(here[x]), c = sortable(above[x]);
    sort_3<Selection>(a, b, c);
    low[column] = a;
    middle[column] = b;
    high[column] = c;
  };
  const std::int64_t inside_begin = first_x < 0 ? 1 : 0;
  const std::int64_t inside_end = std::min(columns, row_length - first_x);
#pragma omp simd
  for (std::int64_t column = inside_begin; column < inside_end; ++column)
    sort_at(first_x + column, column);
  if (inside_begin > 0) sort_at(0, 0);
  for (std::int64_t column = inside_end; column < whole_lanes(columns); ++column)
    sort_at(row_length - 1, column);
}

void sort_columns(const TripleRows& a, const TripleRows& b, const TripleRows& c,
                  std::int64_t columns, ColumnRows& sorted) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < columns; ++i) {
    Nine s{a[0][i], a[1][i], a[2][i], b[0][i], b[1][i], b[2][i], c[0][i], c[1][i], c[2][i]};
    merge_triples<Selection>(s);
    sorted[0][i] = s.v0;
    sorted[1][i] = s.v1;
    sorted[2][i] = s.v2;
    sorted[3][i] = s.v3;
    sorted[4][i] = s.v4;
    sorted[5][i] = s.v5;
    sorted[6][i] = s.v6;
    sorted[7][i] = s.v7;
    sorted[8][i] = s.v8;
  }
}

void medians(const ColumnRows& s, std::int64_t outputs, float* __restrict out) {
  const auto column = [&s](std::int64_t i) {
    return Nine{s[0][i], s[1][i], s[2][i], s[3][i], s[4][i], s[5][i], s[6][i], s[7][i], s[8][i]};
  };
#pragma omp simd
  for (std::int64_t i = 0; i < outputs; ++i)
    out[i] = median_of<Selection>(column(i), column(i + 1), column(i + 2));
}

/// Outputs [x_begin, x_begin + outputs) of rows [y_begin, y_end) of slice z.
void median_of_part(View<const float> in, View<float> out, std::int64_t z, std::int64_t y_begin,
                    std::int64_t y_end, std::int64_t x_begin, std::int64_t outputs,
                    MedianMemory& memory) {
  const Extent extent = in.extent;
  const auto row = [&](std::int64_t y, std::int64_t row_z) {
    return in.data + (nearest(row_z, extent.z) * extent.y + nearest(y, extent.y)) * extent.x;
  };
  const auto triples = [&](std::int64_t y) -> TripleRows& { return memory.triples[(y + 3) % 3]; };
  const auto load = [&](std::int64_t y) {
    sort_triples(row(y, z - 1), row(y, z), row(y, z + 1), x_begin - 1, outputs + 2, extent.x,
                 triples(y));
  };
  load(y_begin - 1);
  load(y_begin);
  for (std::int64_t y = y_begin; y < y_end; ++y) {
    load(y + 1);
    sort_columns(triples(y - 1), triples(y), triples(y + 1), whole_lanes(outputs + 2),
                 memory.columns);
    medians(memory.columns, outputs, out.data + (z * extent.y + y) * extent.x + x_begin);
  }
}

} // namespace

Work openmp_median(View<const float> in, View<float> out, Memory& memory) {
  const Extent extent = in.extent;
  const std::int64_t parts = (extent.x + most_columns - 3) / (most_columns - 2);
  const std::int64_t outputs = (extent.x + parts - 1) / parts;
  const std::int64_t strips = (extent.y + rows_a_task - 1) / rows_a_task;
  const Scratch scratch(memory, sizeof(MedianMemory) / sizeof(float));
#pragma omp parallel for collapse(2) schedule(dynamic, 4)
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      const std::int64_t y = strip * rows_a_task, y_end = std::min(y + rows_a_task, extent.y);
      auto& own = *reinterpret_cast<MedianMemory*>(scratch.of_this_thread());
      for (std::int64_t x = 0; x < extent.x; x += outputs)
        median_of_part(in, out, z, y, y_end, x, std::min(outputs, extent.x - x), own);
    }
  return median_work(extent);
}

} // namespace breakeven::imaging
