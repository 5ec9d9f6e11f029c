// What a person at a terminal sees while they wait: a progress line on stderr, only on a terminal
// and only once something takes longer than two seconds; and a polite Ctrl-C.
#pragma once

#include "sim/measure/measurement.h"

namespace breakeven {

/// Columns of stdout's terminal; 100 where it is a file or a pipe.
int terminal_width();

/// The first Ctrl-C asks the work to stop at the next frame, so that what was measured is still
/// written; the second ends the program at once.
void stop_politely_on_interrupt();

class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine(); ///< clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& what, double share);
  void clear();

private:
  bool on_terminal_;
  bool shown_ = false;
  double started_s_, last_shown_s_ = 0;
};

} // namespace breakeven
