#include "sim/report/answer.h"
#include "sim/report/chart_layout.h"
#include "sim/report/charts.h"
#include "sim/report/format.h"
#include "sim/report/gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace breakeven {

namespace {

constexpr int bar_distance = 30;
constexpr double bar_half_height = 10; ///< pixels
constexpr int key_line = 20;
constexpr int widest_name = 32, widest_phase = 24; ///< characters
constexpr std::size_t most_bars = 16;

struct Shade {
  const char *fill, *ink;
};
constexpr Shade cpu_shades[] = {{"#b4552d", "#ffffff"}, {"#e0a98f", "#222222"},
                                {"#7d3617", "#ffffff"}, {"#cf7f5b", "#222222"},
                                {"#8f6a1f", "#ffffff"}, {"#e6cf9a", "#222222"}};
constexpr Shade gpu_shades[] = {
    {"#1f6f8b", "#ffffff"}, {"#9cc7d6", "#222222"}, {"#134759", "#ffffff"}, {"#5fa3ba", "#222222"},
    {"#2c7f68", "#ffffff"}, {"#b3d9cf", "#222222"}, {"#2f4b8f", "#ffffff"}, {"#a9b7dd", "#222222"}};

struct Bar {
  std::string name;
  Phases phases; ///< per unit
  Interval unit_s;
};

Bar bar_of(const std::string& name, const Phases& phases) {
  Bar bar{fitted(name, widest_name), {}, sum_alone_s(phases, is_per_unit)};
  std::copy_if(phases.begin(), phases.end(), std::back_inserter(bar.phases), is_per_unit);
  return bar;
}

bool same_times(const Bar& a, const Bar& b) {
  return std::equal(a.phases.begin(), a.phases.end(), b.phases.begin(), b.phases.end(),
                    [](const PhaseTime& x, const PhaseTime& y) {
                      return x.instance == y.instance && x.phase == y.phase
                             && x.alone_s.likely == y.alone_s.likely;
                    });
}

/// One machine bought in two ways, or several of it, needs the same time for a unit: one bar.
std::vector<Bar> bars_of(const std::vector<Comparison>& rows, const Phases& phases) {
  std::vector<Bar> bars;
  const auto add = [&](const Bar& bar) {
    const bool known = std::any_of(bars.begin(), bars.end(),
                                   [&](const Bar& other) { return same_times(bar, other); });
    if (bar.unit_s.likely > 0 && !known && bars.size() < most_bars) bars.push_back(bar);
  };
  add(bar_of(rows.front().baseline_instance + " (baseline)", phases_of_baseline(phases)));
  for (const Comparison* row : gpu_candidates(rows, phases))
    add(bar_of(row->candidate_instance, phases_of_candidate(*row, phases)));
  return bars;
}

/// A colour for each phase of each processor, in the order of appearance.
class Palette {
public:
  explicit Palette(const std::vector<Bar>& bars) {
    for (const Bar& bar : bars)
      for (const PhaseTime& phase : bar.phases)
        if (std::none_of(known_.begin(), known_.end(), [&](const Entry& entry) {
              return entry.phase == phase.phase && entry.processor == phase.processor;
            }))
          known_.push_back({phase.phase, phase.processor, next_shade(phase.processor)});
  }
  const Shade& of(const PhaseTime& phase) const {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Entry& entry) {
      return entry.phase == phase.phase && entry.processor == phase.processor;
    });
    return *found->shade;
  }
  struct Entry {
    std::string phase;
    Processor processor;
    const Shade* shade;
  };
  const std::vector<Entry>& entries() const { return known_; }

private:
  const Shade* next_shade(Processor processor) {
    return processor == Processor::cpu ? &cpu_shades[cpu_++ % std::size(cpu_shades)]
                                       : &gpu_shades[gpu_++ % std::size(gpu_shades)];
  }
  std::vector<Entry> known_;
  std::size_t cpu_ = 0, gpu_ = 0;
};

