#include "sim/scenario/scenario.h"

#include "sim/errors.h"
#include "sim/scenario/document.h"
#include "sim/scenario/sha256.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <tuple>

namespace breakeven {

namespace {

constexpr std::size_t longest_name = 64;
constexpr std::int64_t most_machines = 10'000;
constexpr std::int64_t most_threads = 4096;
constexpr double most_runs_per_month = 1e9;
constexpr double most_units_per_day = 1e6;
constexpr Arrivals all_arrivals[] = {Arrivals::even, Arrivals::poisson, Arrivals::working_hours,
                                     Arrivals::night_batch};

const std::vector<Key>& keys_of(const std::string& section) {
  for (const SectionKeys& one : scenario_keys())
    if (one.section == section) return one.keys;
  assert(false);
  return scenario_keys().front().keys;
}

/// Enough to read one key before it is known which others are allowed: a later schema, or another
/// kind of workload, has other keys, and calling those unknown would mislead.
std::vector<Key> key_and_those_present(const Key& key, const toml::table& table) {
  std::vector<Key> keys = {key};
  for (const auto& [name, value] : table)
    keys.push_back({std::string(name.str()), "", ""});
  return keys;
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= longest_name
         && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

bool is_instance(const std::string& text) {
  if (text == "local" || text == "local-gpu") return true;
  const std::size_t colon = text.find(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < text.size()
         && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == colon
         && text.find_first_of(" :", colon + 1) == std::string::npos;
}

std::string shown_value(const std::string& key, const std::string& value) {
  return key + " = " + in_quotes(value, '"');
}

std::string text_not_empty(const Section& section, const std::string& key) {
  const std::string text = section.text(key);
  if (trimmed(text).empty()) section.fail(key, "an empty " + key, "some text");
  return text;
}

std::string read_name(const Section& top) {
  const std::string name = top.text("name");
  if (!is_name(name))
    top.fail(
        "name", shown_value("name", name),
        fmt::format("1 to {} of a-z, 0-9, _ and -, for it names the result folder", longest_name));
  return name;
}

std::vector<Key> keys_of_kind(const toml::table& workload,
                              const std::vector<WorkloadKeys>& workloads) {
  const Key kind = {"kind", "text", "which workload"};
  const auto* text = workload.contains("kind") ? workload.get("kind")->as_string() : nullptr;
  for (const WorkloadKeys& one : workloads) {
    if (text == nullptr || text->get() != one.kind) continue;
    std::vector<Key> keys = {kind};
    keys.insert(keys.end(), one.keys.begin(), one.keys.end());
    return keys;
  }
  return key_and_those_present(kind, workload);
}

Section read_workload(const Section& top, const toml::table& root,
                      const std::vector<WorkloadKeys>& workloads) {
  std::vector<std::string> kinds;
  for (const WorkloadKeys& one : workloads)
    kinds.push_back(one.kind);
  if (!top.has("workload"))
    top.fail("workload", "no [workload]",
             "[workload] with kind = one of: " + listed_with_or(kinds));
  const toml::table* table = root.get("workload")->as_table();
  const auto workload =
      top.table("workload", table ? keys_of_kind(*table, workloads) : std::vector<Key>{});
  workload->one_of("kind", kinds);
  return *workload;
}

MeasureSettings read_measure(const Section& section) {
  MeasureSettings measure;
  measure.full = section.one_of("slice", {"auto", "full"}, "auto") == "full";
  measure.time_limit_s = section.duration_s("time_limit", measure.time_limit_s);
  measure.threads = static_cast<int>(section.integer("threads", 0, most_threads, 0));
  return measure;
}

Arrivals read_arrivals(const Section& section) {
  std::vector<std::string> names;
  for (const Arrivals arrivals : all_arrivals)
    names.push_back(to_string(arrivals));
  const std::string text = section.one_of("arrivals", names, to_string(Job{}.arrivals));
  for (const Arrivals arrivals : all_arrivals)
    if (to_string(arrivals) == text) return arrivals;
  return Job{}.arrivals;
}

/// Arrivals and their deadline mean nothing without a number that arrives.
void read_service(Job& job, const Section& section) {
  if (!section.has("units_per_day")) {
    for (const char* key : {"arrivals", "turnaround_deadline"})
      if (section.has(key))
        section.fail(key, std::string("job.") + key + " without units_per_day",
                     "units_per_day beside it");
    return;
  }
  job.units_per_day = section.number("units_per_day", 0, most_units_per_day);
  if (!(*job.units_per_day > 0))
    section.fail("units_per_day", "job.units_per_day = 0", "a number above zero");
  job.arrivals = read_arrivals(section);
  if (section.has("turnaround_deadline"))
    job.turnaround_deadline_s = section.duration_s("turnaround_deadline");
}

Job read_job(const Section& section) {
  Job job;
  job.runs_per_month = section.number("runs_per_month", 0, most_runs_per_month, job.runs_per_month);
  if (!(job.runs_per_month > 0))
    section.fail("runs_per_month", "job.runs_per_month = 0", "a number above zero");
  if (section.has("deadline")) job.deadline_s = section.duration_s("deadline");
  job.input_bytes = section.bytes("input", job.input_bytes);
  job.input_change = section.number("input_change", 0, 1, job.input_change);
  job.output_bytes = section.bytes("output", job.output_bytes);
  job.setup_s = section.duration_s("setup", job.setup_s);
  read_service(job, section);
  return job;
}

Target read_target(const Section& section) {
  Target target;
  target.instance = section.text("instance");
  if (!is_instance(target.instance))
    section.fail("instance", shown_value("instance", target.instance),
                 "provider:type such as \"aws:g5.xlarge\", or \"local\"");
  target.option = section.one_of("option", {"on-demand", "spot"}, target.option);
  target.count = static_cast<int>(section.integer("count", 1, most_machines, target.count));
  if (section.has("price")) target.price = section.price_per_h("price");
  target.line = section.line_of("instance");
  return target;
}

std::vector<Target> read_targets(const Section& top) {
  std::vector<Target> targets;
  std::set<std::tuple<std::string, std::string, int>> seen;
  for (const Section& section : top.tables("target", keys_of("target"))) {
    const Target target = read_target(section);
    if (!seen.emplace(target.instance, target.option, target.count).second)
      section.fail(
          "instance",
          fmt::format("{} {} x {} a second time", target.instance, target.option, target.count),
          "targets that differ in instance, option or count");
    targets.push_back(target);
  }
  if (targets.empty())
    top.fail("target", "no [[target]]", "at least one; the first is the baseline");
  return targets;
}

std::vector<Claim> read_claims(const Section& top) {
  std::vector<Claim> claims;
  for (const Section& section : top.tables("claim", keys_of("claim"))) {
    Claim claim;
    claim.quantity =
        section.one_of("quantity", {"time_to_result", "time", "speedup", "cost", "other"});
    claim.from = text_not_empty(section, "from");
    claim.to = text_not_empty(section, "to");
    claim.source = text_not_empty(section, "source");
    claims.push_back(claim);
  }
  return claims;
}

/// Of the bytes of every file in a folder, whatever the files are called.
std::string sha256_of_folder(const std::filesystem::path& folder) {
  std::vector<std::string> hashes;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) hashes.push_back(sha256_of_file(entry.path()));
  std::sort(hashes.begin(), hashes.end());
  return sha256_of(fmt::format("{}", fmt::join(hashes, " ")));
}

/// The bytes of every file that [workload] names, after the tables: a mesh that changed under the
/// same name is another question.
std::string hash_of(const toml::table& root, const Section& workload,
                    const std::vector<WorkloadKeys>& workloads) {
  std::string text = canonical(root);
  const std::string kind = workload.text("kind");
  for (const WorkloadKeys& one : workloads) {
    if (one.kind != kind) continue;
    std::vector<Key> keys = one.keys;
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.name < b.name; });
    for (const Key& key : keys)
      if (key.type == "file" && workload.has(key.name))
        text += fmt::format("\n{} {}", key.name, sha256_of_file(workload.file(key.name)));
      else if (key.type == "folder" && workload.has(key.name))
        text += fmt::format("\n{} {}", key.name, sha256_of_folder(workload.folder(key.name)));
  }
  return sha256_of(text);
}

} // namespace

