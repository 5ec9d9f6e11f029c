#include "workloads/risk/source_rows.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <stdexcept>

namespace breakeven::risk {

Rows rows_of(const DataSettings& data) {
  switch (data.source) {
  case Source::transactions:
    return transactions(data.transactions);
  case Source::csv:
    return rows_of(read_csv_table(data.file, data.csv), data.categories);
  case Source::libsvm:
    return rows_of(read_libsvm_table(data.file, data.libsvm));
  }
  throw std::logic_error("a source without rows");
}

namespace {

void check_both_kinds(const Rows& rows, const std::string& use, const DataSettings& data) {
  std::vector<float> values(static_cast<std::size_t>(rows.features()));
  bool found[2] = {false, false};
  for (std::int64_t row = 0; row < rows.count && !(found[0] && found[1]); ++row) {
    std::uint8_t label = 0;
    rows.read(row, row + 1, values.data(), &label);
    found[label] = true;
  }
  if (!(found[0] && found[1]))
    throw BadInput(data.file.string(), 0,
                   fmt::format("labels of one kind in the {} rows {}", rows.count, use),
                   "both kinds; choose another validation_every");
}

/// Generated rows come in blocks, so one in five of them would cost as much as all.
std::int64_t first_held_out(const Rows& rows, const DataSettings& data) {
  const std::int64_t kept = rows.count - rows.count / data.validation_every;
  return kept > transaction_block ? kept / transaction_block * transaction_block : kept;
}

} // namespace

Rows validation_rows(const Rows& rows, const DataSettings& data) {
  return data.source == Source::transactions ? part_of(rows, first_held_out(rows, data), rows.count)
                                             : every(rows, data.validation_every, 0);
}
Rows training_rows(const Rows& rows, const DataSettings& data) {
  return data.source == Source::transactions ? part_of(rows, 0, first_held_out(rows, data))
                                             : all_but_every(rows, data.validation_every, 0);
}

void check_both_labels(const Rows& rows, const Settings& settings) {
  const DataSettings& data = settings.data;
  const Rows held_out = validation_rows(rows, data);
  if (data.source == Source::transactions) {
    // Every block has its share of positives, to a row.
    const double positives = static_cast<double>(held_out.count) * data.transactions.positive_rate;
    if (positives < 2 || rows.count < 1000)
      throw BadInput(
          settings.scenario_file, 0,
          fmt::format("{} transactions, {} of them held out", rows.count, held_out.count),
          "at least 1000, and some frauds among those held out");
    return;
  }
  check_both_kinds(held_out, "held out", data);
  check_both_kinds(training_rows(rows, data), "trained on", data);
}

} // namespace breakeven::risk
