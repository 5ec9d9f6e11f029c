// The CPU's stages on shapes, one file each family; shapes_openmp.cpp puts them into the table.
#pragma once

#include "workloads/imaging/stages.h"

namespace breakeven::imaging::openmp_shapes {

Work distance_in_slices(View<const std::uint8_t> mask, View<std::int32_t> squared, Distance,
                        const DistanceMetric&, Memory&);
Work distance_along_z(View<std::int32_t> squared, const DistanceMetric&, Memory&);
Work watershed(View<const std::int32_t> squared, View<std::uint32_t> labels, double least_height,
               std::uint32_t& count, Memory&);

} // namespace breakeven::imaging::openmp_shapes
