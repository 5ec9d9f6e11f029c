// Stands in for QuantLib where it is not installed.
#include "peers/risk_quantlib.h"

namespace breakeven::peers {

bool quantlib_found() { return false; }
std::string quantlib_version() { return {}; }
std::vector<QuantlibWay> quantlib_ways() { return {}; }

} // namespace breakeven::peers
