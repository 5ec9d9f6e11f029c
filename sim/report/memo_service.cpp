#include "sim/compare/side_by_side.h"
#include "sim/report/answer.h"
#include "sim/report/charts.h"
#include "sim/report/format.h"
#include "sim/report/memo_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::memo_sections {

namespace {

std::string percent_text(double share) {
  const double percent = 100 * share;
  return percent > 0 && percent < 1 ? "< 1 %" : fmt::format("{:.0f} %", percent);
}

std::string share_of(double part, double whole) {
  return whole > 0 ? percent_text(part / whole) : "-";
}

/// What a phase keeps busy on its machine.
std::string busy_text(const PhaseTime& phase) {
  if (phase.processor == Processor::gpu && phase.gpus_per_unit > 1)
    return fmt::format("{} GPUs", phase.gpus_per_unit);
  if (phase.processor == Processor::gpu) return phase.gpus > 1 ? "one GPU" : "the GPU";
  if (phase.scaling == Scaling::serial) return "one CPU core";
  return phase.cores > 1 ? fmt::format("all {} CPU cores", phase.cores) : "the CPU core";
}

std::string time_text(const Interval& seconds) {
  return seconds.likely > 0 ? duration_and_range(seconds) : "0 s";
}

Table timeline(const Phases& phases, const std::string& unit) {
  const Interval whole = sum_alone_s(phases, is_per_unit);
  Table table{
      {"phase", "keeps busy", "one " + unit, "share", "once a run", "how known", "bound by"}, {}};
  for (const PhaseTime& phase : phases) {
    const bool once = is_once_a_run(phase);
    table.rows.push_back({phase.phase, busy_text(phase), once ? "-" : time_text(phase.alone_s),
                          once ? "-" : share_of(phase.alone_s.likely, whole.likely),
                          once ? time_text(phase.alone_s) : "-", phase.evidence,
                          phase.bound_by.empty() ? "-" : phase.bound_by});
  }
  return table;
}

void add_timeline(Blocks& memo, const std::string& lead, const std::string& machine,
                  const Phases& phases, const std::string& unit) {
  memo.push_back(Paragraph{lead, fmt::format("One {} alone on {} takes {}.", unit, machine,
                                             time_text(sum_alone_s(phases, is_per_unit)))});
  memo.push_back(timeline(phases, unit));
}

/// What no GPU shortens, in one run on all machines: CPU phases and the cold start.
double run_floor_s(const Phases& phases) {
  double sum_s = 0;
  for (const PhaseTime& phase : phases)
    if (phase.processor == Processor::cpu || phase.evidence == "assumed")
      sum_s += phase.job_s.likely;
  return sum_s;
}

double run_s(const Phases& phases) {
  double sum_s = 0;
  for (const PhaseTime& phase : phases)
    sum_s += phase.job_s.likely;
  return sum_s;
}

std::string names_on_cpu(const Phases& phases) {
  std::string text;
  for (const PhaseTime& phase : phases)
    if (is_on_cpu_per_unit(phase))
      text += (text.empty() ? "" : ", ") + phase.phase + " " + duration_text(phase.alone_s.likely);
  return text;
}

std::string limit_text(double baseline_s, double floor) {
  if (!(floor > 0)) return "none";
  return baseline_s > 0 ? amount_text(baseline_s / floor) : "-";
}

std::string floor_sentence(const Comparison& row, const Phases& baseline, const Phases& phases) {
  const Interval unit_s = sum_alone_s(phases, is_per_unit);
  const Interval floor = sum_alone_s(phases, is_on_cpu_per_unit);
  const double baseline_s = sum_alone_s(baseline, is_per_unit).likely;
  if (!(floor.likely > 0))
    return fmt::format("No phase of a {} stays on the CPU of {}.", row.unit, candidate_name(row));
  std::string text = fmt::format(
      "On {} these phases stay on the CPU: {}. Together {}, or {} of the {} that one {} takes.",
      candidate_name(row), names_on_cpu(phases), time_text(floor),
      share_of(floor.likely, unit_s.likely), duration_text(unit_s.likely), row.unit);
  if (!(baseline_s > 0)) return text;
  const double limit = baseline_s / floor.likely;
  text += fmt::format(" The baseline takes {} for one {}, so there, however fast its GPU, ",
                      duration_text(baseline_s), row.unit);
  return text
         + (limit > 1 ? fmt::format("one {} is never more than {} times as fast (Amdahl's law).",
                                    row.unit, amount_text(limit))
                      : fmt::format("one {} is never faster than on the baseline.", row.unit));
}

std::string fixed_sentence(const Comparison& row, const Phases& phases) {
  std::string text;
  for (const PhaseTime& phase : phases)
    if (is_once_a_run(phase))
      text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", phase.phase,
                          time_text(phase.alone_s), phase.evidence);
  return text.empty() ? "Nothing is paid once a run."
                      : "Whatever the size of the job, " + candidate_name(row)
                            + " pays once a run: " + text + ".";
}

