#include "workloads/risk/table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace breakeven::risk {

namespace {

using Read = std::function<void(std::int64_t, std::int64_t, float*, std::uint8_t*)>;

void copy_labels(const Table& table, std::int64_t begin, std::int64_t end, std::uint8_t* labels) {
  std::copy(table.labels.begin() + begin, table.labels.begin() + end, labels);
}

Read copying(std::shared_ptr<const Table> table) {
  return [table = std::move(table)](std::int64_t begin, std::int64_t end, float* values,
                                    std::uint8_t* labels) {
    const auto columns = static_cast<std::int64_t>(table->schema.columns.size());
    std::copy(table->values.begin() + begin * columns, table->values.begin() + end * columns,
              values);
    copy_labels(*table, begin, end, labels);
  };
}

float* expand(const TableColumn& column, float value, float* features) {
  if (!column.is_categorical) {
    *features = value;
    return features + 1;
  }
  const bool is_missing = value != value;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::fill_n(features, column.categories.size(), is_missing ? nan : 0.0f);
  if (!is_missing) features[static_cast<std::size_t>(value)] = 1;
  return features + column.categories.size();
}

Read expanding(std::shared_ptr<const Table> table) {
  return [table = std::move(table)](std::int64_t begin, std::int64_t end, float* values,
                                    std::uint8_t* labels) {
    const std::vector<TableColumn>& columns = table->schema.columns;
    const float* from = table->values.data() + begin * static_cast<std::int64_t>(columns.size());
    for (std::int64_t row = begin; row < end; ++row)
      for (const TableColumn& column : columns)
        values = expand(column, *from++, values);
    copy_labels(*table, begin, end, labels);
  };
}

} // namespace

Rows rows_of(std::shared_ptr<const Table> table, Categories categories) {
  Rows rows;
  rows.count = table->count();
  for (const TableColumn& column : table->schema.columns)
    if (categories == Categories::codes || !column.is_categorical)
      rows.feature_names.push_back(column.name);
    else
      for (const std::string& category : column.categories)
        rows.feature_names.push_back(column.name + "=" + category);
  rows.read =
      categories == Categories::codes ? copying(std::move(table)) : expanding(std::move(table));
  return rows;
}

Rows rows_of(Table table, Categories categories) {
  return rows_of(std::make_shared<const Table>(std::move(table)), categories);
}

} // namespace breakeven::risk
