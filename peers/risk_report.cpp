#include "peers/risk_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::peers {

namespace {

std::string if_any(double number, const char* format) {
  return number > 0 ? fmt::format(fmt::runtime(format), number) : std::string();
}
/// Messages of libraries may have commas.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

} // namespace

RiskReport::RiskReport(const RiskOptions& options, std::ostream& out, std::ostream& log)
    : options_(options),
      out_(out),
      log_(log) {
  options_.threads = thread_counts(options.threads);
  out_ << row_header << ",ratio_low,ratio_high,bar,size,check,against\n";
}

bool RiskReport::is_wanted(const std::string& name) const {
  return options_.rows.empty()
         || std::any_of(options_.rows.begin(), options_.rows.end(),
                        [&](const std::string& start) { return name.starts_with(start); });
}

void RiskReport::print(const RiskRow& row) {
  all_agree_ = all_agree_ && row.agreement.holds;
  if (!is_wanted(row.row.name)) return; // run for another one's sake
  double low = 0, high = 0;
  if (!row.ratios.empty()) {
    const auto [least, most] = std::minmax_element(row.ratios.begin(), row.ratios.end());
    low = *least;
    high = *most;
  }
  out_ << to_csv(row.row)
       << fmt::format(",{},{},{},{},{},{}\n", if_any(low, "{:.3f}"), if_any(high, "{:.3f}"),
                      if_any(row.bar, "{:.2f}"), cell(row.size), cell(row.agreement.text),
                      cell(row.against));
  out_.flush();
}

void RiskReport::not_run(const std::string& name, int threads, const std::string& reason) {
  if (!is_wanted(name)) return;
  out_ << fmt::format("{},,,,,{},,,,,not run: {},\n", name, threads, cell(reason));
  out_.flush();
}

void RiskReport::say(const std::string& text) {
  log_ << text << '\n';
  log_.flush();
}

RiskRow row_of_rates(const std::string& name, const std::string& unit, int threads,
                     const std::vector<double>& ours, const std::vector<double>& peer) {
  RiskRow row;
  row.row = {name, median(ours), median(peer), median(ours) / median(peer), unit, threads};
  for (std::size_t i = 0; i < ours.size(); ++i)
    row.ratios.push_back(ours[i] / peer[i]);
  return row;
}

RiskRow row_of_times(const std::string& name, int threads, const std::vector<double>& our_s,
                     const std::vector<double>& peer_s) {
  RiskRow row;
  row.row = {
      name,   1e3 * median(our_s), 1e3 * median(peer_s), median(peer_s) / median(our_s), "ms",
      threads};
  for (std::size_t i = 0; i < our_s.size(); ++i)
    row.ratios.push_back(peer_s[i] / our_s[i]);
  return row;
}

} // namespace breakeven::peers
