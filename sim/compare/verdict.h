// The rules that turn figures into migrate, stay or undecided, all in verdict.cpp, and one sentence
// with the figures behind them. In order, the first that applies:
//  1. no time or no price on either side, or a speed-up above the envelope: undecided.
//  2. with a deadline:
//     a. the baseline misses it (p <= 0.1) and the candidate meets it (p >= 0.9): migrate, and the
//        sentence says at what cost;
//     b. the baseline meets it (>= 0.9) and the candidate misses it (<= 0.1): stay;
//     c. both miss it (<= 0.1): undecided, neither answers the question.
//  3. cheaper with p >= 0.9: migrate, unless the candidate meets the deadline with less than 0.9.
//  4. cheaper with p <= 0.1: stay, unless the baseline meets the deadline with less than 0.9 and
//  the
//     candidate is likelier to meet it.
//  5. otherwise undecided.
// A steady service (units_per_day) has the last word: undecided instead of migrate where the
// candidate cannot take what arrives or misses the turnaround deadline, and instead of stay where
// that is so of the baseline and not of the candidate.
#pragma once

#include "sim/compare/comparison.h"

namespace breakeven {

struct Decision {
  Verdict verdict = Verdict::undecided;
  std::string reason;
};

/// `row` has everything but verdict and reason.
Decision decide(const Comparison& row, const Priced& baseline, const Priced& candidate);

} // namespace breakeven
