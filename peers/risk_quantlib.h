// Profits of a portfolio on random paths, as a plain loop through QuantLib: its Mersenne Twister,
// its inverse normal and its Black formula, in double precision. Shows none of QuantLib's types, so
// that the benchmark builds without it, and takes everything that does not change from path to path
// worked out, as our own loop does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace breakeven::peers {

struct QuantlibOption {
  bool is_call = true;
  int factor = 0;
  double quantity = 0, strike = 0;
  double deviation = 0; ///< of the log return from the horizon to maturity
  double growth = 1;    ///< forward at maturity over the spot at the horizon
  double discount = 1;  ///< from maturity to the horizon
};

struct QuantlibBook {
  /// Rows of the Cholesky factor times the factors' volatilities over the horizon, factors x
  /// factors, zeros above the diagonal.
  std::vector<double> triangle;
  std::vector<double> spots, drifts, shares; ///< one a factor; drifts of log returns
  std::vector<QuantlibOption> options;
  double value_now = 0;
};

/// One way to value an option. `run` gives the profits of as many paths as there is room for; each
/// thread has a generator of its own, seeded with `seed` and its number.
struct QuantlibWay {
  std::string name;
  std::function<void(const QuantlibBook& book, std::uint64_t seed, int threads,
                     std::span<double> profits)>
      run;
};

bool quantlib_found();
std::string quantlib_version();
std::vector<QuantlibWay> quantlib_ways();

} // namespace breakeven::peers
