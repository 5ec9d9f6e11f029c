#include "workloads/imaging/montage.h"

#include "sim/errors.h"
#include "workloads/imaging/intensity.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace breakeven::imaging {

namespace {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};
constexpr Colour ink{235, 235, 235}, frame{70, 70, 70};

// Twelve that are told apart on grey and on each other.
constexpr std::array<Colour, 12> label_colours{{{230, 60, 60},
                                                {60, 190, 80},
                                                {70, 130, 255},
                                                {250, 200, 40},
                                                {210, 80, 230},
                                                {40, 200, 220},
                                                {255, 130, 30},
                                                {150, 220, 60},
                                                {255, 130, 180},
                                                {120, 100, 240},
                                                {30, 160, 140},
                                                {190, 140, 90}}};
constexpr int label_tint_percent = 30; // enough to see, not to hide what is below

Colour colour_of(std::uint32_t label) { return label_colours[(label - 1) % label_colours.size()]; }

class Canvas {
public:
  Canvas(int width, int height)
      : width_(width),
        height_(height),
        pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}
  int width() const { return width_; }
  int height() const { return height_; }
  const Colour* data() const { return pixels_.data(); }
  void set(int x, int y, Colour colour) {
    if (x >= 0 && x < width_ && y >= 0 && y < height_)
      pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_)
              + static_cast<std::size_t>(x)] = colour;
  }
  void fill(int x, int y, int width, int height, Colour colour) {
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i)
        set(x + i, y + j, colour);
  }

private:
  int width_, height_;
  std::vector<Colour> pixels_;
};

// ---- letters ----

constexpr int glyph_width = 5, glyph_height = 7, pen = 2;

struct Glyph {
  char letter;
  std::array<std::uint8_t, glyph_height> rows; ///< the leftmost pixel is bit 4
};
constexpr std::array<Glyph, 10> glyphs{{{'R', {0x1E, 0x11, 0x11, 0x1E, 0x14, 0x12, 0x11}},
                                        {'L', {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1F}},
                                        {'A', {0x0E, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11}},
                                        {'P', {0x1E, 0x11, 0x11, 0x1E, 0x10, 0x10, 0x10}},
                                        {'H', {0x11, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11}},
                                        {'F', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x10}},
                                        {'1', {0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E}},
                                        {'5', {0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E}},
                                        {'c', {0x00, 0x00, 0x0E, 0x10, 0x10, 0x11, 0x0E}},
                                        {'m', {0x00, 0x00, 0x1A, 0x15, 0x15, 0x15, 0x15}}}};

int text_width(std::string_view text) {
  return pen * ((glyph_width + 1) * static_cast<int>(text.size()) - 1);
}

/// A letter that has no glyph is a gap.
void write_text(Canvas& canvas, int x, int y, std::string_view text) {
  for (const char letter : text) {
    for (const Glyph& glyph : glyphs)
      for (int j = 0; glyph.letter == letter && j < glyph_height; ++j)
        for (int i = 0; i < glyph_width; ++i)
          if (glyph.rows[static_cast<std::size_t>(j)] >> (glyph_width - 1 - i) & 1)
            canvas.fill(x + pen * i, y + pen * j, pen, pen, ink);
    x += pen * (glyph_width + 1);
  }
}

// ---- which way the scan lies ----

/// One of the patient's directions as an axis of the voxels.
struct Axis {
  std::size_t voxel_axis = 0;
  bool forward = true; ///< index grows to the right, the front or the head
};