std::string box_at(const Layout& layout, const Box& box, const char* fill) {
  return fmt::format("set object rectangle from screen {:.4f},{:.4f} to screen {:.4f},{:.4f} "
                     "fillcolor rgb '{}' fillstyle solid 1 border rgb 'white'\n",
                     box.left / chart_width, box.bottom / layout.height, box.right / chart_width,
                     box.top / layout.height, fill);
}

struct KeyItem {
  std::string text;
  const Shade* shade;
  double x;
  int line;
};

std::vector<KeyItem> key_of(const Palette& palette) {
  std::vector<KeyItem> items;
  double x = 16;
  int line = 0;
  for (const Palette::Entry& entry : palette.entries()) {
    const std::string text = fitted(entry.phase, widest_phase)
                             + (entry.processor == Processor::cpu ? " (CPU)" : " (GPU)");
    const double width = text_width(text, chart_font_size) + 34;
    if (x + width > chart_width && x > 16) x = 16, ++line;
    items.push_back({text, entry.shade, x, line});
    x += width;
  }
  return items;
}

std::string key_commands(const std::vector<KeyItem>& items, const Layout& layout) {
  std::string text;
  for (const KeyItem& item : items) {
    const double y = layout.height - 16.0 - item.line * key_line;
    text += box_at(layout, {item.x, y - 5, item.x + 12, y + 5}, item.shade->fill);
    text +=
        text_at(layout, item.x + 17, y, item.text, "left font ',11' textcolor rgb '#333333' front");
  }
  return text;
}

std::string bar_commands(const Bar& bar, double y, const Palette& palette, const Layout& layout) {
  const Box& frame = layout.frame;
  std::string text = text_at(layout, frame.left - 10, y, bar.name, "right font ',11'");
  text += text_at(layout, frame.right + 8, y, duration_text(bar.unit_s.likely),
                  "left font ',11' textcolor rgb '#333333'");
  double x = frame.left;
  for (const PhaseTime& phase : bar.phases) {
    const double wide = (frame.right - frame.left) * phase.alone_s.likely / bar.unit_s.likely;
    const Shade& shade = palette.of(phase);
    text += box_at(layout, {x, y - bar_half_height, x + wide, y + bar_half_height}, shade.fill);
    const std::string name = fitted(phase.phase, widest_phase);
    if (text_width(name, 10) + 6 < wide)
      text += text_at(layout, x + wide / 2, y, name,
                      fmt::format("center font ',10' textcolor rgb '{}' front", shade.ink));
    x += wide;
  }
  return text;
}

} // namespace

std::string phase_chart(const std::vector<Comparison>& rows, const std::vector<PhaseTime>& phases) {
  const std::vector<Bar> bars = bars_of(rows, phases);
  if (bars.empty()) return empty_chart("No machine has the times of its phases.");
  const Palette palette(bars);
  const std::vector<KeyItem> key = key_of(palette);
  double names = 0;
  for (const Bar& bar : bars)
    names = std::max(names, text_width(bar.name, chart_font_size));
  const double above = 24.0 + key_line * (key.empty() ? 1 : key.back().line + 1);
  Layout layout;
  layout.height = static_cast<int>(above) + 54 + bar_distance * static_cast<int>(bars.size());
  layout.frame = {names + 20, 50, chart_width - 76.0, layout.height - above};
  std::string script =
      layout_commands(layout)
      + "set border 1 lc rgb '#777777'\nset tics nomirror textcolor rgb '#333333' scale 0.5\n"
        "unset key\nunset ytics\nset xrange [0:100]\nset yrange [0:1]\n"
        "set format x '%g %%'\nset xtics 25\n"
        "set xlabel 'share of the time of one unit that has the machine to itself' "
        "offset 0,0.3\n"
      + key_commands(key, layout);
  for (std::size_t i = 0; i < bars.size(); ++i)
    script += bar_commands(
        bars[i], layout.frame.top - bar_distance * (static_cast<double>(i) + 0.5), palette, layout);
  return svg_from_gnuplot("phases", fmt::format("{},{}", chart_width, layout.height),
                          script + "plot -1 notitle\n");
}

} // namespace breakeven
