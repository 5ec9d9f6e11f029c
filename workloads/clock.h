// The one clock of every measurement: monotonic wall time in seconds.
#pragma once

#include <chrono>

namespace breakeven {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace breakeven
