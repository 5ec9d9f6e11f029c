// The sections of a memo, in the order of memo.cpp. Each appends its blocks; all figures come from
// the rows. `rows` are never empty and in the order of in_order().
#pragma once

#include "sim/compare/comparison.h"
#include "sim/report/document.h"
#include "sim/report/phases.h"

#include <vector>

namespace breakeven::memo_sections {

using Rows = std::vector<Comparison>;
using Measured = std::vector<Measurement>;
using Blocks = std::vector<Block>;

// memo_answer.cpp
void add_question(Blocks& memo, const Rows& rows);
void add_answer(Blocks& memo, const Rows& rows);
void add_decision_table(Blocks& memo, const Rows& rows);
void add_charts(Blocks& memo, const Rows& rows);
void add_reasons(Blocks& memo, const Rows& rows);

// memo_money.cpp
void add_break_even(Blocks& memo, const Rows& rows);
void add_prices(Blocks& memo, const Rows& rows);
void add_sensitivity(Blocks& memo, const Rows& rows);
void add_left_out(Blocks& memo, const Rows& rows);

// memo_time.cpp
void add_measured(Blocks& memo, const Measured& measured);
void add_projection(Blocks& memo, const Rows& rows);
void add_reproduction(Blocks& memo, const Rows& rows, const Measured& measured);

// memo_service.cpp
void add_gpu_limits(Blocks& memo, const Rows& rows, const Phases& phases);
/// Nothing without units_per_day.
void add_throughput(Blocks& memo, const Rows& rows, const Measured& measured);

/// A value as text, or a dash.
template <class Value, class Text>
std::string or_dash(const std::optional<Value>& value, Text text) {
  return value ? std::string(text(*value)) : "-";
}

} // namespace breakeven::memo_sections
