// One column table for each catalog file: name, meaning and reader in one line. The tables drive
// the reader and the check that scenarios/catalog/README.md documents every column.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/catalog/csv.h"

#include <functional>
#include <string>
#include <vector>

namespace breakeven {

template <class Row>
struct CatalogColumn {
  std::string name, meaning;
  std::function<void(Row&, const CsvRow&, const std::string& column)> read;
  bool later = false; ///< added since version 0.1.0: a file without it leaves the figure unknown
};

const std::vector<CatalogColumn<Gpu>>& gpu_columns();
const std::vector<CatalogColumn<Cpu>>& cpu_columns();
const std::vector<CatalogColumn<Instance>>& instance_columns();
const std::vector<CatalogColumn<Offer>>& offer_columns();
const std::vector<CatalogColumn<ExchangeRate>>& exchange_rate_columns();

} // namespace breakeven
