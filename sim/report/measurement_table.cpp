#include "sim/report/cells.h"

#include <cassert>

namespace breakeven {

namespace {

using Row = Measurement;
using namespace cells;

Access<Row, double> work(double Work::*field) { return member(&Row::work, field); }
Access<Row, std::string> environment(std::string Environment::*field) {
  return member(&Row::environment, field);
}

/// "name=value" pairs joined by spaces; names are the workload's own identifiers.
std::string counts_text(const Row& row) {
  std::string cell;
  for (const auto& [name, value] : row.work.counts) {
    assert(!name.empty() && name.find_first_of(" =") == std::string::npos);
    cell += (cell.empty() ? "" : " ") + name + "=" + csv_number(value);
  }
  return cell;
}

void read_counts(Row& row, const CsvRow& line, const std::string& column) {
  std::string cell = line.text(column);
  if (cell.empty()) return;
  cell += ' ';
  for (std::size_t at = 0; at < cell.size();) {
    const std::size_t end = cell.find(' ', at), equals = cell.find('=', at);
    const auto value = equals < end ? amount_in(cell.data() + equals + 1, cell.data() + end)
                                    : std::optional<double>();
    if (!value || equals == at) line.fail(column, "name=value pairs with a space between");
    row.work.counts.emplace_back(cell.substr(at, equals - at), *value);
    at = end + 1;
  }
}

Column<Row> counts_column() {
  return {"work_counts", "the workload's own counts in the slice, as name=value", Cell::text,
          counts_text, read_counts};
}

Column<Row> later(int addition, Column<Row> column) {
  column.later = addition;
  return column;
}

// Additions of columns since version 0.1.0.
constexpr int matrix_products = 1, all_reduces = 2;

std::vector<Column<Row>> make_table() {
  return {
      text<Row>("study", "the scenario's name", member(&Row::study)),
      text<Row>("title", "the scenario's title", member(&Row::title)),
      text<Row>("scenario_sha256", "hash of the scenario's effective keys and input files",
                member(&Row::scenario_sha256)),
      text<Row>("workload_sha256",
                "hash of the workload's keys and input files alone; rows are used again only where "
                "it is equal",
                member(&Row::workload_sha256)),
      text<Row>("workload", "kind of workload", member(&Row::workload)),
      text<Row>("unit", "what the job counts", member(&Row::unit)),
      integer<Row, std::int64_t>("job_units", "units in the whole job", member(&Row::job_units)),
      choice<Row, Path>("path",
                        "how the code ran: openmp, cuda, or host (the GPU side's source on the "
                        "CPU, for agreement and counts only)",
                        member(&Row::path),
                        {{Path::openmp, "openmp"}, {Path::cuda, "cuda"}, {Path::host, "host"}}),
      text<Row>(
          "phase",
          "the step that the row is about; total is the whole run, side by side several units at "
          "once, whose samples_s holds the wall time of them all",
          member(&Row::phase)),
      choice<Row, Processor>(
          "processor", "what the phase keeps busy on the machine it is meant for: cpu or gpu",
          member(&Row::processor), {{Processor::cpu, "cpu"}, {Processor::gpu, "gpu"}}),
      choice<Row, Scaling>("scaling", "whether CPU cores share the phase: serial or parallel",
                           member(&Row::scaling),
                           {{Scaling::serial, "serial"}, {Scaling::parallel, "parallel"}}),
      choice<Row, Repeats>("repeats", "per-job or per-unit", member(&Row::repeats),
                           {{Repeats::per_job, "per-job"}, {Repeats::per_unit, "per-unit"}}),
      text<Row>("slice", "the part of the job that was really run", member(&Row::slice)),
      integer<Row, int>("threads", "CPU threads", member(&Row::threads)),
      numbers<Row>("samples_s", "every warm run of the slice, end to end, in the order taken",
                   member(&Row::samples_s)),
      numbers<Row>("kernel_samples_s", "the same runs, computing only (no transfers)",
                   member(&Row::kernel_samples_s)),
      number<Row>("cold_s", "the very first run, of the smallest slice; not among the samples",
                  member(&Row::cold_s)),
      number<Row>("median_s", "median of samples_s", member(&Row::end_to_end_s, &Median::value)),
      number<Row>(
          "median_low_s",
          "lower end of its 99 % confidence interval (the smallest sample below eight samples)",
          member(&Row::end_to_end_s, &Median::low)),
      number<Row>("median_high_s", "upper end of that interval",
                  member(&Row::end_to_end_s, &Median::high)),
      text<Row>("stop_reason",
                "why sampling stopped: converged, time limit, whole job, interrupted, counting "
                "only, not verified, one run",
                member(&Row::stop_reason)),
      number<Row>("job_over_slice", "the whole job's counted work over the slice's",
                  member(&Row::job_over_slice)),
      number<Row>("job_s", "seconds for the whole job: median_s times job_over_slice",
                  member(&Row::job_s)),
      word<Row>("evidence", "how job_s is known: measured or extrapolated; empty: it is not",
                member(&Row::evidence), {"measured", "extrapolated", ""}),
      number<Row>("work_lane_instructions",
                  "instructions times the lanes that needed them, as if none diverged",
                  work(&Work::lane_instructions)),
      number<Row>("work_simt_efficiency", "useful lanes over issued lanes in groups of 32",
                  work(&Work::simt_efficiency), std::numeric_limits<double>::min(), 1),
      later(matrix_products,
            number<Row>("work_fp32_flops",
                        "FP32 operations of multiply-adds among the lane instructions, two each",
                        work(&Work::fp32_flops))),
      later(matrix_products,
            number<Row>("work_tensor_fp16_flops",
                        "operations of matrix products that tensor cores take in FP16; not among "
                        "the lane instructions",
                        work(&Work::tensor_fp16_flops))),
      later(matrix_products, number<Row>("work_tensor_tf32_flops", "the same in TF32",
                                         work(&Work::tensor_tf32_flops))),
      number<Row>("work_dram_bytes", "bytes streamed once", work(&Work::dram_bytes)),
      number<Row>("work_cached_bytes", "bytes read again and again", work(&Work::cached_bytes)),
      number<Row>("work_working_set_bytes", "distinct data that the cached bytes touch",
                  work(&Work::working_set_bytes)),
      number<Row>("work_dependent_accesses",
                  "accesses that wait for the one before, summed over lanes",
                  work(&Work::dependent_accesses)),
      number<Row>("work_atomics", "atomic operations", work(&Work::atomics)),
      number<Row>("work_launches", "kernel launches", work(&Work::launches)),
      number<Row>("work_host_to_device_bytes", "bytes copied to the GPU",
                  work(&Work::host_to_device_bytes)),
      number<Row>("work_device_to_host_bytes", "bytes copied back",
                  work(&Work::device_to_host_bytes)),
      later(all_reduces,
            number<Row>("work_all_reduces",
                        "how often all GPUs would add up partial results, were the phase divided "
                        "among several of one machine; 0: it cannot be",
                        work(&Work::all_reduces))),
      later(all_reduces, number<Row>("work_all_reduce_bytes",
                                     "payload of all these all-reduces together, for each GPU",
                                     work(&Work::all_reduce_bytes))),
      number<Row>("work_parallel_width", "independent lanes at once", work(&Work::parallel_width)),
      counts_column(),
      integer<Row, std::uint64_t>("checksum", "of the slice's result; equal for equal results",
                                  member(&Row::checksum)),
      boolean<Row>("verified",
                   "whether the path's result agreed with the reference; a row that is not "
                   "verified has no times",
                   member(&Row::verified)),
      text<Row>("verification", "figures of the agreement with the reference",
                member(&Row::verification)),
      text<Row>("cpu_model", "as the system names it", environment(&Environment::cpu_model)),
      text<Row>("isa", "widest vector instructions", environment(&Environment::isa)),
      integer<Row, int>("physical_cores", "as the system shows them",
                        member(&Row::environment, &Environment::physical_cores)),
      integer<Row, int>("logical_cpus", "as the system shows them",
                        member(&Row::environment, &Environment::logical_cpus)),
      number<Row>("clock_ghz", "one core's clock under load, measured; 0 unknown",
                  member(&Row::environment, &Environment::clock_ghz)),
      number<Row>("memory_gib", "main memory", member(&Row::environment, &Environment::memory_gib)),
      number<Row>("memory_read_gb_per_s", "read bandwidth of main memory, measured; 0 unknown",
                  member(&Row::environment, &Environment::memory_read_gb_per_s)),
      text<Row>("governor", "frequency governor, where it can be read",
                environment(&Environment::governor)),
      text<Row>("os", "operating system", environment(&Environment::os)),
      text<Row>("compiler", "compiler that built the program", environment(&Environment::compiler)),
      text<Row>("flags", "compiler flags it was built with", environment(&Environment::flags)),
      text<Row>("gpu", "GPU of this machine, if any", environment(&Environment::gpu)),
      text<Row>("gpu_driver", "driver of that GPU", environment(&Environment::gpu_driver)),
      text<Row>("version", "version of breakeven", environment(&Environment::version)),
      text<Row>("commit", "source commit that was built", environment(&Environment::commit)),
      date<Row>("measured_on", "date of the measurement", environment(&Environment::measured_on)),
  };
}

} // namespace

const std::vector<Column<Measurement>>& measurement_table() {
  static const std::vector<Column<Measurement>> table = make_table();
  return table;
}

} // namespace breakeven
