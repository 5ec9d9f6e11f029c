#include "peers/risk_data.h"

#include "workloads/risk/table_csv.h"
#include "workloads/risk/transactions.h"

#include <algorithm>

namespace breakeven::peers {

using namespace risk;

namespace {

DenseRows dense(const Rows& rows) {
  const auto count = static_cast<std::size_t>(rows.count);
  DenseRows out;
  out.feature_names = rows.feature_names;
  out.values.resize(count * rows.feature_names.size());
  out.labels.resize(count);
  for (std::int64_t begin = 0; begin < rows.count; begin += transaction_block)
    rows.read(begin, std::min(rows.count, begin + transaction_block),
              out.values.data() + begin * rows.features(), out.labels.data() + begin);
  out.float_labels.assign(out.labels.begin(), out.labels.end());
  return out;
}

} // namespace

TrainAndTest made_up_rows(std::int64_t train_rows, std::int64_t positives, std::int64_t test_rows,
                          int columns) {
  TransactionSettings settings;
  settings.rows = train_rows + test_rows;
  settings.columns = columns;
  settings.positive_rate = static_cast<double>(positives) / static_cast<double>(train_rows);
  const Rows rows = transactions(settings);
  return {dense(part_of(rows, 0, train_rows)), dense(part_of(rows, train_rows, rows.count))};
}

TrainAndTest uci_rows(const std::filesystem::path& file) {
  CsvSettings settings;
  settings.label = "fraud";
  settings.drop = {"ID"};
  const Rows rows = rows_of(read_csv_table(file, settings));
  return {dense(all_but_every(rows, 5, 0)), dense(every(rows, 5, 0))};
}

Rows reading(const DenseRows& from) {
  Rows rows;
  rows.count = from.count();
  rows.feature_names = from.feature_names;
  rows.read = [&from](std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels) {
    const auto features = static_cast<std::int64_t>(from.features());
    std::copy(from.values.data() + begin * features, from.values.data() + end * features, values);
    std::copy(from.labels.data() + begin, from.labels.data() + end, labels);
  };
  return rows;
}

} // namespace breakeven::peers
