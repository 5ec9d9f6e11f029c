// Peak memory of training beside XGBoost, each in a process of its own.
#include "peers/risk_pypi.h"
#include "peers/risk_trainers.h"
#include "sim/errors.h"

#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <functional>
#include <map>
#include <string>

namespace breakeven::peers {

using namespace risk;

namespace {

/// Of XGBoost's ways the one that takes less: a DMatrix keeps the floats beside the bins.
constexpr XgboostWay least_way = XgboostWay::quantile;

double status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1));
  throw Failure("/proc/self/status has no " + field);
}

using Train = std::function<void(const DenseRows& rows)>;

/// As text, so that an error can be told the same way.
std::string measured(const TrainingCase& of, int threads, const Train& train) {
  try {
    omp_set_num_threads(1); // making rows leaves no threads
    const TrainAndTest rows = of.make();
    malloc_trim(0); // what was freed would be used again without being counted
    omp_set_num_threads(threads);
    // The peak so far is forgotten (proc(5)).
    if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush))
      throw Failure("cannot reset the peak of memory");
    const double before = status_kib("VmRSS");
    train(rows.train);
    return fmt::format("{}", (status_kib("VmHWM") - before) / 1024);
  } catch (const std::exception& error) {
    return std::string("error: ") + error.what();
  }
}

/// MiB of resident memory that train() adds at its peak to a process that holds the rows. That is a
/// child of this one, forked while this one is small: whatever was allocated and freed before moves
/// glibc's limits, and with them the peak by a third. Throws Failure with train()'s error.
double peak_mib(const TrainingCase& of, int threads, const Train& train) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Failure("cannot make a pipe");
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = measured(of, threads, train);
    const ssize_t written = write(ends[1], answer.data(), answer.size());
    _exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  std::array<char, 256> bytes{};
  for (ssize_t count = 0; child > 0;) {
    count = read(ends[0], bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answer.append(bytes.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (child < 0) throw Failure("cannot start a process");
  int status = 0;
  waitpid(child, &status, 0);
  if (answer.starts_with("error: ")) throw Failure(answer.substr(7));
  if (answer.empty() || status != 0)
    throw Failure("the process whose memory is measured ended without an answer");
  return std::stod(answer);
}

constexpr const char* debian_prefix = "xgboost.memory_";
constexpr const char* newest_prefix = "pypi.memory_";

/// All cases by the processes forked here, which makes no rows itself.
class MemoryContest {
public:
  explicit MemoryContest(RiskReport& report)
      : report_(report),
        threads_(
            *std::max_element(report.options().threads.begin(), report.options().threads.end())),
        cases_(training_cases(report.options())) {}

  void run() {
    for (const TrainingCase& of : cases_)
      measure_here(of);
    for (const TrainingCase& of : cases_)
      if (our_mib_.contains(of.name) && report_.is_wanted(newest_prefix + of.name))
        measure_newest(of);
  }

private:
  /// Ours and Debian's XGBoost.
  void measure_here(const TrainingCase& of) {
    const std::string debian_row = debian_prefix + of.name, newest_row = newest_prefix + of.name;
    if (!report_.is_wanted(debian_row) && !report_.is_wanted(newest_row)) return;
    if (of.make == nullptr) {
      for (const std::string& row : {debian_row, newest_row})
        report_.not_run(row, threads_, no_uci_file);
      return;
    }
    our_mib_[of.name] =
        peak_mib(of, threads_, [&](const DenseRows& rows) { train_ours(rows, of.settings); });
    if (!xgboost_found()) return report_.not_run(debian_row, threads_, no_xgboost);
    if (!report_.is_wanted(debian_row)) return;
    const double mib = peak_mib(of, threads_, [&](const DenseRows& rows) {
      XgboostModel::trained(xgboost_rows(rows), xgboost_parameters(of.settings, threads_),
                            least_way, of.settings.rounds);
    });
    print(debian_row, of, mib, "XGBoost " + xgboost_version());
  }

  void measure_newest(const TrainingCase& of) {
    std::string why_not;
    const std::unique_ptr<PypiXgboost> pypi = pypi_or_null(report_.options().python, why_not);
    if (pypi == nullptr) return report_.not_run(newest_prefix + of.name, threads_, why_not);
    pypi->load(of.make());
    const double mib =
        pypi->peak_mib(xgboost_parameters(of.settings, threads_), least_way, of.settings.rounds);
    print(newest_prefix + of.name, of, mib, pypi->version());
  }

  void print(const std::string& name, const TrainingCase& of, double peer_mib,
             const std::string& version) {
    const double our_mib = our_mib_.at(of.name);
    RiskRow row;
    row.row = {name, our_mib, peer_mib, peer_mib / our_mib, "MiB", threads_};
    row.size = "as train_" + of.name;
    row.against = version + " hist; " + name_of(least_way);
    report_.print(row);
  }

  RiskReport& report_;
  int threads_;
  std::vector<TrainingCase> cases_;
  std::map<std::string, double> our_mib_;
};

} // namespace

void print_memory_rows(RiskReport& report) { MemoryContest(report).run(); }

} // namespace breakeven::peers
