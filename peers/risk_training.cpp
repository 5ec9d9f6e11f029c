// Binning and training beside XGBoost: times, and what a second thread gives.
//
// Every contender starts from the same floats in memory and ends with a model, and pays for its own
// pages of memory as a user's one training does.
#include "peers/risk_pypi.h"
#include "peers/risk_trainers.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <optional>

namespace breakeven::peers {

using namespace risk;

namespace {

/// Ways differ in how bins are made, so a few rounds tell which is faster.
constexpr int rounds_to_choose = 10;
constexpr const char* speed_up_case = "1m";

/// A library that trains on one case's rows.
struct Trainer {
  std::string prefix; ///< of the names of its rows
  std::string version;
  std::function<double(XgboostWay way, int rounds, int threads)> train_s;
  std::function<std::vector<float>()> probabilities; ///< of the last model, of the rows to test on
};

bool is_wanted(const TrainingCase& of, const std::string& prefix, const RiskReport& report) {
  return report.is_wanted(prefix + ".train_" + of.name)
         || (of.name == speed_up_case && report.is_wanted(prefix + ".speedup_" + of.name));
}

/// One case for all numbers of threads.
class TrainingContest {
public:
  TrainingContest(const TrainingCase& of, PypiXgboost* pypi, RiskReport& report)
      : case_(of),
        report_(report),
        clock_(report.options().clock),
        rows_(of.make()),
        size_(size_of(rows_.train, of.settings)) {
    if (xgboost_found() && is_wanted(of, "xgboost", report)) trainers_.push_back(debian());
    if (pypi != nullptr && is_wanted(of, "pypi", report)) {
      pypi->load(rows_);
      trainers_.push_back(newest(*pypi));
    }
  }

  void run(int threads) {
    if (trainers_.empty()) return; // nobody is there to compare with
    threads_ = threads;
    const std::vector<XgboostWay> ways = fastest_ways();
    std::vector<Contender> contenders{[this](std::size_t) { return ours_s(); }};
    for (std::size_t i = 0; i < trainers_.size(); ++i)
      contenders.push_back([this, i, way = ways[i]](std::size_t) {
        return trainers_[i].train_s(way, case_.settings.rounds, threads_);
      });
    const RiskOptions& options = report_.options();
    const auto passes = Interleaved(std::move(contenders), 1)
                            .passes(
                                case_.is_long ? options.long_pairs : options.pairs, [](int) {},
                                case_.is_long ? WarmUp::none : WarmUp::one_pass);
    std::vector<std::vector<double>> times(trainers_.size() + 1);
    for (const std::vector<double>& pass : passes)
      for (std::size_t i = 0; i < times.size(); ++i)
        times[i].push_back(pass[i]);
    print_times(times, ways);
    std::vector<double>& medians = median_s_[threads_];
    medians.clear();
    for (const std::vector<double>& of_one : times)
      medians.push_back(median(of_one));
    report_.say(fmt::format("{} threads: training on {} done", threads_, case_.name));
  }

  /// Time on one thread over time on several, where both were run.
  void print_speed_ups() const {
    const auto one = median_s_.find(1);
    if (case_.name != speed_up_case || one == median_s_.end()) return;
    for (const auto& [threads, several] : median_s_)
      for (std::size_t i = 0; threads > 1 && i < trainers_.size(); ++i)
        print_speed_up(trainers_[i], threads, one->second[0] / several[0],
                       one->second[i + 1] / several[i + 1]);
  }

private:
  /// `times` of ours, then of the trainers, a vector each.
  void print_times(const std::vector<std::vector<double>>& times,
                   const std::vector<XgboostWay>& ways) {
    is_alike_at_.push_back(threads_);
    const Quality our_quality = quality_of(probabilities_of(model_, rows_.test), rows_.test);
    for (std::size_t i = 0; i < trainers_.size(); ++i) {
      RiskRow row = row_of_times(trainers_[i].prefix + ".train_" + case_.name, threads_, times[0],
                                 times[i + 1]);
      row.bar = 1;
      row.size = size_;
      row.agreement = agreement(our_quality, quality_of(trainers_[i].probabilities(), rows_.test));
      row.against = trainers_[i].version + " hist; " + name_of(ways[i]);
      report_.print(row);
    }
  }

  void print_speed_up(const Trainer& trainer, int threads, double ours, double peer) const {
    const std::string name = trainer.prefix + ".speedup_" + case_.name;
    if (clock_ == Clock::cpu) // which does not count a thread that waits for another
      return report_.not_run(name, threads, "needs --clock wall");
    RiskRow row;
    row.row = {name, ours, peer, ours / peer, "x", threads};
    row.size = size_;
    row.against = trainer.version + " hist";
    report_.print(row);
  }