/// The floor of every GPU candidate.
Table floors(const Rows& rows, const Phases& phases) {
  const std::string unit = rows.front().unit;
  const Phases baseline = phases_of_baseline(phases);
  const double baseline_unit_s = sum_alone_s(baseline, is_per_unit).likely;
  Table table{{"machine", "one " + unit, "of it on the CPU", "share",
               "limit of the speed-up, one " + unit, "limit, whole run", "cold start"},
              {}};
  for (const Comparison* row : gpu_candidates(rows, phases)) {
    const Phases own = phases_of_candidate(*row, phases);
    const Interval unit_s = sum_alone_s(own, is_per_unit);
    const Interval floor = sum_alone_s(own, is_on_cpu_per_unit);
    table.rows.push_back({candidate_name(*row), time_text(unit_s), time_text(floor),
                          share_of(floor.likely, unit_s.likely),
                          limit_text(baseline_unit_s, floor.likely),
                          limit_text(run_s(baseline), run_floor_s(own)),
                          or_dash(row->candidate_cold_s, duration_text)});
  }
  return table;
}

/// The candidate that the answer is about if it has a GPU, else the first with one.
const Comparison* shown_gpu_candidate(const Rows& rows, const Phases& phases) {
  const std::vector<const Comparison*> all = gpu_candidates(rows, phases);
  if (const Comparison* row = foremost(rows))
    if (std::find(all.begin(), all.end(), row) != all.end()) return row;
  return all.empty() ? nullptr : all.front();
}

// ---- throughput ----

std::string turnaround_text(const Throughput& service) {
  if (service.turnaround == turnaround_unbounded) return service.turnaround;
  if (!service.turnaround_p95_s) return "-";
  return fmt::format("{} ({} to {})", duration_text(*service.turnaround_p95_s),
                     or_dash(service.turnaround_p95_low_s, duration_text),
                     service.turnaround_p95_high_s ? duration_text(*service.turnaround_p95_high_s)
                                                   : "unbounded");
}

std::string in_time_text(const Throughput& service, const std::optional<double>& deadline_s) {
  if (!deadline_s || !service.capacity_units_per_day) return "-";
  if (!service.turnaround_p95_s || *service.turnaround_p95_low_s > *deadline_s) return "no";
  if (*service.turnaround_p95_s > *deadline_s) return "likely not";
  if (!service.turnaround_p95_high_s || *service.turnaround_p95_high_s > *deadline_s)
    return "likely";
  return "yes";
}

std::vector<std::string> service_cells(const std::string& machine, const std::string& evidence,
                                       const Throughput& service,
                                       const std::optional<double>& deadline_s) {
  return {machine,
          service.capacity_units_per_day && !evidence.empty() ? evidence : "not known",
          or_dash(service.capacity_units_per_day, amount_and_range),
          or_dash(service.utilisation, percent_text),
          or_dash(service.turnaround_p50_s, duration_text),
          turnaround_text(service),
          in_time_text(service, deadline_s),
          service.bottleneck.empty() ? "-" : service.bottleneck,
          or_dash(service.capacity_without_gpu_time, amount_text)};
}

std::string arrivals_words(const std::string& arrivals) {
  if (arrivals == to_string(Arrivals::even)) return "one after the other at equal distances";
  if (arrivals == to_string(Arrivals::working_hours))
    return "independently, 80 % of them from 8:00 to 18:00 (an assumed profile)";
  if (arrivals == to_string(Arrivals::night_batch)) return "all at one moment, once a day";
  return "independently, at one rate all day and night (Poisson)";
}

std::string threads_text(const SideBySideCheck& check) {
  if (check.gpu_feeders > 0)
    return fmt::format("with {} that decode and store and {} that feed the GPU",
                       units_text(check.cpu_threads, "CPU thread"), count_text(check.gpu_feeders));
  return "on " + units_text(check.cpu_threads, "CPU thread")
         + (check.cpu_threads < check.threads ? fmt::format(" of {}", check.threads) : "");
}

/// Of so many units in that time.
std::string rate_text(const SideBySideCheck& check, double seconds) {
  return amount_text(check.units * 86400 / seconds) + " a day";
}

std::string check_text(const SideBySideCheck& check, const std::string& unit) {
  if (!check.verified)
    return fmt::format("On the {} path {} were run side by side, but not verified, so they have no "
                       "time: {}.",
                       to_string(check.path), check.slice, check.verification);
  const std::string parts =
      fmt::format(" All three are of parts of a {}; the table is of whole ones.", unit);
  return fmt::format(
      "On the {} path {}, side by side {}, took {} (measured, one run), or {}. One after the other "
      "they take {} (measured, median), or {}; {} of that are their phases, from which the queue "
      "model has the last one done after {} (modelled), or {}.{}",
      to_string(check.path), check.slice, threads_text(check), duration_text(check.wall_s),
      rate_text(check, check.wall_s), duration_text(check.one_after_the_other_s),
      rate_text(check, check.one_after_the_other_s), duration_text(check.phases_s),
      duration_text(check.by_queues_s), rate_text(check, check.by_queues_s),
      check.whole_units ? "" : parts);
}