/// The assignment of voxel axes to right, front and head that agrees best with the directions.
std::array<Axis, 3> patient_axes(const Geometry& geometry) {
  const std::array<double, 3> spacing = geometry.spacing_mm();
  std::array<std::size_t, 3> order{0, 1, 2}, best = order;
  double most = -1;
  do {
    double agreement = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      agreement += std::fabs(geometry.to_ras_mm[axis][order[axis]] / spacing[order[axis]]);
    if (agreement > most) {
      most = agreement;
      best = order;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  std::array<Axis, 3> axes;
  for (std::size_t axis = 0; axis < 3; ++axis)
    axes[axis] = {best[axis], geometry.to_ras_mm[axis][best[axis]] >= 0};
  return axes;
}

std::array<std::int64_t, 3> sides_of(const Extent& extent) {
  return {extent.x, extent.y, extent.z};
}

// ---- which slices ----

template <class Each> // each(label, x, y, z, length) of every run of a label along x
void for_runs(View<const std::uint32_t> labels, Each each) {
  const Extent& extent = labels.extent;
  const std::uint32_t* row = labels.data;
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y, row += extent.x)
      for (std::int64_t x = 0; x < extent.x;) {
        std::int64_t end = x + 1;
        while (end < extent.x && row[end] == row[x])
          ++end;
        if (row[x] != 0) each(row[x], x, y, z, end - x);
        x = end;
      }
}

/// 0 where there is none.
std::uint32_t largest_label(View<const std::uint32_t> labels) {
  std::vector<std::int64_t> voxels(1);
  for_runs(labels,
           [&](std::uint32_t label, std::int64_t, std::int64_t, std::int64_t, std::int64_t length) {
             if (label >= voxels.size()) voxels.resize(std::size_t{label} + 1);
             voxels[label] += length;
           });
  return static_cast<std::uint32_t>(std::max_element(voxels.begin(), voxels.end())
                                    - voxels.begin());
}

/// The slice across each voxel axis that holds most of the largest label, or else the middle one.
std::array<std::int64_t, 3> slices_to_show(View<const std::uint32_t> labels, const Extent& extent) {
  const std::array<std::int64_t, 3> sides = sides_of(extent);
  const std::uint32_t shown = labels.data == nullptr ? 0 : largest_label(labels);
  if (shown == 0) return {sides[0] / 2, sides[1] / 2, sides[2] / 2};
  std::array<std::vector<std::int64_t>, 3> area;
  for (std::size_t axis = 0; axis < 3; ++axis)
    area[axis].resize(static_cast<std::size_t>(sides[axis]));
  for_runs(labels, [&](std::uint32_t label, std::int64_t x, std::int64_t y, std::int64_t z,
                       std::int64_t length) {
    if (label != shown) return;
    for (std::int64_t i = x; i < x + length; ++i)
      ++area[0][static_cast<std::size_t>(i)];
    area[1][static_cast<std::size_t>(y)] += length;
    area[2][static_cast<std::size_t>(z)] += length;
  });
  std::array<std::int64_t, 3> slices{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    slices[axis] = std::max_element(area[axis].begin(), area[axis].end()) - area[axis].begin();
  return slices;
}

// ---- a slice ----

/// A plane of the volume as seen: `across` runs along the picture's rows, `down` along its columns.
struct Panel {
  std::size_t across = 0, down = 0, through = 0; ///< voxel axes
  bool across_forward = true, down_forward = true;
  std::int64_t slice = 0;
  int width = 1, height = 1; ///< pixels
  char left, right, top, bottom;
};

/// Voxels beside a pixel along one axis, and how far it is from the first to the second.
struct Between {
  std::int64_t lower, upper;
  float weight;
  std::int64_t nearest() const { return weight > 0.5f ? upper : lower; }
};

Between voxels_at(int pixel, int pixels, std::int64_t voxels, bool forward) {
  const double at = (pixel + 0.5) * static_cast<double>(voxels) / pixels - 0.5;
  const double clamped = std::clamp(at, 0.0, static_cast<double>(voxels - 1));
  const auto lower = static_cast<std::int64_t>(clamped);
  const std::int64_t upper = std::min(lower + 1, voxels - 1);
  const auto weight = static_cast<float>(clamped - static_cast<double>(lower));
  if (forward) return {lower, upper, weight};
  return {voxels - 1 - lower, voxels - 1 - upper, weight};
}

std::uint8_t grey_of(float hu, const Window& window) {
  const float share = (hu - window.level_hu) / window.width_hu + 0.5f;
  if (!(share > 0)) return 0; // also NaN
  return static_cast<std::uint8_t>(255 * std::min(share, 1.0f) + 0.5f);
}

Colour tinted(std::uint8_t grey, Colour tint) {
  const auto mixed = [grey](std::uint8_t channel) {
    return static_cast<std::uint8_t>(
        (grey * (100 - label_tint_percent) + channel * label_tint_percent) / 100);
  };
  return {mixed(tint.red), mixed(tint.green), mixed(tint.blue)};
}

class PanelPainter {
public:
  PanelPainter(const Panel& panel, const CtImage& image)
      : panel_(panel),
        image_(image),
        padding_(padding_of(image)),
        stride_{1, image.geometry.extent.x, image.geometry.extent.slice()} {
    const Extent& extent = image.geometry.extent;
    const std::array<std::int64_t, 3> sides = sides_of(extent);
    for (int x = 0; x < panel.width; ++x)
      columns_.push_back(voxels_at(x, panel.width, sides[panel.across], panel.across_forward));
    for (int y = 0; y < panel.height; ++y)
      rows_.push_back(voxels_at(y, panel.height, sides[panel.down], panel.down_forward));
  }

  void paint(Canvas& canvas, int left, int top, View<const std::uint32_t> labels,
             const Window& window) const {
    for (int y = 0; y < panel_.height; ++y)
      for (int x = 0; x < panel_.width; ++x) {
        const std::uint8_t grey = grey_of(sample(x, y), window);
        Colour colour{grey, grey, grey};
        if (const std::uint32_t label = label_at(labels, x, y); label != 0)
          colour = on_edge(labels, x, y, label) ? colour_of(label) : tinted(grey, colour_of(label));
        canvas.set(left + x, top + y, colour);
      }
  }

private:
  std::int64_t index(std::int64_t across, std::int64_t down) const {
    return across * stride_[panel_.across] + down * stride_[panel_.down]
           + panel_.slice * stride_[panel_.through];
  }
  /// The few voxels that are shown are rescaled here; no volume of HU is kept for that.
  float hu_at(std::int64_t voxel) const {
    const auto i = static_cast<std::size_t>(voxel);
    const Rescale& line = image_.rescale[i / static_cast<std::size_t>(stride_[2])];
    const float stored =
        image_.stored.empty() ? image_.float_stored[i] : static_cast<float>(image_.stored[i]);
    return hounsfield(stored, line.slope, line.intercept, padding_);
  }
  float sample(int x, int y) const {
    const Between& column = columns_[static_cast<std::size_t>(x)];
    const Between& row = rows_[static_cast<std::size_t>(y)];
    const auto along = [&](std::int64_t down) {
      const float a = hu_at(index(column.lower, down)), b = hu_at(index(column.upper, down));
      return a + column.weight * (b - a);
    };
    const float above = along(row.lower);
    return above + row.weight * (along(row.upper) - above);
  }
  /// 0 outside the picture too, so that a label that reaches its border is closed there.
  std::uint32_t label_at(View<const std::uint32_t> labels, int x, int y) const {
    if (labels.data == nullptr || x < 0 || y < 0 || x >= panel_.width || y >= panel_.height)
      return 0;
    return labels.data[index(columns_[static_cast<std::size_t>(x)].nearest(),
                             rows_[static_cast<std::size_t>(y)].nearest())];
  }
  bool on_edge(View<const std::uint32_t> labels, int x, int y, std::uint32_t label) const {
    return label_at(labels, x - 1, y) != label || label_at(labels, x + 1, y) != label
           || label_at(labels, x, y - 1) != label || label_at(labels, x, y + 1) != label;
  }

  Panel panel_;
  const CtImage& image_;
  Padding padding_;
  std::array<std::int64_t, 3> stride_;
  std::vector<Between> columns_, rows_;
};

// ---- the picture ----

constexpr int longest_side_pixels = 512;
constexpr int margin = 24; // of letters, around each slice
constexpr int gap = 16;    // more between slices, so that L and R beside each other are told apart

double pixels_per_mm_of(const Geometry& geometry) {
  const std::array<std::int64_t, 3> sides = sides_of(geometry.extent);
  const std::array<double, 3> spacing = geometry.spacing_mm();
  double longest_mm = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    longest_mm = std::max(longest_mm, static_cast<double>(sides[axis]) * spacing[axis]);
  return longest_side_pixels / longest_mm;
}

std::array<Panel, 3> panels_of(const Geometry& geometry, View<const std::uint32_t> labels,
                               double pixels_per_mm) {
  const std::array<Axis, 3> axes = patient_axes(geometry);
  const std::array<std::int64_t, 3> slices = slices_to_show(labels, geometry.extent);
  const std::array<std::int64_t, 3> sides = sides_of(geometry.extent);
  const std::array<double, 3> spacing = geometry.spacing_mm();
  const auto panel = [&](std::size_t across, std::size_t down, std::size_t through,
                         std::string_view edges) {
    Panel p;
    p.across = axes[across].voxel_axis;
    p.down = axes[down].voxel_axis;
    p.through = axes[through].voxel_axis;
    // Pictures run from the right, the front and the head: against all three directions.
    p.across_forward = !axes[across].forward;
    p.down_forward = !axes[down].forward;
    p.slice = slices[p.through];
    const auto pixels = [&](std::size_t axis) {
      const double mm = static_cast<double>(sides[axis]) * spacing[axis];
      return std::max(1, static_cast<int>(std::lround(mm * pixels_per_mm)));
    };
    p.width = pixels(p.across);
    p.height = pixels(p.down);
    p.left = edges[0];
    p.right = edges[1];
    p.top = edges[2];
    p.bottom = edges[3];
    return p;
  };
  return {panel(0, 1, 2, "RLAP"), panel(0, 2, 1, "RLHF"), panel(1, 2, 0, "APHF")};
}

/// Letters in the middle of each edge, outside the slice.
void write_edges(Canvas& canvas, int left, int top, const Panel& p) {
  constexpr int width = pen * glyph_width, height = pen * glyph_height;
  const int middle_x = left + (p.width - width) / 2, middle_y = top + (p.height - height) / 2;
  const int gap_x = (margin - width) / 2, gap_y = (margin - height) / 2;
  write_text(canvas, left - margin + gap_x, middle_y, {&p.left, 1});
  write_text(canvas, left + p.width + gap_x, middle_y, {&p.right, 1});
  write_text(canvas, middle_x, top - margin + gap_y, {&p.top, 1});
  write_text(canvas, middle_x, top + p.height + gap_y, {&p.bottom, 1});
}

/// 5 cm, or 1 cm where that is too long, at the bottom left; all slices have the same scale.
void draw_scale_bar(Canvas& canvas, double pixels_per_mm) {
  const auto pixels = [&](double mm) { return static_cast<int>(std::lround(mm * pixels_per_mm)); };
  const bool long_bar = pixels(50) <= longest_side_pixels / 2;
  const int length = pixels(long_bar ? 50 : 10);
  const int x = margin, y = canvas.height() - margin;
  constexpr int line = 2, tick = 10;
  canvas.fill(x, y + tick / 2 - line / 2, length, line, ink);
  canvas.fill(x, y, line, tick, ink);
  canvas.fill(x + length - line, y, line, tick, ink);
  write_text(canvas, x + length + tick, y - 2, long_bar ? "5 cm" : "1 cm");
}

std::string png_of(const Canvas& canvas) {
  static_assert(sizeof(Colour) == 3);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(canvas.width());
  image.height = static_cast<png_uint_32>(canvas.height());
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, canvas.data(), 0, nullptr))
    throw Failure(std::string("could not encode a PNG: ") + image.message);
  bytes.resize(size);
  return bytes;
}

} // namespace

