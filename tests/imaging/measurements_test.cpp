#include "workloads/imaging/measurements.h"

#include <doctest/doctest.h>

using namespace breakeven::imaging;

namespace {

std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows{{}};
  std::string cell;
  for (const char c : csv) {
    if (c != ',' && c != '\n') {
      cell += c;
      continue;
    }
    rows.back().push_back(cell);
    cell.clear();
    if (c == '\n') rows.emplace_back();
  }
  rows.pop_back();
  return rows;
}

std::string cell(const std::string& csv, std::size_t row, const std::string& column) {
  const auto rows = cells_of(csv);
  for (std::size_t i = 0; i < rows[0].size(); ++i)
    if (rows[0][i] == column) return rows.at(row).at(i);
  return "no column " + column;
}

/// Voxels (1, 2, 3) of 10 HU and (2, 2, 3) of 20 HU.
LabelSums two_voxels() {
  LabelSums sums;
  sums.voxels = 2;
  sums.hu = 30;
  sums.hu_squared = 500;
  sums.x = 3;
  sums.y = 4;
  sums.z = 6;
  sums.low_hu = 10;
  sums.high_hu = 20;
  sums.first = {1, 2, 3};
  sums.last = {2, 2, 3};
  return sums;
}

} // namespace

TEST_CASE("a label's volume, place and HU are those worked out by hand") {
  Geometry geometry;
  geometry.extent = {8, 8, 8};
  geometry.to_ras_mm = {{{-2, 0, 0, 10}, {0, -3, 0, 20}, {0, 0, 5, -30}}};
  const std::string csv = measurements_csv({{}, two_voxels()}, geometry);
  CHECK(cell(csv, 1, "label") == "1");
  CHECK(cell(csv, 1, "voxels") == "2");
  CHECK(cell(csv, 1, "volume_ml") == "0.06");     // 2 x 2 x 3 x 5 mm3
  CHECK(cell(csv, 1, "centroid_r_mm") == "7");    // 10 - 2 x 1.5
  CHECK(cell(csv, 1, "centroid_a_mm") == "14");   // 20 - 3 x 2
  CHECK(cell(csv, 1, "centroid_s_mm") == "-15");  // -30 + 5 x 3
  CHECK(cell(csv, 1, "box_low_r_mm") == "5");     // 10 - 2 x 2.5
  CHECK(cell(csv, 1, "box_high_r_mm") == "9");    // 10 - 2 x 0.5
  CHECK(cell(csv, 1, "box_low_s_mm") == "-17.5"); // -30 + 5 x 2.5
  CHECK(cell(csv, 1, "box_high_s_mm") == "-12.5");
  CHECK(cell(csv, 1, "first_x_voxel") == "1");
  CHECK(cell(csv, 1, "last_x_voxel") == "2");
  CHECK(cell(csv, 1, "mean_hu") == "15");
  CHECK(cell(csv, 1, "deviation_hu") == "5"); // of 10 and 20
  CHECK(cell(csv, 1, "lowest_hu") == "10");
  CHECK(cell(csv, 1, "highest_hu") == "20");
}

TEST_CASE("the background and labels without voxels have no row") {
  Geometry geometry;
  geometry.extent = {8, 8, 8};
  LabelSums background = two_voxels();
  const std::string csv = measurements_csv({background, {}, two_voxels()}, geometry);
  CHECK(cells_of(csv).size() == 2);
  CHECK(cell(csv, 1, "label") == "2");
  CHECK(cells_of(measurements_csv({}, geometry)).size() == 1);
}

TEST_CASE("negative numbers stay numbers and every row is as wide as the header") {
  Geometry geometry;
  geometry.extent = {8, 8, 8};
  geometry.to_ras_mm = {{{-0.7, 0, 0, -100}, {0, -0.7, 0, -100}, {0, 0, 1, -100}}};
  const std::string csv = measurements_csv({{}, two_voxels(), two_voxels()}, geometry);
  CHECK(csv.find('\'') == std::string::npos);
  for (const auto& row : cells_of(csv))
    CHECK(row.size() == cells_of(csv)[0].size());
  CHECK(csv.find("-0,") == std::string::npos);
}

TEST_CASE("the box of an oblique scan holds the corners of its voxels") {
  Geometry geometry;
  geometry.extent = {8, 8, 8};
  geometry.to_ras_mm = {{{0.6, -0.8, 0, 0}, {0.8, 0.6, 0, 0}, {0, 0, 1, 0}}};
  const std::string csv = measurements_csv({{}, two_voxels()}, geometry);
  CHECK(cell(csv, 1, "box_low_r_mm") == "-1.7"); // 0.6 x 0.5 - 0.8 x 2.5
  CHECK(cell(csv, 1, "box_high_r_mm") == "0.3"); // 0.6 x 2.5 - 0.8 x 1.5
  CHECK(cell(csv, 1, "volume_ml") == "0.002");
}

TEST_CASE("the deviation of a thousand million equal voxels of 3000 HU is nothing") {
  Geometry geometry;
  LabelSums sums;
  sums.voxels = 1'000'000'000;
  sums.hu = 3000 * sums.voxels;
  sums.hu_squared = 9'000'000 * sums.voxels;
  CHECK(cell(measurements_csv({{}, sums}, geometry), 1, "deviation_hu") == "0");
  sums.hu_squared += sums.voxels; // half of them 1 above, half 1 below
  CHECK(cell(measurements_csv({{}, sums}, geometry), 1, "deviation_hu") == "1");
}
