#include "workloads/imaging/phantom.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace breakeven::imaging {

namespace {

using Point = std::array<double, 3>;

constexpr double fat_hu = -100, muscle_hu = 45, lung_hu = -850, air_in_airways_hu = -1000,
                 bone_hu = 500, disc_hu = 80, liver_hu = 60, blood_hu = 45, contrast_hu = 300,
                 nodule_hu = 30;

struct Ellipsoid {
  Point centre{}, radius{}; ///< mm
};

/// Within `outer` and not within `inner`, where the plane z = height + slope y passes within
/// half_width.
struct Rib {
  Ellipsoid outer, inner;
  double height = 0, slope = 0, half_width = 0; ///< mm; the slope has no unit
};

struct Tissue {
  Ellipsoid shape;
  double hu;
};

/// What is painted, in this order; later things cover earlier ones.
struct Anatomy {
  std::vector<Tissue> body;
  std::vector<Rib> ribs;
  std::vector<Tissue> organs;
};

constexpr Ellipsoid right_lung{{72, 5, 5}, {60, 80, 140}};
constexpr Ellipsoid left_lung{{-72, 5, 0}, {56, 78, 135}};
constexpr Ellipsoid heart{{-18, 25, -45}, {52, 45, 60}};
constexpr Ellipsoid liver{{60, 5, -190}, {85, 75, 70}};
constexpr double endless_mm = 700; // along the body, far beyond any field of view

/// Vessels of a lung: thin, along the body, fanning out from its root.
std::vector<Ellipsoid> vessels_of(const Ellipsoid& lung) {
  const double towards_middle = lung.centre[0] > 0 ? -1 : 1;
  std::vector<Ellipsoid> vessels;
  for (int branch = 0; branch < 10; ++branch) {
    const double row = branch % 5 - 2, layer = branch / 5;
    vessels.push_back({{lung.centre[0] + towards_middle * (28 - 18 * layer),
                        lung.centre[1] + 13 * row, lung.centre[2] - 20 + 12 * std::fabs(row)},
                       {2.5 - 0.8 * layer, 2.5 - 0.8 * layer, 45 - 12 * layer}});
  }
  return vessels;
}

std::vector<Ellipsoid> all_vessels() {
  std::vector<Ellipsoid> all = vessels_of(right_lung);
  for (const Ellipsoid& vessel : vessels_of(left_lung))
    all.push_back(vessel);
  return all;
}

std::vector<Rib> ribs() {
  std::vector<Rib> all;
  for (int pair = 0; pair < 14; ++pair)
    all.push_back({{{0, 0, 0}, {146, 97, endless_mm}},
                   {{0, 0, 0}, {138, 89, endless_mm}},
                   -160.0 + 24 * pair,
                   0.35, // backwards and up
                   5.5});
  return all;
}

Anatomy anatomy_of(const PhantomSpec& spec) {
  const double blood = spec.contrast ? contrast_hu : blood_hu;
  Anatomy anatomy;
  anatomy.body = {{{{0, 0, 0}, {170, 115, endless_mm}}, fat_hu},
                  {{{0, 0, 0}, {156, 104, endless_mm}}, muscle_hu}};
  anatomy.ribs = ribs();
  anatomy.organs = {{right_lung, lung_hu}, {left_lung, lung_hu}};
  for (const Ellipsoid& vessel : all_vessels())
    anatomy.organs.push_back({vessel, blood});
  anatomy.organs.push_back({{{0, -62, 0}, {17, 14, endless_mm}}, disc_hu});
  for (int vertebra = -10; vertebra <= 10; ++vertebra)
    anatomy.organs.push_back({{{0, -62, 26.0 * vertebra}, {21, 17, 11}}, bone_hu});
  anatomy.organs.push_back({heart, blood});
  anatomy.organs.push_back({{{-14, -34, 0}, {11, 11, endless_mm}}, blood}); // aorta
  anatomy.organs.push_back({{{0, 2, 130}, {9, 9, 90}}, air_in_airways_hu}); // trachea
  anatomy.organs.push_back({liver, liver_hu});
  for (const Nodule& nodule : nodules_of(spec))
    anatomy.organs.push_back(
        {{nodule.centre_mm, {nodule.radius_mm, nodule.radius_mm, nodule.radius_mm}}, nodule_hu});
  return anatomy;
}

// ---- where nodules fit ----

/// Nearly the distance from the surface, in mm, negative inside: exact for balls.
double distance_mm(const Ellipsoid& shape, const Point& point) {
  double unit = 0, gradient = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double along = (point[axis] - shape.centre[axis]) / shape.radius[axis];
    unit += along * along;
    gradient += along * along / (shape.radius[axis] * shape.radius[axis]);
  }
  if (gradient == 0) return -*std::min_element(shape.radius.begin(), shape.radius.end());
  const double k = std::sqrt(unit);
  return (k - 1) * k / std::sqrt(gradient);
}

