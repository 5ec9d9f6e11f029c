// What the risk rows share: which are wanted, how they are printed, whether all results agreed; and
// the groups that they come in.
#pragma once

#include "peers/risk.h"

namespace breakeven::peers {

constexpr const char* no_xgboost = "libxgboost-dev not found";
constexpr const char* no_uci_file = "no --uci FILE";

/// What is printed of a comparison of results; a failure begins with FAIL.
struct Agreement {
  bool holds = true;
  std::string text;
};

struct RiskRow {
  Row row;
  std::vector<double> ratios; ///< of the single pairs, where there are some
  double bar = 0;             ///< what is aimed at; 0 for nothing
  std::string size;
  Agreement agreement;
  std::string against;
};

class RiskReport {
public:
  RiskReport(const RiskOptions& options, std::ostream& out, std::ostream& log);

  /// Its threads are never empty here.
  const RiskOptions& options() const { return options_; }
  bool is_wanted(const std::string& name) const;
  void print(const RiskRow& row);
  /// A row of a gap, where it is wanted.
  void not_run(const std::string& name, int threads, const std::string& reason);
  void say(const std::string& text);
  bool all_agree() const { return all_agree_; }

private:
  RiskOptions options_;
  std::ostream& out_;
  std::ostream& log_;
  bool all_agree_ = true;
};

/// Seconds of work(), over all threads by the processor's clock.
template <class Work>
double seconds(Clock clock, int threads, const Work& work) {
  const double start = clock == Clock::wall ? wall_s() : process_cpu_s();
  work();
  return clock == Clock::wall ? wall_s() - start : (process_cpu_s() - start) / threads;
}

/// A row of what two contenders reached in each pass, the more the better: work over seconds.
RiskRow row_of_rates(const std::string& name, const std::string& unit, int threads,
                     const std::vector<double>& ours, const std::vector<double>& peer);
/// And the less the better: milliseconds.
RiskRow row_of_times(const std::string& name, int threads, const std::vector<double>& our_s,
                     const std::vector<double>& peer_s);

// Each prints its rows that are wanted.

/// First of all: it forks processes, whose OpenMP would hang after a parallel region of this one's,
/// and which must start small.
void print_memory_rows(RiskReport& report);
void print_training_rows(RiskReport& report);
void print_scoring_rows(RiskReport& report);
void print_var_rows(RiskReport& report);
void print_mlp_rows(RiskReport& report);

} // namespace breakeven::peers
