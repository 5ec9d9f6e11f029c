#include "sim/report/answer.h"
#include "sim/report/memo_sections.h"
#include "sim/report/report.h"

namespace breakeven {

std::vector<ResultFile> memo(const std::vector<Comparison>& unordered,
                             const std::vector<Measurement>& measured,
                             const std::vector<PhaseTime>& phases) {
  if (unordered.empty())
    return {{"memo.md", "There are no candidates.\n"},
            {"memo.html", html("No candidates", {Paragraph{"", "There are no candidates."}})}};
  using namespace memo_sections;
  const Rows rows = in_order(unordered);
  Blocks blocks;
  add_question(blocks, rows);
  add_answer(blocks, rows);
  add_decision_table(blocks, rows);
  add_charts(blocks, rows);
  add_reasons(blocks, rows);
  add_break_even(blocks, rows);
  add_gpu_limits(blocks, rows, phases);
  add_throughput(blocks, rows, measured);
  add_measured(blocks, measured);
  add_projection(blocks, rows);
  add_prices(blocks, rows);
  add_sensitivity(blocks, rows);
  add_left_out(blocks, rows);
  add_reproduction(blocks, rows, measured);

  std::vector<ResultFile> files{{"memo.md", markdown(blocks)},
                                {"memo.html", html(rows.front().title, blocks)}};
  for (const Block& block : blocks)
    if (const Chart* chart = std::get_if<Chart>(&block)) files.push_back({chart->file, chart->svg});
  return files;
}

} // namespace breakeven
