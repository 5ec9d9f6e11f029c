#include "sim/terminal.h"

#include "workloads/clock.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace breakeven {

namespace {

constexpr double silent_s = 2, between_updates_s = 0.1;

void on_interrupt(int) { request_interrupt(); }

} // namespace

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 100;
}

void stop_politely_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  // Back to the default after the first, so that a second Ctrl-C always ends the program.
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

ProgressLine::ProgressLine()
    : on_terminal_(isatty(STDERR_FILENO) != 0),
      started_s_(seconds_now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& what, double share) {
  const double now = seconds_now();
  if (!on_terminal_ || now - started_s_ < silent_s || now - last_shown_s_ < between_updates_s)
    return;
  last_shown_s_ = now;
  shown_ = true;
  const std::string done = share >= 0 ? fmt::format(" {:3.0f} %", 100 * share) : "";
  const std::string stopping = interrupted() ? ", stopping after this frame" : "";
  fmt::print(stderr, "\r\033[K{}{}, {:.0f} s{}", what, done, now - started_s_, stopping);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

} // namespace breakeven
