#include "peers/risk_pypi.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <fstream>

namespace breakeven::peers {

namespace {

std::string text_of(const XgboostParameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += " " + name + "=" + value;
  return text;
}

void append(std::ofstream& file, const std::vector<float>& values) {
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

} // namespace

PypiXgboost::PypiXgboost(const std::string& python)
    : folder_("peers"),
      worker_(python, "risk_xgboost.py") {}

void PypiXgboost::load(const TrainAndTest& rows) {
  const std::filesystem::path path = folder_.path() / "rows";
  std::ofstream file(path, std::ios::binary);
  append(file, rows.train.values);
  append(file, rows.train.float_labels);
  append(file, rows.test.values);
  file.close();
  if (!file) throw Failure("cannot write " + path.string());
  worker_.ask(fmt::format("load {} {} {} {}", path.string(), rows.train.count(), rows.test.count(),
                          rows.train.features()));
  std::filesystem::remove(path);
}

double PypiXgboost::train_s(const XgboostParameters& parameters, XgboostWay way, int rounds,
                            int threads, Clock clock) {
  return seconds_of(
      worker_.ask(fmt::format("train {} {}{}", name_of(way), rounds, text_of(parameters))), threads,
      clock);
}
std::vector<float> PypiXgboost::probabilities() { return saved("probabilities"); }

void PypiXgboost::open(const std::filesystem::path& model) {
  worker_.ask("open " + model.string());
}
double PypiXgboost::score_s(int threads, Clock clock) {
  return seconds_of(worker_.ask(fmt::format("score {}", threads)), threads, clock);
}
std::vector<float> PypiXgboost::margins() { return saved("margins"); }

double PypiXgboost::peak_mib(const XgboostParameters& parameters, XgboostWay way, int rounds) {
  return std::stod(
      worker_.ask(fmt::format("peak_mib {} {}{}", name_of(way), rounds, text_of(parameters))));
}

double PypiXgboost::seconds_of(const std::string& answer, int threads, Clock clock) const {
  const std::size_t space = answer.find(' ');
  if (space == std::string::npos) throw Failure("python said " + answer + " for two times");
  return clock == Clock::wall ? std::stod(answer.substr(0, space))
                              : std::stod(answer.substr(space)) / threads;
}

std::vector<float> PypiXgboost::saved(const std::string& what) {
  const std::filesystem::path path = folder_.path() / what;
  worker_.ask(what + " " + path.string());
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!file) throw Failure("cannot read " + path.string());
  return values;
}

std::unique_ptr<PypiXgboost> pypi_or_null(const std::string& python, std::string& why_not) {
  try {
    return std::make_unique<PypiXgboost>(python);
  } catch (const Failure& failure) {
    why_not = failure.what();
    return nullptr;
  }
}

} // namespace breakeven::peers
