#include "peers/interleaved.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace breakeven::peers {

namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace

double thread_cpu_s() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_s() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<int> thread_counts(const std::vector<int>& asked) {
  if (!asked.empty()) return asked;
  const int all = omp_get_max_threads();
  std::vector<int> counts;
  for (int threads = 1; threads < all; threads *= 2)
    counts.push_back(threads);
  counts.push_back(all);
  return counts;
}

std::vector<std::vector<double>>
Interleaved::passes(int count, const std::function<void(int done)>& report, WarmUp warm_up) {
  if (warm_up == WarmUp::one_pass) pass();
  std::vector<std::vector<double>> all;
  for (int done = 1; done <= count; ++done) {
    all.push_back(pass());
    report(done);
  }
  return all;
}

std::vector<double> Interleaved::pass() {
  std::vector<double> total_s(contenders_.size(), 0.0);
  for (std::size_t piece = 0; piece < pieces_; ++piece) {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const std::size_t turn = (i + turn_) % contenders_.size();
      total_s[turn] += contenders_[turn](piece);
    }
    ++turn_;
  }
  return total_s;
}

std::string to_csv(const Row& row) {
  return fmt::format("{},{:.3f},{:.3f},{:.3f},{},{}", row.name, row.ours, row.peer, row.ratio,
                     row.unit, row.threads);
}

} // namespace breakeven::peers