/// Terms of the van der Corput sequence: spread evenly in any number.
double spread(int index, int base) {
  double value = 0, digit = 1;
  for (int rest = index; rest > 0; rest /= base) {
    digit /= base;
    value += digit * (rest % base);
  }
  return value;
}

bool is_clear(const Nodule& nodule, const Ellipsoid& lung, const std::vector<Ellipsoid>& vessels,
              const std::vector<Nodule>& placed) {
  constexpr double clearance_mm = 4;
  const Point& place = nodule.centre_mm;
  const double free_mm = nodule.radius_mm + clearance_mm;
  const auto apart = [&](const Ellipsoid& other) { return distance_mm(other, place) > free_mm; };
  return -distance_mm(lung, place) > free_mm && apart(heart) && apart(liver)
         && std::all_of(vessels.begin(), vessels.end(), apart)
         && std::all_of(placed.begin(), placed.end(), [&](const Nodule& other) {
              return std::hypot(place[0] - other.centre_mm[0], place[1] - other.centre_mm[1],
                                place[2] - other.centre_mm[2])
                     > free_mm + other.radius_mm;
            });
}

// ---- painting a row ----

struct Row {
  double x_mm = 0, step_mm = 0; ///< of voxel 0, and between voxels; RAS, so the step is negative
  double y_mm = 0, z_mm = 0;
  double edge_mm = 0; ///< over which an edge is smeared: the voxel's size
  std::vector<double> hu;
};

/// Voxels of the row that an ellipsoid, grown by the edge, can touch: [begin, end).
std::pair<std::int64_t, std::int64_t> touched(const Row& row, const Ellipsoid& shape) {
  const double y = (row.y_mm - shape.centre[1]) / (shape.radius[1] + row.edge_mm);
  const double z = (row.z_mm - shape.centre[2]) / (shape.radius[2] + row.edge_mm);
  const double rest = 1 - y * y - z * z;
  if (!(rest > 0)) return {0, 0};
  const double half = (shape.radius[0] + row.edge_mm) * std::sqrt(rest) / std::fabs(row.step_mm);
  const double middle = (shape.centre[0] - row.x_mm) / row.step_mm;
  const auto width = static_cast<double>(row.hu.size());
  return {static_cast<std::int64_t>(std::clamp(std::floor(middle - half), 0.0, width)),
          static_cast<std::int64_t>(std::clamp(std::ceil(middle + half) + 1, 0.0, width))};
}

/// Share of a voxel within a surface at this distance.
double share_within(double distance_mm, double edge_mm) {
  return std::clamp(0.5 - distance_mm / edge_mm, 0.0, 1.0);
}

void paint(Row& row, const Tissue& tissue) {
  const auto [begin, end] = touched(row, tissue.shape);
  for (std::int64_t x = begin; x < end; ++x) {
    const Point point{row.x_mm + row.step_mm * static_cast<double>(x), row.y_mm, row.z_mm};
    const double share = share_within(distance_mm(tissue.shape, point), row.edge_mm);
    double& hu = row.hu[static_cast<std::size_t>(x)];
    hu = hu + share * (tissue.hu - hu);
  }
}