std::string to_string(Arrivals arrivals) {
  switch (arrivals) {
  case Arrivals::even:
    return "even";
  case Arrivals::poisson:
    return "poisson";
  case Arrivals::working_hours:
    return "working-hours";
  case Arrivals::night_batch:
    return "night-batch";
  }
  throw std::logic_error("arrivals without a name");
}

const std::vector<SectionKeys>& scenario_keys() {
  static const std::vector<SectionKeys> all = {
      {"",
       {{"schema", "1", "version of this format"},
        {"name", "text of a-z, 0-9, _ and -", "names the result folder; at most 64 characters"},
        {"title", "text", "heads the memo; the name where absent"},
        {"workload", "section", "what work it is"},
        {"measure", "section", "how much of the work is really run here"},
        {"job", "section", "what the business runs"},
        {"target", "sections", "machines to compare: the first is the baseline"},
        {"claim", "sections", "published figures to hold against the study"}}},
      {"measure",
       {{"slice", "auto or full",
         "auto runs the part of the job that fits the time limit, full runs all; auto where "
         "absent"},
        {"time_limit", "duration > 0", "cap on measuring, per path; 60 s where absent"},
        {"threads", "integer from 0 to 4096",
         "OpenMP threads of the CPU side; 0, also where absent, means all the machine offers"}}},
      {"job",
       {{"runs_per_month", "number > 0", "how often the job runs; 1 where absent"},
        {"deadline", "duration > 0", "of one run, from set-up to download; none where absent"},
        {"input", "amount of data", "what a run reads; 0 B where absent"},
        {"input_change", "number from 0 to 1",
         "share of the input that is new in each run and so is uploaded; 1 where absent"},
        {"output", "amount of data", "what a run leaves to download; 0 B where absent"},
        {"setup", "duration > 0", "boot and installation, per run; none where absent"},
        {"units_per_day", "number > 0",
         "units of the workload (frames, cases) that arrive at a steady service, at most 1000000; "
         "no service where absent"},
        {"arrivals", "even, poisson, working-hours or night-batch",
         "when they arrive, as below; poisson where absent"},
        {"turnaround_deadline", "duration > 0",
         "from a unit's arrival to its stored result, to be met by 95 % of units; none where "
         "absent"}}},
      {"target",
       {{"instance", "text", "provider:type from the catalog, or local for the machine at hand"},
        {"option", "on-demand or spot", "how it is bought; on-demand where absent"},
        {"count", "integer from 1 to 10000",
         "machines of this kind working side by side; 1 where absent"},
        {"price", "price per hour",
         "of one machine, in place of the catalog's; without it local has no cost"}}},
      {"claim",
       {{"quantity", "time_to_result, time, speedup, cost or other", "what the figure is about"},
        {"from", "text", "the figure before, with its unit"},
        {"to", "text", "the figure after, with its unit"},
        {"source", "text", "where it was published"}}},
  };
  return all;
}

Scenario read_scenario(const std::string& file, const std::vector<std::string>& overrides,
                       const std::vector<WorkloadKeys>& workloads) {
  const auto document = read_document(file, overrides);
  const auto data = std::make_shared<Section::Data>(Section::Data{document, &document->root});
  const Key schema = keys_of("").front();
  Section(data, "", key_and_those_present(schema, document->root)).integer("schema", 1, 1);

  const Section top(data, "", keys_of(""));
  Scenario scenario;
  scenario.file = file;
  scenario.name = read_name(top);
  scenario.title = top.has("title") ? text_not_empty(top, "title") : scenario.name;
  scenario.workload = read_workload(top, document->root, workloads);
  scenario.workload_kind = scenario.workload->text("kind");
  if (const auto measure = top.table("measure", keys_of("measure")))
    scenario.measure = read_measure(*measure);
  if (const auto job = top.table("job", keys_of("job"))) scenario.job = read_job(*job);
  scenario.targets = read_targets(top);
  scenario.claims = read_claims(top);
  scenario.sha256 = hash_of(document->root, *scenario.workload, workloads);
  scenario.workload_sha256 =
      hash_of(*document->root["workload"].as_table(), *scenario.workload, workloads);
  return scenario;
}

} // namespace breakeven
