#include "sim/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

std::string with_thousands(std::string digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = point; at > first + 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

struct TimeUnit {
  double seconds;
  const char* name;
};

TimeUnit unit_for(double seconds) {
  if (seconds < 100) return {1, "s"};
  if (seconds < 100 * 60.0) return {60, "min"};
  if (seconds < 72 * 3600.0) return {3600, "h"};
  return {86400, "days"};
}

/// Of those that should migrate, the cheapest at its likely cost.
const Comparison* best_of(const std::vector<Comparison>& rows) {
  const Comparison* best = nullptr;
  for (const Comparison& row : rows)
    if (row.verdict == Verdict::migrate && row.candidate_cost_usd
        && (best == nullptr || row.candidate_cost_usd->likely < best->candidate_cost_usd->likely))
      best = &row;
  return best;
}

long count_of(const std::vector<Comparison>& rows, Verdict verdict) {
  return std::count_if(rows.begin(), rows.end(),
                       [&](const Comparison& row) { return row.verdict == verdict; });
}

} // namespace

std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  const int decimals = std::max(0, digits - 1 - magnitude);
  // Digits before the point that are not significant become zeros.
  if (decimals == 0) {
    const double step = std::pow(10.0, magnitude - digits + 1);
    value = std::round(value / step) * step;
  }
  return with_thousands(fmt::format("{:.{}f}", value, decimals));
}

std::string count_text(double count) {
  return count == std::floor(count) && std::fabs(count) < 1e15
             ? with_thousands(fmt::format("{:.0f}", count))
             : significant(count, 3);
}

std::string seconds_text(double seconds) {
  const TimeUnit unit = unit_for(seconds);
  return significant(seconds / unit.seconds, 2) + " " + unit.name;
}

std::string usd_text(double usd) { return significant(usd, 2); }

std::string probability_text(double probability) {
  if (probability > 0.99) return "> 0.99";
  if (probability < 0.01) return "< 0.01";
  return fmt::format("{:.2f}", probability);
}

std::string interval_text(const Interval& interval, std::string (*text)(double)) {
  std::string low = text(interval.low), high = text(interval.high);
  // "2.1 h-4.0 h" reads better as "2.1-4.0 h".
  const std::size_t low_unit = low.find(' '), high_unit = high.find(' ');
  if (low_unit != std::string::npos && high_unit != std::string::npos
      && low.substr(low_unit) == high.substr(high_unit))
    low.resize(low_unit);
  return low + "-" + high;
}

std::string option_text(const std::string& instance, int count, const std::string& option) {
  return (count > 1 ? fmt::format("{} x ", count) : "") + instance
         + (option == "on-demand" ? "" : " " + option);
}

std::string hash_text(const std::string& sha256) { return sha256.substr(0, 12); }

char evidence_mark(const std::string& evidence) {
  if (evidence == "measured") return 'm';
  if (evidence == "extrapolated") return 'x';
  if (evidence == "projected") return 'p';
  return '?';
}

std::string headline(const std::vector<Comparison>& rows) {
  if (const Comparison* best = best_of(rows)) {
    const std::string name =
        option_text(best->candidate_instance, best->candidate_count, best->candidate_option);
    return fmt::format("MIGRATE to {}: {}", name, best->verdict_reason);
  }
  const auto undecided = count_of(rows, Verdict::undecided);
  if (undecided > 0)
    return fmt::format(
        "UNDECIDED: no candidate is clearly cheaper, {} of {} may be. A run on one of them "
        "would decide it.",
        undecided, rows.size());
  return fmt::format("STAY on {}: none of the {} candidates pays.",
                     option_text(rows.front().baseline_instance, rows.front().baseline_count,
                                 rows.front().baseline_option),
                     rows.size());
}

} // namespace breakeven
