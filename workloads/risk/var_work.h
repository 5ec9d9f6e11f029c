// What a VaR run costs a GPU, counted from the sizes alone, and how much memory it takes.
#pragma once

#include "sim/errors.h"
#include "workloads/risk/var.h"

#include <string>

namespace breakeven::risk {

/// What the CPU path streams through memory; normals and returns stay in its caches.
Work cpu_scenarios_work(std::int64_t paths);
Work cpu_quantiles_work(std::int64_t paths);

Work scenarios_work(const VarBook& book, std::int64_t paths);
Work quantiles_work(std::int64_t paths, std::int64_t worst_paths);
/// The book to the device and the worst paths back.
Work transfer_work(const VarBook& book, std::int64_t worst_paths);

/// A phase of a job that is one unit.
Phase var_phase(const std::string& name, Processor processor, double seconds, const Work& work);

/// The most bytes that a run holds in the memory of its path.
double var_memory_bytes(const VarBook& book, const VarSettings& settings, Path path);
/// The error where a path's memory is short, with that figure.
Failure no_room_for(const VarBook& book, const VarSettings& settings, Path path);

/// Paths that go to the device at a time: their normals and returns take 1 GiB together.
std::int64_t chunk_paths_for(const VarBook& book);

} // namespace breakeven::risk