void paint(Row& row, const Rib& rib) {
  const double from_plane = std::fabs(row.z_mm - rib.height - rib.slope * row.y_mm);
  const double in_plane = share_within(from_plane - rib.half_width, row.edge_mm);
  if (in_plane == 0) return;
  const auto [begin, end] = touched(row, rib.outer);
  for (std::int64_t x = begin; x < end; ++x) {
    const Point point{row.x_mm + row.step_mm * static_cast<double>(x), row.y_mm, row.z_mm};
    const double share =
        std::min({in_plane, share_within(distance_mm(rib.outer, point), row.edge_mm),
                  1 - share_within(distance_mm(rib.inner, point), row.edge_mm)});
    double& hu = row.hu[static_cast<std::size_t>(x)];
    hu = hu + share * (bone_hu - hu);
  }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of a counter.
std::uint64_t random_bits(std::uint64_t counter) {
  std::uint64_t bits = counter * 0x9E37'79B9'7F4A'7C15ull;
  bits = (bits ^ (bits >> 30)) * 0xBF58'476D'1CE4'E5B9ull;
  bits = (bits ^ (bits >> 27)) * 0x94D0'49BB'1331'11EBull;
  return bits ^ (bits >> 31);
}

/// Nearly normal, mean 0 and variance 1: the sum of four uniform numbers. No logarithm, which
/// differs between libraries.
double noise(std::uint64_t seed, std::uint64_t voxel) {
  const std::uint64_t bits = random_bits(random_bits(seed + 1) + voxel);
  double sum = 0;
  for (int part = 0; part < 4; ++part)
    sum += static_cast<double>((bits >> (16 * part)) & 0xFFFF) + 0.5;
  return (sum / 65536 - 2) * std::numbers::sqrt3;
}

void paint(Row& row, const Anatomy& anatomy) {
  std::fill(row.hu.begin(), row.hu.end(), static_cast<double>(air_hu));
  for (const Tissue& tissue : anatomy.body)
    paint(row, tissue);
  for (const Rib& rib : anatomy.ribs)
    paint(row, rib);
  for (const Tissue& tissue : anatomy.organs)
    paint(row, tissue);
}

// ---- the same by points, each of one tissue ----

/// Points of a line within an ellipsoid: [begin, end), from where the line enters and leaves.
std::pair<std::int64_t, std::int64_t> within(const Row& line, const Ellipsoid& shape) {
  const double y = (line.y_mm - shape.centre[1]) / shape.radius[1];
  const double z = (line.z_mm - shape.centre[2]) / shape.radius[2];
  const double rest = 1 - y * y - z * z;
  if (!(rest > 0)) return {0, 0};
  const double half = shape.radius[0] * std::sqrt(rest) / std::fabs(line.step_mm);
  const double middle = (shape.centre[0] - line.x_mm) / line.step_mm;
  const auto points = static_cast<double>(line.hu.size());
  return {static_cast<std::int64_t>(std::clamp(std::ceil(middle - half), 0.0, points)),
          static_cast<std::int64_t>(std::clamp(std::floor(middle + half) + 1, 0.0, points))};
}

void fill(Row& line, std::int64_t begin, std::int64_t end, double hu) {
  for (std::int64_t i = begin; i < end; ++i)
    line.hu[static_cast<std::size_t>(i)] = hu;
}

void fill(Row& line, const Tissue& tissue) {
  const auto [begin, end] = within(line, tissue.shape);
  fill(line, begin, end, tissue.hu);
}

void fill(Row& line, const Rib& rib) {
  if (std::fabs(line.z_mm - rib.height - rib.slope * line.y_mm) > rib.half_width) return;
  const auto [outer_begin, outer_end] = within(line, rib.outer);
  const auto [begin, end] = within(line, rib.inner);
  if (begin == end) {
    fill(line, outer_begin, outer_end, bone_hu);
  } else {
    fill(line, outer_begin, begin, bone_hu);
    fill(line, end, outer_end, bone_hu);
  }
}

void fill(Row& line, const Anatomy& anatomy) {
  std::fill(line.hu.begin(), line.hu.end(), static_cast<double>(air_hu));
  for (const Tissue& tissue : anatomy.body)
    fill(line, tissue);
  for (const Rib& rib : anatomy.ribs)
    fill(line, rib);
  for (const Tissue& tissue : anatomy.organs)
    fill(line, tissue);
}

/// HU of a row as the mean of `samples` points a side of each voxel, which fill it evenly. `line`
/// holds samples points a voxel of the row.
void paint_by_points(Row& row, Row& line, int samples, const PhantomSpec& spec,
                     const Anatomy& anatomy) {
  const auto offset = [&](int point) { return (point + 0.5) / samples - 0.5; };
  line.x_mm = row.x_mm + row.step_mm * offset(0);
  line.step_mm = row.step_mm / samples;
  std::fill(row.hu.begin(), row.hu.end(), 0.0);
  for (int k = 0; k < samples; ++k)
    for (int j = 0; j < samples; ++j) {
      line.y_mm = row.y_mm + spec.spacing_mm[1] * offset(j);
      line.z_mm = row.z_mm + spec.spacing_mm[2] * offset(k);
      fill(line, anatomy);
      auto point = line.hu.begin();
      for (double& hu : row.hu)
        for (int i = 0; i < samples; ++i)
          hu += *point++;
    }
  const double points = static_cast<double>(samples) * samples * samples;
  for (double& hu : row.hu)
    hu /= points;
}

} // namespace

