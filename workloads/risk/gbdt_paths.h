// Training on each path (gbdt.h says what they share). The same trees to the bit.
#pragma once

#include "workloads/imaging/memory.h"
#include "workloads/risk/gbdt.h"

namespace breakeven::risk {

struct Training {
  Gbdt model;
  std::vector<double> validation_losses; ///< after each round; empty without validation rows
};

/// Trees on all threads; the model does not depend on their number. `validation` may be null; with
/// early stopping the model has the trees up to the lowest validation loss. `rows` were binned with
/// `cuts`, hold both labels and at most most_rows.
Training train_gbdt_openmp(const BinnedRows& rows, const Cuts& cuts,
                           const GbdtParameters& parameters,
                           const BinnedRows* validation = nullptr);

} // namespace breakeven::risk

// The GPU side's source, on the host and on a GPU: bins and everything beside them lie in `memory`
// while it trains. Throws Failure where it does not suffice.
namespace breakeven::on_host {
risk::Training train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                          const risk::GbdtParameters& parameters,
                          const risk::BinnedRows* validation, imaging::Memory& memory);
}
namespace breakeven::on_serial {
risk::Training train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                          const risk::GbdtParameters& parameters,
                          const risk::BinnedRows* validation, imaging::Memory& memory);
}
namespace breakeven::on_cuda {
risk::Training train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                          const risk::GbdtParameters& parameters,
                          const risk::BinnedRows* validation, imaging::Memory& memory);
}
