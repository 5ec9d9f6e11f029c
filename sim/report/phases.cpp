#include "sim/report/phases.h"

#include <algorithm>
#include <iterator>

namespace breakeven {

namespace {

Phases those(const Phases& phases, const std::function<bool(const PhaseTime&)>& counts) {
  Phases kept;
  std::copy_if(phases.begin(), phases.end(), std::back_inserter(kept), counts);
  return kept;
}

} // namespace

Phases phases_of_baseline(const Phases& phases) {
  return those(phases, [](const PhaseTime& phase) { return phase.is_baseline; });
}

Phases phases_of_candidate(const Comparison& row, const Phases& phases) {
  return those(phases, [&](const PhaseTime& phase) {
    return !phase.is_baseline && phase.instance == row.candidate_instance
           && phase.option == row.candidate_option && phase.count == row.candidate_count;
  });
}

bool is_once_a_run(const PhaseTime& phase) { return phase.repeats == Repeats::per_job; }
bool is_per_unit(const PhaseTime& phase) { return !is_once_a_run(phase); }
bool is_on_cpu_per_unit(const PhaseTime& phase) {
  return is_per_unit(phase) && phase.processor == Processor::cpu;
}

Interval sum_alone_s(const Phases& phases, const std::function<bool(const PhaseTime&)>& counts) {
  Interval sum;
  for (const PhaseTime& phase : phases)
    if (counts(phase)) sum = sum + phase.alone_s;
  return sum;
}

std::vector<const Comparison*> gpu_candidates(const std::vector<Comparison>& rows,
                                              const Phases& phases) {
  std::vector<const Comparison*> found;
  for (const Comparison& row : rows)
    if (row.candidate_path != "openmp" && row.candidate_end_to_end_s
        && !phases_of_candidate(row, phases).empty())
      found.push_back(&row);
  return found;
}

} // namespace breakeven
