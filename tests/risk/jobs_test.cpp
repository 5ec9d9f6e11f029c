// The risk workload as a whole: how much of a job is run, what its phases stand for, and that both
// paths pass their check.
#include "sim/errors.h"
#include "sim/scenario/scenario.h"
#include "tests/risk/real_data.h"
#include "tests/test_folder.h"
#include "workloads/risk/risk.h"
#include "workloads/risk/settings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

/// The job of a [workload] with these lines, and with the files of `folder`.
Workload job_of(const TestFolder& folder, const std::string& lines) {
  const auto file = folder.write("s.toml", "schema = 1\nname = \"s\"\n[workload]\n"
                                           "kind = \"risk\"\n"
                                               + lines + "\n[[target]]\ninstance = \"local\"\n");
  return make_risk_workload(*read_scenario(file.string(), {}, {{"risk", risk_keys()}}).workload);
}

const std::string training = "model = \"gbdt\"\ntask = \"train\"\ntransactions = \"built-in\"\n"
                             "rows = 40_000\ncolumns = 10\ntrainings = 6\n"
                             "[workload.gbdt]\nrounds = 20\ndepth = 4\n";
const std::string scoring = "model = \"gbdt\"\ntask = \"score\"\ntransactions = \"built-in\"\n"
                            "rows = 10_000\ncolumns = 10\nbatches = 5\ntraining_rows = 4000\n"
                            "[workload.gbdt]\nrounds = 20\ndepth = 4\n";
const std::string network = "model = \"mlp\"\ntransactions = \"built-in\"\n"
                            "rows = 20_000\ncolumns = 10\ntrainings = 4\n"
                            "[workload.mlp]\nhidden = [32, 16]\nepochs = 3\nbatch_rows = 512\n";
const std::string books = "model = \"var\"\nbooks = 8\n[workload.var]\nfactors = 12\n"
                          "positions = 60\nsectors = 3\npaths = 20_000\n";

const Phase* find(const Run& run, const std::string& name) {
  const auto found = std::find_if(run.phases.begin(), run.phases.end(),
                                  [&](const Phase& phase) { return phase.name == name; });
  return found == run.phases.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const Run& run) {
  std::vector<std::string> names;
  for (const Phase& phase : run.phases)
    names.push_back(phase.name);
  return names;
}

std::size_t lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
}

} // namespace

TEST_CASE("every risk job passes its check on the CPU and on the GPU side's source") {
  const TestFolder folder;
  for (const std::string& lines : {training, scoring, network, books}) {
    CAPTURE(lines);
    const Workload job = job_of(folder, lines);
    for (const Path path : {Path::openmp, Path::host}) {
      const Verification verification = job.verify(path);
      CAPTURE(verification.evidence);
      CHECK(verification.passed);
    }
  }
}

TEST_CASE("more effort runs more, up to the whole job") {
  const TestFolder folder;
  for (const std::string& lines : {training, scoring, network, books}) {
    CAPTURE(lines);
    const Workload job = job_of(folder, lines);
    std::int64_t before = 0;
    for (const double effort : {0.0, 1e-3, 0.05, 0.3, 0.7, 1.0}) {
      const Slice slice = job.slice(effort);
      const auto work = static_cast<std::int64_t>(slice.units.size()) * slice.repeats;
      CHECK(work >= before);
      CHECK(slice.whole_job == (effort == 1.0));
      before = work;
    }
    CHECK(static_cast<std::int64_t>(job.slice(1).units.size()) == job.job_units);
  }
}

TEST_CASE("a slice's phases stand for the whole job, and the whole job for itself") {
  const TestFolder folder;
  for (const std::string& lines : {training, scoring, network, books}) {
    CAPTURE(lines);
    const Workload job = job_of(folder, lines);
    const Run whole = job.run(Path::openmp, job.slice(1), {});
    for (const Phase& phase : whole.phases) {
      CAPTURE(phase.name);
      CHECK(phase.job_over_slice == doctest::Approx(1));
    }
    const Run part = job.run(Path::openmp, job.slice(0), {});
    CHECK(names_of(part) == names_of(whole));
    for (const Phase& phase : part.phases) {
      CAPTURE(phase.name);
      CHECK(phase.job_over_slice >= 1);
      CHECK(phase.end_to_end_s > 0);
    }
    CHECK(job.run(Path::openmp, job.slice(0), {}).checksum == part.checksum);
  }
}