std::string montage_png(const CtImage& image, View<const std::uint32_t> labels,
                        const Window& window) {
  const Geometry& geometry = image.geometry;
  assert(geometry.extent.voxels() > 0 && window.width_hu > 0);
  assert(labels.data == nullptr || labels.extent == geometry.extent);
  const double pixels_per_mm = pixels_per_mm_of(geometry);
  const std::array<Panel, 3> panels = panels_of(geometry, labels, pixels_per_mm);
  int width = -gap, height = 0;
  for (const Panel& panel : panels) {
    width += panel.width + 2 * margin + gap;
    height = std::max(height, panel.height);
  }
  const int least_width = longest_side_pixels / 2 + text_width("5 cm") + 3 * margin;
  Canvas canvas(std::max(width, least_width), height + 3 * margin);
  int left = margin;
  for (const Panel& panel : panels) {
    const int top = margin + (height - panel.height) / 2;
    canvas.fill(left - 1, top - 1, panel.width + 2, panel.height + 2, frame);
    PanelPainter(panel, image).paint(canvas, left, top, labels, window);
    write_edges(canvas, left, top, panel);
    left += panel.width + 2 * margin + gap;
  }
  draw_scale_bar(canvas, pixels_per_mm);
  return png_of(canvas);
}

std::int64_t montage_pixels(const Geometry& geometry) {
  std::int64_t pixels = 0;
  for (const Panel& panel : panels_of(geometry, {}, pixels_per_mm_of(geometry)))
    pixels += std::int64_t{panel.width} * panel.height;
  return pixels;
}

} // namespace breakeven::imaging
