// What a person and a script see: measurements.csv, comparison.csv, phases.csv, machine.txt, the
// terminal table and the memo (Markdown and self-contained HTML with charts); of a sweep sweep.csv,
// its terminal table and sweep.md and sweep.html. Takes rows, gives
// files; reads the CSV back, and the memo is made from what was read, so a replay gives the same
// bytes. Leaves out: any number that is not in the rows.
#pragma once

#include "sim/compare/comparison.h"
#include "sim/compare/crossover.h"
#include "sim/compare/phase_times.h"

#include <filesystem>
#include <string>
#include <vector>

namespace breakeven {

std::string measurements_csv(const std::vector<Measurement>& rows);
std::string comparison_csv(const std::vector<Comparison>& rows);
std::vector<Measurement> read_measurements(const std::filesystem::path& file);
std::vector<Comparison> read_comparison(const std::filesystem::path& file);

/// A missing file gives no rows: older result folders have none. BadInput where it belongs to
/// another scenario than `rows`.
std::string phases_csv(const std::vector<PhaseTime>& rows);
std::vector<PhaseTime> read_phases(const std::filesystem::path& file,
                                   const std::vector<Comparison>& rows);

/// A row for each size and candidate, sizes ascending. BadInput where they do not, or where the
/// rows are of several keys.
std::string sweep_csv(const std::vector<SizeRow>& rows);
std::vector<SizeRow> read_sweep(const std::filesystem::path& file);

/// Name, unit and meaning of every column, for results/README.md.
struct ColumnDoc {
  std::string name, meaning;
};
std::vector<ColumnDoc> measurement_columns();
std::vector<ColumnDoc> comparison_columns();
std::vector<ColumnDoc> phase_columns();
std::vector<ColumnDoc> sweep_columns();

/// The verdict and the table, at most `width` columns wide (>= 80). No colour codes.
std::string terminal_table(const std::vector<Comparison>& rows,
                           const std::vector<Measurement>& measurements, int width);
std::string comparison_json(const std::vector<Comparison>& rows);

/// Each candidate's crossovers and its table over all sizes, likewise.
std::string sweep_table(const std::vector<SizeRow>& rows, int width);
/// {"crossovers": a candidate each, "rows": as sweep.csv}.
std::string sweep_json(const std::vector<SizeRow>& rows);

/// One file of a result folder.
struct ResultFile {
  std::string name; ///< relative to the folder: "memo.md", "charts/time.svg"
  std::string bytes;
};
/// memo.md, memo.html and the charts, from the rows alone. Charts are drawn by gnuplot; Failure
/// where it is missing.
std::vector<ResultFile> memo(const std::vector<Comparison>& rows,
                             const std::vector<Measurement>& measurements,
                             const std::vector<PhaseTime>& phases);
/// sweep.md, sweep.html and their charts, likewise from the rows alone.
std::vector<ResultFile> sweep_document(const std::vector<SizeRow>& rows);
std::string machine_text(const std::vector<Measurement>& measurements);

/// Writes all files or none: each under a temporary name first, then renamed. Failure with the
/// system's text when the disk is full or the folder cannot be written; earlier results stay.
void write_results(const std::filesystem::path& folder, const std::vector<ResultFile>& files);

} // namespace breakeven