TEST_CASE("the GPU side counts a whole job whatever slice it is asked for") {
  const TestFolder folder;
  for (const std::string& lines : {training, scoring, network, books}) {
    CAPTURE(lines);
    const Workload job = job_of(folder, lines);
    const auto counted = [&](double effort) {
      double instructions = 0, bytes = 0;
      for (const Phase& phase : job.run(Path::host, job.slice(effort), {}).phases) {
        if (phase.processor != Processor::gpu) continue;
        instructions +=
            (phase.work.lane_instructions + phase.work.tensor_fp16_flops) * phase.job_over_slice;
        bytes += phase.work.host_to_device_bytes * phase.job_over_slice;
        CHECK(phase.work.count("state_bytes") > 0);
      }
      CHECK(instructions > 0);
      CHECK(bytes > 0);
      return instructions;
    };
    CHECK(counted(0) == counted(1));
  }
}

TEST_CASE("what stays on the CPU is a phase of both paths") {
  const TestFolder folder;
  for (const std::string& lines : {training, scoring, network, books}) {
    CAPTURE(lines);
    const Workload job = job_of(folder, lines);
    const Run cpu = job.run(Path::openmp, job.slice(0), {}),
              gpu = job.run(Path::host, job.slice(0), {});
    for (const Phase& phase : gpu.phases)
      if (phase.processor == Processor::cpu) {
        CAPTURE(phase.name);
        REQUIRE(find(cpu, phase.name) != nullptr);
        CHECK(find(cpu, phase.name)->scaling == phase.scaling);
        CHECK(find(cpu, phase.name)->repeats == phase.repeats);
      }
  }
}

TEST_CASE("a network in bf16 is timed in fp32, and says that others may use bf16") {
  const TestFolder folder;
  const auto training_of = [&](const std::string& more) {
    const Workload job = job_of(folder, network + more);
    return find(job.run(Path::openmp, job.slice(0), {}), "training")->work.count("bf16_allowed");
  };
  CHECK(training_of("precision = \"bf16\"\n") == 1);
  CHECK(training_of("") == 0);
  const auto checksum_of = [&](const std::string& more) {
    const Workload job = job_of(folder, network + more);
    return job.run(Path::openmp, job.slice(0), {}).checksum;
  };
  CHECK(checksum_of("precision = \"bf16\"\n") == checksum_of(""));
}

