#include "peers/risk_quantlib.h"

#include <omp.h>
#include <ql/math/distributions/normaldistribution.hpp>
#include <ql/math/randomnumbers/mt19937uniformrng.hpp>
#include <ql/pricingengines/blackcalculator.hpp>
#include <ql/pricingengines/blackformula.hpp>
#include <ql/version.hpp>

#include <cmath>

namespace breakeven::peers {

namespace {

double by_formula(QuantLib::Option::Type type, const QuantlibOption& option, double forward) {
  return QuantLib::blackFormula(type, option.strike, forward, option.deviation, option.discount);
}
double by_calculator(QuantLib::Option::Type type, const QuantlibOption& option, double forward) {
  return QuantLib::BlackCalculator(type, option.strike, forward, option.deviation, option.discount)
      .value();
}

/// Neither the generator nor the functions keep anything outside their objects, so threads do not
/// meet in them.
template <class Value>
void run_paths(const QuantlibBook& book, unsigned long seed, std::span<double> profits,
               const Value& value_of) {
  const std::size_t factors = book.spots.size();
  const QuantLib::MersenneTwisterUniformRng random(seed);
  const QuantLib::InverseCumulativeNormal inverse;
  std::vector<double> normals(factors), spots(factors);
  for (double& profit : profits) {
    for (double& normal : normals)
      normal = inverse(random.nextReal());
    double value = 0;
    for (std::size_t i = 0; i < factors; ++i) {
      double log_return = book.drifts[i];
      for (std::size_t j = 0; j <= i; ++j)
        log_return += book.triangle[i * factors + j] * normals[j];
      spots[i] = book.spots[i] * std::exp(log_return);
      value += book.shares[i] * spots[i];
    }
    for (const QuantlibOption& option : book.options)
      value += option.quantity
               * value_of(option.is_call ? QuantLib::Option::Call : QuantLib::Option::Put, option,
                          spots[static_cast<std::size_t>(option.factor)] * option.growth);
    profit = value - book.value_now;
  }
}

template <class Value>
QuantlibWay way(const char* name, const Value& value_of) {
  return {name, [value_of](const QuantlibBook& book, std::uint64_t seed, int threads,
                           std::span<double> profits) {
#pragma omp parallel num_threads(threads)
            {
              const auto thread = static_cast<std::size_t>(omp_get_thread_num());
              const auto all = static_cast<std::size_t>(omp_get_num_threads());
              const std::size_t begin = profits.size() * thread / all;
              const std::size_t end = profits.size() * (thread + 1) / all;
              // 0 would ask QuantLib for a seed from the clock.
              run_paths(book, static_cast<unsigned long>(seed + thread + 1),
                        profits.subspan(begin, end - begin), value_of);
            }
          }};
}

} // namespace

bool quantlib_found() { return true; }
std::string quantlib_version() { return QL_VERSION; }

std::vector<QuantlibWay> quantlib_ways() {
  return {way("blackFormula", by_formula), way("BlackCalculator", by_calculator)};
}

} // namespace breakeven::peers
