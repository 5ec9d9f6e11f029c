// Keys of [workload] that say something about a thing that is not there: an error, since they would
// change nothing.
#pragma once

#include "sim/scenario/section.h"

namespace breakeven {

/// BadInput for the first of `keys` that `section` has, unless `what` they belong to is present.
inline void refuse_without(const Section& section, bool present,
                           const std::vector<std::string>& keys, const std::string& what) {
  if (present) return;
  for (const std::string& key : keys)
    if (section.has(key)) section.fail(key, "workload." + key + " without " + what, what);
}

} // namespace breakeven