double Nodule::volume_ml() const {
  constexpr double ml_per_mm3 = 1e-3;
  return 4.0 / 3 * std::numbers::pi * radius_mm * radius_mm * radius_mm * ml_per_mm3;
}

std::vector<Nodule> nodules_of(const PhantomSpec& spec) {
  constexpr std::array<double, 6> radii_mm{6, 4, 8, 5, 7, 3};
  const std::vector<Ellipsoid> vessels = all_vessels();
  std::vector<Nodule> nodules;
  for (int candidate = 1; nodules.size() < static_cast<std::size_t>(spec.nodules); ++candidate) {
    const Ellipsoid& lung = nodules.size() % 2 == 0 ? right_lung : left_lung;
    Nodule nodule;
    nodule.radius_mm = radii_mm[nodules.size() % radii_mm.size()];
    constexpr std::array<int, 3> bases{2, 3, 5};
    for (std::size_t axis = 0; axis < 3; ++axis)
      nodule.centre_mm[axis] =
          lung.centre[axis] + lung.radius[axis] * (2 * spread(candidate, bases[axis]) - 1);
    if (is_clear(nodule, lung, vessels, nodules)) nodules.push_back(nodule);
  }
  return nodules;
}

Geometry geometry_of(const PhantomSpec& spec) {
  Geometry geometry;
  geometry.extent = spec.extent;
  // As scanners store them: columns to the patient's left, rows to the back, slices to the head.
  const std::array<double, 3> step{-spec.spacing_mm[0], -spec.spacing_mm[1], spec.spacing_mm[2]};
  const std::array<std::int64_t, 3> sides{spec.extent.x, spec.extent.y, spec.extent.z};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    geometry.to_ras_mm[axis] = {0, 0, 0, -0.5 * static_cast<double>(sides[axis] - 1) * step[axis]};
    geometry.to_ras_mm[axis][axis] = step[axis];
  }
  return geometry;
}

CtImage make_phantom(const PhantomSpec& spec) {
  return make_phantom_slices(spec, 0, spec.extent.z);
}

CtImage make_phantom_slices(const PhantomSpec& spec, std::int64_t begin, std::int64_t end) {
  const Geometry whole = geometry_of(spec);
  const Anatomy anatomy = anatomy_of(spec);
  CtImage image;
  image.geometry = whole;
  image.geometry.extent.z = end - begin;
  image.geometry.to_ras_mm[2][3] += static_cast<double>(begin) * whole.to_ras_mm[2][2];
  constexpr float stored_intercept = -1024;
  image.rescale.assign(static_cast<std::size_t>(end - begin), {1, stored_intercept});
  image.stored.resize(static_cast<std::size_t>(image.geometry.extent.voxels()));
  const std::int64_t rows = (end - begin) * spec.extent.y;
  const auto& m = whole.to_ras_mm;
#pragma omp parallel
  {
    Row row;
    row.x_mm = m[0][3];
    row.step_mm = m[0][0];
    row.edge_mm = std::cbrt(spec.spacing_mm[0] * spec.spacing_mm[1] * spec.spacing_mm[2]);
    row.hu.resize(static_cast<std::size_t>(spec.extent.x));
    Row line = row;
    const int samples = spec.partial_volume_samples;
    line.hu.resize(row.hu.size() * static_cast<std::size_t>(samples));
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t y = i % spec.extent.y, z = begin + i / spec.extent.y;
      row.y_mm = m[1][3] + m[1][1] * static_cast<double>(y);
      row.z_mm = m[2][3] + m[2][2] * static_cast<double>(z);
      if (samples > 0)
        paint_by_points(row, line, samples, spec, anatomy);
      else
        paint(row, anatomy);
      const std::int64_t first = (z * spec.extent.y + y) * spec.extent.x;
      for (std::int64_t x = 0; x < spec.extent.x; ++x) {
        const double hu = row.hu[static_cast<std::size_t>(x)]
                          + spec.noise_hu * noise(spec.seed, static_cast<std::uint64_t>(first + x));
        const double stored =
            std::clamp(std::floor(hu - static_cast<double>(stored_intercept) + 0.5), 0.0, 4095.0);
        image.stored[static_cast<std::size_t>(i * spec.extent.x + x)] =
            static_cast<std::int16_t>(stored);
      }
    }
  }
  return image;
}

} // namespace breakeven::imaging
