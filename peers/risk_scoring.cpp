// Scoring rows with one model, ours, beside XGBoost, which reads our file.
#include "peers/risk_pypi.h"
#include "peers/risk_trainers.h"
#include "workloads/risk/gbdt_model.h"
#include "workloads/risk/gbdt_score.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

namespace breakeven::peers {

using namespace risk;

namespace {

constexpr const char* debian_row = "xgboost.score";
constexpr const char* newest_row = "pypi.score";

/// Their sums are in single precision, in an order of their own.
constexpr double most_difference = 1e-4;

Agreement close(std::span<const float> ours, std::span<const float> peer) {
  if (ours.size() != peer.size())
    return {false, fmt::format("FAIL: {} rows beside {}", ours.size(), peer.size())};
  double most = 0;
  bool holds = true;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(static_cast<double>(ours[i]) - static_cast<double>(peer[i]));
    most = std::max(most, difference);
    holds = holds && difference <= most_difference; // not where either is NaN
  }
  return {holds,
          fmt::format("{}largest difference of margins {:.2g}", holds ? "" : "FAIL: ", most)};
}

/// A library that scores the rows to test on.
struct Scorer {
  std::string row, version;
  std::function<double(int threads)> score_s;
  std::function<std::vector<float>()> margins; ///< of the last time
};

class ScoringContest {
public:
  explicit ScoringContest(RiskReport& report)
      : report_(report),
        clock_(report.options().clock),
        case_(training_cases(report.options()).front()),
        rows_(case_.make()),
        model_(train_ours(rows_.train, case_.settings)),
        our_margins_(rows_.test.labels.size()),
        folder_("peers") {
    const std::filesystem::path file = folder_.path() / "model.json";
    write_model(file, model_);
    if (!xgboost_found())
      gaps_.emplace_back(debian_row, no_xgboost);
    else if (report_.is_wanted(debian_row))
      scorers_.push_back(debian(file));
    if (!report_.is_wanted(newest_row)) return;
    std::string why_not;
    pypi_ = pypi_or_null(report.options().python, why_not);
    if (pypi_ != nullptr)
      scorers_.push_back(newest(file));
    else
      gaps_.emplace_back(newest_row, why_not);
  }

  void run(int threads) {
    for (const auto& [row, reason] : gaps_)
      report_.not_run(row, threads, reason);
    if (scorers_.empty()) return; // nobody is there to compare with
    std::vector<Contender> contenders{[this, threads](std::size_t) {
      omp_set_num_threads(threads);
      return seconds(clock_, threads,
                     [this] { find_margins(model_, reading(rows_.test), our_margins_); });
    }};
    for (const Scorer& scorer : scorers_)
      contenders.push_back([&scorer, threads](std::size_t) { return scorer.score_s(threads); });
    const auto passes =
        Interleaved(std::move(contenders), 1).passes(report_.options().pairs, [](int) {});
    for (std::size_t i = 0; i < scorers_.size(); ++i)
      print(scorers_[i], threads, passes, i + 1);
    report_.say(fmt::format("{} threads: scoring done", threads));
  }

private:
  Scorer debian(const std::filesystem::path& file) {
    const auto model = std::make_shared<XgboostModel>(XgboostModel::loaded(file));
    const auto margins = std::make_shared<std::span<const float>>();
    const auto score_s = [this, model, margins](int threads) {
      model->set_threads(threads);
      const DenseRows& rows = rows_.test;
      return seconds(clock_, threads, [&] {
        *margins = model->margins(rows.values.data(), rows.count(), rows.features());
      });
    };
    return {debian_row, "XGBoost " + xgboost_version(), score_s,
            [margins] { return std::vector<float>(margins->begin(), margins->end()); }};
  }
  Scorer newest(const std::filesystem::path& file) const {
    pypi_->load(rows_);
    pypi_->open(file);
    return {newest_row, pypi_->version(),
            [this](int threads) { return pypi_->score_s(threads, clock_); },
            [this] { return pypi_->margins(); }};
  }

  /// `place` is the scorer's in a pass, whose first is ours.
  void print(const Scorer& scorer, int threads, const std::vector<std::vector<double>>& passes,
             std::size_t place) {
    const double millions = 1e-6 * static_cast<double>(rows_.test.count());
    std::vector<double> ours, peer;
    for (const std::vector<double>& pass : passes) {
      ours.push_back(millions / pass[0]);
      peer.push_back(millions / pass[place]);
    }
    RiskRow row = row_of_rates(scorer.row, "Mrows/s", threads, ours, peer);
    row.bar = 1;
    row.size = size_of(rows_.test, case_.settings);
    row.agreement = close(our_margins_, scorer.margins());
    row.against = scorer.version + "; in place";
    report_.print(row);
  }

  RiskReport& report_;
  Clock clock_;
  TrainingCase case_;
  TrainAndTest rows_;
  Gbdt model_;
  std::vector<float> our_margins_;
  ScratchFolder folder_;
  std::unique_ptr<PypiXgboost> pypi_;
  std::vector<Scorer> scorers_;
  std::vector<std::pair<const char*, std::string>> gaps_; ///< rows, and why they can't be run
};

} // namespace

void print_scoring_rows(RiskReport& report) {
  if (!report.is_wanted(debian_row) && !report.is_wanted(newest_row)) return;
  ScoringContest contest(report);
  for (const int threads : report.options().threads)
    contest.run(threads);
}

} // namespace breakeven::peers