  Trainer debian() {
    const auto train_s = [this](XgboostWay way, int rounds, int threads) {
      omp_set_num_threads(threads);
      const XgboostParameters parameters = xgboost_parameters(case_.settings, threads);
      xgboost_.reset(); // the last one's end is not timed, on either side
      return seconds(clock_, threads, [&] {
        xgboost_.emplace(XgboostModel::trained(xgboost_rows(rows_.train), parameters, way, rounds));
      });
    };
    const auto probabilities = [this] {
      const std::span<const float> all = xgboost_->probabilities(
          rows_.test.values.data(), rows_.test.count(), rows_.test.features());
      return std::vector<float>(all.begin(), all.end());
    };
    return {"xgboost", "XGBoost " + xgboost_version(), train_s, probabilities};
  }
  Trainer newest(PypiXgboost& pypi) const {
    return {"pypi", pypi.version(),
            [this, &pypi](XgboostWay way, int rounds, int threads) {
              return pypi.train_s(xgboost_parameters(case_.settings, threads), way, rounds, threads,
                                  clock_);
            },
            [&pypi] { return pypi.probabilities(); }};
  }

  std::vector<XgboostWay> fastest_ways() const {
    std::vector<XgboostWay> fastest;
    for (const Trainer& trainer : trainers_) {
      double least_s = 0;
      std::optional<XgboostWay> best;
      for (const XgboostWay way : xgboost_ways) {
        trainer.train_s(way, rounds_to_choose, threads_); // the first of all is slow
        const double way_s = std::min(trainer.train_s(way, rounds_to_choose, threads_),
                                      trainer.train_s(way, rounds_to_choose, threads_));
        report_.say(fmt::format("{}.train_{}: {} {:.0f} ms for {} trees", trainer.prefix,
                                case_.name, name_of(way), 1e3 * way_s, rounds_to_choose));
        if (best && way_s >= least_s) continue;
        best = way;
        least_s = way_s;
      }
      fastest.push_back(*best);
    }
    return fastest;
  }

  double ours_s() {
    omp_set_num_threads(threads_);
    model_ = {};
    const double spent_s =
        seconds(clock_, threads_, [this] { model_ = train_ours(rows_.train, case_.settings); });
    if (first_trees_.empty()) first_trees_ = model_.trees;
    is_always_alike_ = is_always_alike_ && model_.trees == first_trees_;
    return spent_s;
  }

  Agreement agreement(const Quality& ours, const Quality& peer) const {
    Agreement both = compare(ours, peer);
    std::string counts;
    for (const int threads : is_alike_at_)
      counts += (counts.empty() ? "" : " and ") + std::to_string(threads);
    both.text += is_always_alike_
                     ? fmt::format("; our trees identical in all runs (threads: {})", counts)
                     : "; FAIL: our trees differ from run to run";
    both.holds = both.holds && is_always_alike_;
    return both;
  }

  const TrainingCase& case_;
  RiskReport& report_;
  Clock clock_;
  TrainAndTest rows_;
  std::string size_;
  std::vector<Trainer> trainers_;
  std::optional<XgboostModel> xgboost_;
  int threads_ = 1;
  Gbdt model_;
  std::vector<Tree> first_trees_;
  bool is_always_alike_ = true;
  std::vector<int> is_alike_at_;
  std::map<int, std::vector<double>> median_s_; ///< by threads: ours, then the trainers'
};

/// What is printed of a case that cannot be run.
void print_gaps(const TrainingCase& of, const std::string& prefix, const std::string& reason,
                int threads, RiskReport& report) {
  report.not_run(prefix + ".train_" + of.name, threads, reason);
  if (of.name == speed_up_case && threads > 1)
    report.not_run(prefix + ".speedup_" + of.name, threads, reason);
}

/// Why a peer has no rows, or nothing.
std::string gap_of(const TrainingCase& of, bool peer_is_there, const std::string& no_peer) {
  return of.make == nullptr ? no_uci_file : peer_is_there ? "" : no_peer;
}

} // namespace

void print_training_rows(RiskReport& report) {
  std::string no_pypi;
  const std::vector<TrainingCase> all_cases = training_cases(report.options());
  const bool pypi_is_wanted =
      std::any_of(all_cases.begin(), all_cases.end(),
                  [&](const TrainingCase& of) { return is_wanted(of, "pypi", report); });
  const std::unique_ptr<PypiXgboost> pypi =
      pypi_is_wanted ? pypi_or_null(report.options().python, no_pypi) : nullptr;
  const std::vector<int>& counts = report.options().threads;
  for (const TrainingCase& of : all_cases) {
    for (const int threads : counts)
      for (const auto& [prefix, gap] :
           {std::pair(std::string("xgboost"), gap_of(of, xgboost_found(), no_xgboost)),
            std::pair(std::string("pypi"), gap_of(of, pypi != nullptr, no_pypi))})
        if (!gap.empty()) print_gaps(of, prefix, gap, threads, report);
    if (of.make == nullptr) continue;
    if (!is_wanted(of, "xgboost", report) && !is_wanted(of, "pypi", report)) continue;
    TrainingContest contest(of, pypi.get(), report);
    for (const int threads : counts)
      contest.run(threads);
    contest.print_speed_ups();
  }
}

} // namespace breakeven::peers
