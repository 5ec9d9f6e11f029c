// The CPU's memory as a path's Memory: of the OpenMP path, and of the GPU path's host build.
#pragma once

#include "workloads/imaging/memory.h"

#include <filesystem>

namespace breakeven::imaging {

/// Ordinary memory. A few large blocks are kept for their like until the Memory and its copies end;
/// not for several threads at once.
Memory host_memory();

/// Memory that lies in files of `folder`, for volumes larger than RAM: the kernel writes it out and
/// reads it back as needed. The files have no names and end with their blocks. `allocate` throws
/// Failure where the disk is full, before anything is written to it.
Memory scratch_memory(const std::filesystem::path& folder);

/// Bytes that this machine could still give without swapping; infinity where it does not say.
double available_ram_bytes();

} // namespace breakeven::imaging
