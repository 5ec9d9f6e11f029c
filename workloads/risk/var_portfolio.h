// Where the book of a VaR run comes from: a built-in portfolio from a seed, checks of what a user
// may get wrong, and the preparation of market and positions for the paths (VarBook). Leaves out
// files.
#pragma once

#include "workloads/risk/var.h"

#include <string>

namespace breakeven::risk {

struct Portfolio {
  Market market;
  std::vector<Position> positions;
};

struct PortfolioSettings {
  int factors = 100;
  int positions = 1000;
  int sectors = 10;
  double equity_share = 0.3; ///< of the positions; the others are calls and puts, half each
  std::uint64_t seed = 1;
};

/// A portfolio that a seed decides: spots of 20 to 200, volatilities of 15 to 45 %, drift 0, rate
/// 2 %, strikes of 80 to 120 % of the spot, maturities of a quarter to two years, positions bought
/// and sold. Every factor follows the market, its sector and itself by weights whose squares add to
/// 1, so that correlations are positive definite. Throws BadInput, with `file` as the place, for
/// counts that are not positive.
Portfolio built_in_portfolio(const PortfolioSettings& settings, const std::string& file);

/// The lower triangle L of L L^T = matrix, row by row, n x n, zeros above. Throws BadInput, with
/// `file` as the place, where the matrix is not symmetric or not positive definite.
std::vector<double> cholesky(const std::vector<double>& matrix, int n, const std::string& file);

/// Throws BadInput, with `file` as the place, for what no run can use: counts, levels, numbers that
/// are not finite or out of range, a position on a factor that is not there, an option that ends
/// within the horizon, a correlation matrix that is none.
void check_var(const Portfolio& portfolio, const VarSettings& settings, const std::string& file);

/// Checks, factorises and scales. Today's option values are Black and Scholes in double precision.
VarBook make_book(const Portfolio& portfolio, const VarSettings& settings, const std::string& file);

/// The mean of a path's profit in closed form, in currency, in double precision: at the horizon an
/// option is still worth Black and Scholes' value, whose mean over the returns is that formula
/// again with the drift in place of the rate up to the horizon.
double expected_profit(const Portfolio& portfolio, const VarSettings& settings);

/// Black and Scholes' value of an option today, of one unit, in double precision.
double black_scholes(PositionKind kind, double spot, double strike, double maturity_years,
                     double volatility, double rate);

} // namespace breakeven::risk