TEST_CASE("results are written for every unit") {
  const TestFolder folder;
  const auto files_of = [&](const std::string& lines) {
    const Workload job = job_of(folder, lines);
    const auto out = folder / (job.unit + "_results");
    std::filesystem::create_directories(out);
    job.run(Path::openmp, job.slice(1), out);
    return out;
  };
  const auto models = files_of(training);
  CHECK(std::filesystem::exists(models / "model_0006.json"));
  CHECK(lines_of(models / "quality_0006.csv") == 2);
  CHECK(lines_of(files_of(scoring) / "scores_0005.csv") == 10'001);
  CHECK(lines_of(files_of(books) / "book_0008.csv") == 4);
}

TEST_CASE("a saved model scores the rows of a file that has its features") {
  const TestFolder folder;
  const Workload job = job_of(folder, training);
  std::filesystem::create_directories(folder / "out");
  job.run(Path::openmp, job.slice(0), folder / "out");
  std::filesystem::copy(folder / "out" / "model_0001.json", folder / "model.json");
  const std::string header = "amount_usd,hour_of_day,hours_since_last,distance_km,"
                             "merchant_category,transactions_last_hour,amount_to_usual,"
                             "account_age_days,";
  std::string names;
  { // the two columns behind the eight are named by their place
    std::ifstream in(folder / "model.json");
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const std::size_t begin = text.find("\"feature_names\":[") + 17;
    names = text.substr(begin, text.find(']', begin) - begin);
    names.erase(std::remove(names.begin(), names.end(), '"'), names.end());
  }
  CHECK(names.starts_with(header));
  const std::string score = "model = \"gbdt\"\ntask = \"score\"\ncsv = \"rows.csv\"\n"
                            "label = \"fraud\"\nmodel_file = \"model.json\"\n";
  folder.write("rows.csv", names + ",fraud\n1,2,3,4,5,6,7,8,9,10,0\n2,3,,5,6,7,8,9,10,11,1\n");
  const Workload scored = job_of(folder, score);
  CHECK(scored.verify(Path::openmp).passed);
  CHECK(scored.slice(0).whole_job);

  folder.write("rows.csv",
               "a" + names + ",fraud\n1,2,3,4,5,6,7,8,9,10,0\n2,3,4,5,6,7,8,9,10,11,1\n");
  CHECK_THROWS_AS(job_of(folder, score), BadInput);
  folder.write("rows.csv", "a,fraud\n1,0\n2,1\n");
  CHECK_THROWS_AS(job_of(folder, score), BadInput);
}

TEST_CASE("a batch of made-up rows needs no fraud in it") {
  const TestFolder folder;
  const Workload job = job_of(folder, "model = \"gbdt\"\ntask = \"score\"\n"
                                      "transactions = \"built-in\"\nrows = 1\n"
                                      "training_rows = 4000\n[workload.gbdt]\nrounds = 5\n");
  CHECK(job.verify(Path::openmp).passed);
  CHECK(find(job.run(Path::openmp, job.slice(1), {}), "score") != nullptr);
}

TEST_CASE("with early stopping every training runs all its rounds") {
  const TestFolder folder;
  const Workload job = job_of(folder, training + "early_stopping_rounds = 1\n");
  CHECK(job.verify(Path::openmp).passed);
  const Run whole = job.run(Path::openmp, job.slice(1), {});
  for (const Phase& phase : whole.phases)
    CHECK(phase.job_over_slice == doctest::Approx(1));
}

TEST_CASE("rows that cannot tell a quality are refused") {
  const TestFolder folder;
  folder.write("rows.csv", "a,y\n1,0\n2,1\n3,1\n4,0\n5,1\n6,0\n"); // rows 0 and 5 are held out
  CHECK_THROWS_AS(job_of(folder, "model = \"gbdt\"\ntask = \"train\"\ncsv = \"rows.csv\"\n"
                                 "label = \"y\"\n"),
                  BadInput);
  folder.write("rows.csv", "a,y\n1,0\n2,1\n3,1\n4,1\n5,1\n6,1\n"); // and all but row 0 are 1
  CHECK_THROWS_AS(job_of(folder, "model = \"gbdt\"\ntask = \"train\"\ncsv = \"rows.csv\"\n"
                                 "label = \"y\"\n"),
                  BadInput);
  CHECK_THROWS_AS(job_of(folder, "model = \"gbdt\"\ntask = \"train\"\n"
                                 "transactions = \"built-in\"\nrows = 900\n"),
                  BadInput);
  CHECK_THROWS_AS(job_of(folder, "model = \"gbdt\"\ntask = \"train\"\n"
                                 "transactions = \"built-in\"\nrows = 2000\n"
                                 "positive_rate = 0.001\n"),
                  BadInput);
}

TEST_CASE("the real credit data are trained on whole") {
  std::filesystem::path file;
  if (!has_real_data("uci_credit_card_default.csv", file)) return;
  const TestFolder folder;
  const Workload job = job_of(folder, "model = \"gbdt\"\ntask = \"train\"\ncsv = \"" + file.string()
                                          + "\"\nlabel = \"fraud\"\ndrop = [\"ID\"]\n"
                                            "[workload.gbdt]\ndepth = 3\n");
  const Slice slice = job.slice(0);
  CHECK_FALSE(slice.whole_job);
  const Verification verification = job.verify(Path::openmp);
  CAPTURE(verification.evidence);
  CHECK(verification.passed);
}
