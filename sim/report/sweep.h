// The rows of a sweep candidate by candidate, and what its crossovers say in words. Used by the
// terminal table, the document, its charts and the JSON. Leaves out the layout of each.
#pragma once

#include "sim/compare/crossover.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

struct CandidateSweep {
  std::string name;                 ///< "first to last" where the sizes change it
  std::vector<const SizeRow*> rows; ///< ascending, gaps included; they belong to the caller
  std::optional<Crossover> faster, cheaper;
  std::size_t sizes_with_times = 0, sizes_with_costs = 0; ///< of both sides
  std::string evidence; ///< of the weakest time on either side; "" where there is none
};

/// In the order of the scenario's targets.
std::vector<CandidateSweep> candidates_of(const std::vector<SizeRow>& rows);

/// The baseline's name over all sizes.
std::string baseline_of(const std::vector<SizeRow>& rows);

/// Each size once, ascending: of the first candidate.
std::vector<const SizeRow*> sizes_of(const std::vector<SizeRow>& rows);

std::string stated_size(const SizeRow& row);                      ///< "10,000", "2 h"
std::string stated_size(double amount, const std::string& unit);  ///< exact
std::string rounded_size(double amount, const std::string& unit); ///< to two digits
/// "workload.rows from 10,000 to 10,000,000".
std::string swept(const std::vector<SizeRow>& rows);
/// "100,000 and 10,000,000"; "" where every size was measured.
std::string not_measured(const std::vector<SizeRow>& rows);

/// "from 420,000", "up to 420,000", "below 10,000: at every size", "never in this range"; the last
/// two say where not every size has figures.
std::string place_of_faster(const CandidateSweep& candidate);
std::string place_of_cheaper(const CandidateSweep& candidate);
/// "180,000 to 1,100,000", "below 10,000 to 25,000".
std::string crossover_range(const Crossover& crossover, const std::string& unit);
/// "faster from 420,000 on (180,000 to 1,100,000), cheaper at every size (crossover below 10,000)".
std::string crossover_words(const CandidateSweep& candidate);
/// What weakens a candidate's crossovers: several crossings, a gap where it crosses, speed-ups
/// above the envelope.
std::vector<std::string> crossover_doubts(const CandidateSweep& candidate);
bool any_projected(const std::vector<CandidateSweep>& candidates);
/// How many projected times lie outside the calibrated range; "" where none does.
std::string calibration_words(const std::vector<SizeRow>& rows);

/// The evidence of a ratio: that of the weaker side.
std::string weaker_evidence(const Comparison& row);
/// Above a column of sizes: "rows" of "workload.rows", where that is short.
std::string column_title(const std::string& size_key);

/// What stands in place of a row's figures: "not measured", or why there are none; "" with both
/// times and both costs.
std::string gap_of(const SizeRow& row);

} // namespace breakeven