/// What was run side by side here, beside the model.
void add_checks(Blocks& memo, const std::string& unit, const Measured& measured) {
  const std::vector<SideBySideCheck> checks = side_by_side_checks(measured);
  for (const SideBySideCheck& check : checks)
    memo.push_back(Paragraph{"Checked here.", check_text(check, unit)});
  if (checks.empty())
    memo.push_back(
        Paragraph{"Not checked here.",
                  fmt::format("No {}s were run side by side to hold the queues against.", unit)});
}

} // namespace

void add_gpu_limits(Blocks& memo, const Rows& rows, const Phases& phases) {
  memo.push_back(Heading{2, "Where the GPU does not help"});
  if (phases.empty()) {
    memo.push_back(Paragraph{"", "The times of single phases are not in this result folder (it has "
                                 "no phases.csv, or no machine has a time). Comparing anew from "
                                 "its measurements.csv writes them."});
    return;
  }
  const Phases baseline = phases_of_baseline(phases);
  if (!baseline.empty())
    add_timeline(memo, "Baseline.", baseline_name(rows.front()), baseline, rows.front().unit);
  if (const Comparison* row = shown_gpu_candidate(rows, phases)) {
    const Phases own = phases_of_candidate(*row, phases);
    add_timeline(memo, "GPU.", candidate_name(*row) + " (" + row->candidate_device + ")", own,
                 row->unit);
    memo.push_back(Paragraph{"What stays on the CPU.", floor_sentence(*row, baseline, own)});
    memo.push_back(Paragraph{"What is paid once.", fixed_sentence(*row, own)});
    memo.push_back(floors(rows, phases));
    memo.push_back(Paragraph{
        "", "The limit is the baseline's likely time over the candidate's likely CPU time, as if "
            "its GPUs took none; for a whole run phases that happen once and the cold start count "
            "too. Copies to and from the GPU are in the GPU's phases."});
  } else {
    memo.push_back(Paragraph{"", "No candidate with a GPU has a time."});
  }
  memo.push_back(Chart{"charts/phases.svg",
                       "Where one " + rows.front().unit
                           + "'s time goes: each phase's share, with the likely time of the whole "
                             "at the right. Brown phases run on the CPU, blue ones on the GPU.",
                       phase_chart(rows, phases)});
}

void add_throughput(Blocks& memo, const Rows& rows, const Measured& measured) {
  const Comparison& first = rows.front();
  if (!first.units_per_day) return;
  memo.push_back(Heading{2, "Throughput"});
  memo.push_back(Paragraph{
      "Question.",
      fmt::format("A steady service: {} a day arrive, {}{}. How many can each machine take, and "
                  "how long is one of them under way?",
                  units_text(*first.units_per_day, first.unit), arrivals_words(first.arrivals),
                  first.turnaround_deadline_s ? ", and 95 % of them must be done within "
                                                    + stated_duration(*first.turnaround_deadline_s)
                                              : "")});
  Table table{{"machine", "how known", "capacity a day", "utilisation", "turnaround, half",
               "turnaround, 95 %", "in time", "bottleneck", "capacity if GPUs took no time"},
              {service_cells(baseline_name(first) + " (baseline)", first.baseline_evidence,
                             first.baseline_throughput, first.turnaround_deadline_s)}};
  for (const Comparison& row : rows)
    table.rows.push_back(service_cells(candidate_name(row), row.candidate_evidence,
                                       row.candidate_throughput, row.turnaround_deadline_s));
  memo.push_back(table);
  add_checks(memo, first.unit, measured);
  memo.push_back(Paragraph{
      "How to read it.",
      "Each machine is a line of stations: phases on one core take a core of the pool, phases on "
      "all cores take what those leave, GPU phases take one GPU; the stations work at the same "
      "time on different units, first come, first served. Capacity is what the slowest station "
      "takes in 24 hours, with its 10-90 % range. Turnaround, from arrival to the stored result, "
      "comes from a simulation of the queues with a fixed seed, at likely times; in brackets the "
      "95 % point where every phase takes its 10 % or its 90 % time. Unbounded: the queue grows "
      "for ever. Not modelled: loading and cold start (the service is up), room for waiting units, "
      "failures, the network to the service, and its price, which the costs of single runs above "
      "do not contain. The model gives a CPU machine's cores all to one unit at a time; several "
      "side "
      "by side would win back what its phases lose by not scaling perfectly (about 10 % on 64 "
      "cores)."});
}

} // namespace breakeven::memo_sections
