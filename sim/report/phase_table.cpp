#include "sim/report/intervals.h"

namespace breakeven {

namespace {

using Row = PhaseTime;
using namespace cells;

std::vector<Column<Row>> make_table() {
  std::vector<Column<Row>> table = {
      text<Row>("study", "the scenario's name", member(&Row::study)),
      text<Row>("scenario_sha256", "hash of the scenario's effective keys and input files",
                member(&Row::scenario_sha256)),
      text<Row>("unit", "what the job counts", member(&Row::unit)),
      boolean<Row>("is_baseline", "whether the row is about the baseline or a candidate",
                   member(&Row::is_baseline)),
      text<Row>("instance", "the machine", member(&Row::instance)),
      text<Row>("option", "how it is bought: on-demand or spot", member(&Row::option)),
      integer<Row, int>("count", "machines side by side", member(&Row::count)),
      word<Row>("path", "how the code runs there: openmp, cuda or host", member(&Row::path),
                {"openmp", "cuda", "host"}),
      text<Row>("device", "what does the machine's work", member(&Row::device)),
      integer<Row, int>("cores", "CPU cores of one machine", member(&Row::cores)),
      integer<Row, int>("gpus", "GPUs of one machine", member(&Row::gpus)),
      text<Row>("phase", "the step, in the order in which a unit meets them", member(&Row::phase)),
      choice<Row, Processor>("processor", "what the phase keeps busy: cpu or gpu",
                             member(&Row::processor),
                             {{Processor::cpu, "cpu"}, {Processor::gpu, "gpu"}}),
      choice<Row, Scaling>(
          "scaling", "of a phase on the CPU: serial keeps one core busy, parallel all of them",
          member(&Row::scaling), {{Scaling::serial, "serial"}, {Scaling::parallel, "parallel"}}),
      choice<Row, Repeats>("repeats", "per-job or per-unit", member(&Row::repeats),
                           {{Repeats::per_job, "per-job"}, {Repeats::per_unit, "per-unit"}}),
      word<Row>("evidence", "how the time is known: measured, extrapolated, projected or assumed",
                member(&Row::evidence), {"measured", "extrapolated", "projected", "assumed"}),
  };
  const auto append = [&](std::vector<Column<Row>> more) {
    table.insert(table.end(), more.begin(), more.end());
  };
  append(interval<Row>("alone_", "_s",
                       "one unit (per-job: the job) with nothing else on the machine, with "
                       "transfers",
                       &Row::alone_s));
  append(interval<Row>("job_", "_s", "the phase's part of the whole job on all machines",
                       &Row::job_s));
  table.push_back(integer<Row, int>(
      "gpus_per_unit",
      "GPUs that one unit alone on the machine is divided among in this phase; 1: it is not",
      member(&Row::gpus_per_unit)));
  table.back().later = 1;
  table.push_back(text<Row>("bound_by", "what limits it", member(&Row::bound_by)));
  return table;
}

} // namespace

const std::vector<Column<PhaseTime>>& phase_table() {
  static const std::vector<Column<PhaseTime>> table = make_table();
  return table;
}

} // namespace breakeven
