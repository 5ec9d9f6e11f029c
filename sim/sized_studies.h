// One study at several sizes, as `sweep` runs it: each size is an ordinary study with a folder of
// its own, and all of them together are the rows of sweep.csv. Takes the scenario and its sizes.
// Leaves out printing.
#pragma once

#include "sim/report/report.h"
#include "sim/scenario/sizes.h"

#include <filesystem>
#include <string>
#include <vector>

namespace breakeven {

/// The study at one size.
struct SizedStudy {
  Size size;
  Scenario scenario;
  std::vector<Comparison> comparisons; ///< without figures until it is measured
  bool finished = false;
};

/// All of them, so that a value that is wrong at the last size is found before the first is
/// measured. `set` are the overrides beside the size.
std::vector<SizedStudy> read_studies(const std::string& file, const std::vector<std::string>& set,
                                     const Sizes& sizes, const Catalog& catalog);

/// Measures each size and concludes on it, in `folder`/sweep. What is finished is written to
/// `folder` after each, so that it stays whatever ends the program at the next. Interrupted: the
/// rest is left as it is.
void measure_sweep(const Sizes& sizes, std::vector<SizedStudy>& studies, const Catalog& catalog,
                   const std::filesystem::path& folder);

/// The same from the measurements in an earlier sweep's folder, as far as it has them.
void replay_sweep(const std::filesystem::path& from, const Sizes& sizes,
                  std::vector<SizedStudy>& studies, const Catalog& catalog,
                  const std::filesystem::path& folder);

std::vector<SizeRow> rows_of(const Sizes& sizes, const std::vector<SizedStudy>& studies);
bool any_finished(const std::vector<SizedStudy>& studies);

/// What is missing is an error only after what is there was written and printed: Failure where
/// measuring was interrupted, BadInput where `from` has none of the sizes.
void check_finished(const std::string& from, const Sizes& sizes,
                    const std::vector<SizedStudy>& studies);

} // namespace breakeven
