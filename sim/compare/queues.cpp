#include "sim/compare/throughput.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>

namespace breakeven {

namespace {

constexpr double seconds_per_day = 86400;
constexpr double never = std::numeric_limits<double>::infinity();

// ---- arrivals ----

/// SplitMix64's output function of a counter (Steele, Lea and Flood 2014), as a number in (0, 1].
double uniform(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 1) * 0x1p-53;
}

constexpr double opens_h = 8, closes_h = 18, share_in_hours = 0.8;

/// When the given share of a day's units has arrived, on average, under working hours.
double time_of_day_s(double share) {
  const double outside_h = 24 - (closes_h - opens_h);
  const double before = (1 - share_in_hours) * opens_h / outside_h;
  double hour = 0;
  if (share < before)
    hour = share / before * opens_h;
  else if (share < before + share_in_hours)
    hour = opens_h + (share - before) / share_in_hours * (closes_h - opens_h);
  else
    hour = closes_h
           + (share - before - share_in_hours) / (1 - before - share_in_hours) * (24 - closes_h);
  return 3600 * hour;
}

double arrival_s(Arrivals arrivals, double days) {
  const double day = std::floor(days);
  switch (arrivals) {
  case Arrivals::even:
  case Arrivals::poisson:
    return days * seconds_per_day;
  case Arrivals::working_hours:
    return day * seconds_per_day + time_of_day_s(days - day);
  case Arrivals::night_batch:
    return day * seconds_per_day;
  }
  return 0;
}

bool is_random(Arrivals arrivals) {
  return arrivals == Arrivals::poisson || arrivals == Arrivals::working_hours;
}

// ---- the queues of one machine ----

/// The unit on all cores: its pace changes whenever a core is taken or given back.
struct WholeMachine {
  std::size_t unit = 0;
  double left_s = 0;
  bool busy = false;
};

class Machine {
public:
  Machine(const Pipeline& pipeline, const std::vector<double>& arrivals_s)
      : pipeline_(pipeline),
        arrivals_s_(arrivals_s),
        step_(arrivals_s.size(), 0),
        turnaround_s_(arrivals_s.size(), 0) {}

  std::vector<double> run() {
    std::size_t next = 0, done = 0;
    while (done < arrivals_s_.size()) {
      const double arrival = next < arrivals_s_.size() ? arrivals_s_[next] : never;
      const double completion = completions_.empty() ? never : completions_.top().time_s;
      const double whole = whole_machine_done_s();
      if (whole <= completion && whole <= arrival) {
        advance(whole);
        whole_.busy = false;
        done += finish_step(whole_.unit);
      } else if (completion <= arrival) {
        advance(completion);
        const Completion one = completions_.top();
        completions_.pop();
        (one.station == Station::core ? busy_cores_ : busy_gpus_) -= 1;
        done += finish_step(one.unit);
      } else {
        advance(arrival);
        done += enter(next++);
      }
      start_what_can();
    }
    return turnaround_s_;
  }

private:
  struct Completion {
    double time_s;
    std::size_t order; ///< of two at one time the one that began first
    std::size_t unit;
    Station station;
    bool operator<(const Completion& other) const {
      return time_s != other.time_s ? time_s > other.time_s : order > other.order;
    }
  };

  double pace() const {
    return static_cast<double>(pipeline_.cores - busy_cores_) / pipeline_.cores;
  }
  double whole_machine_done_s() const {
    return whole_.busy && pace() > 0 ? now_s_ + whole_.left_s / pace() : never;
  }
  void advance(double time_s) {
    if (whole_.busy) whole_.left_s = std::max(0.0, whole_.left_s - (time_s - now_s_) * pace());
    now_s_ = time_s;
  }
  /// 1 when the unit has no step left.
  std::size_t enter(std::size_t unit) {
    if (step_[unit] == pipeline_.steps.size()) {
      turnaround_s_[unit] = now_s_ - arrivals_s_[unit];
      return 1;
    }
    waiting_at(pipeline_.steps[step_[unit]].station).push_back(unit);
    return 0;
  }
  std::size_t finish_step(std::size_t unit) {
    ++step_[unit];
    return enter(unit);
  }
  std::deque<std::size_t>& waiting_at(Station station) {
    switch (station) {
    case Station::core:
      return for_core_;
    case Station::gpu:
      return for_gpu_;
    case Station::machine:
      return for_machine_;
    }
    return for_machine_;
  }
  std::size_t take(std::deque<std::size_t>& waiting) {
    const std::size_t unit = waiting.front();
    waiting.pop_front();
    return unit;
  }
  void start(std::deque<std::size_t>& waiting, Station station, int& busy, int servers) {
    while (!waiting.empty() && busy < servers) {
      const std::size_t unit = take(waiting);
      ++busy;
      completions_.push({now_s_ + pipeline_.steps[step_[unit]].seconds, started_++, unit, station});
    }
  }
  void start_what_can() {
    start(for_core_, Station::core, busy_cores_, pipeline_.cores);
    start(for_gpu_, Station::gpu, busy_gpus_, pipeline_.gpus);
    if (whole_.busy || for_machine_.empty()) return;
    const std::size_t unit = take(for_machine_);
    whole_ = {unit, pipeline_.steps[step_[unit]].seconds, true};
  }

  const Pipeline& pipeline_;
  const std::vector<double>& arrivals_s_;
  std::vector<std::size_t> step_; ///< that each unit waits for or is in
  std::vector<double> turnaround_s_;
  std::priority_queue<Completion> completions_;
  std::deque<std::size_t> for_core_, for_gpu_, for_machine_;
  WholeMachine whole_;
  double now_s_ = 0;
  std::size_t started_ = 0;
  int busy_cores_ = 0, busy_gpus_ = 0;
};

} // namespace

std::vector<double> arrival_times_s(Arrivals arrivals, double units_per_day, int machines,
                                    std::size_t count) {
  std::vector<double> times_s;
  times_s.reserve(count);
  double units = 0; // arrived before, on average
  std::uint64_t counter = 0;
  for (std::size_t i = 0; i < count; ++i) {
    times_s.push_back(arrival_s(arrivals, units / units_per_day));
    if (!is_random(arrivals)) {
      units += machines;
      continue;
    }
    for (int skipped = 0; skipped < machines; ++skipped)
      units -= std::log(uniform(counter++));
  }
  return times_s;
}

std::vector<double> turnaround_s(const Pipeline& pipeline, const std::vector<double>& arrivals_s) {
  assert(std::is_sorted(arrivals_s.begin(), arrivals_s.end()));
  return Machine(pipeline, arrivals_s).run();
}

} // namespace breakeven
