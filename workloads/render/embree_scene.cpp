#include "workloads/render/embree_scene.h"

#include "sim/errors.h"

#include <utility>

namespace breakeven::render {

namespace {

bool count_bytes(void* total, ssize_t bytes, bool) {
  static_cast<std::atomic<std::int64_t>*>(total)->fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

} // namespace

EmbreeScene::EmbreeScene(std::shared_ptr<const RenderScene> scene, Acceleration acceleration,
                         int threads)
    : source_(std::move(scene)),
      positions_(source_->mesh.positions) {
  positions_.push_back({0, 0, 0});
  const std::string config = "threads=" + std::to_string(threads);
  device_.reset(rtcNewDevice(config.c_str()));
  if (device_ == nullptr) {
    keep_error(&error_, rtcGetDeviceError(nullptr), "no device");
    check("start");
  }
  rtcSetDeviceErrorFunction(device_.get(), keep_error, &error_);
  rtcSetDeviceMemoryMonitorFunction(device_.get(), count_bytes, &bytes_);
  packets_of_16_ =
      rtcGetDeviceProperty(device_.get(), RTC_DEVICE_PROPERTY_NATIVE_RAY16_SUPPORTED) != 0;
  scene_.reset(rtcNewScene(device_.get()));
  const std::size_t all = source_->mesh.triangles.size(), vehicle = source_->vehicle_triangles;
  if (acceleration == Acceleration::rebuild) {
    // One tree over everything, built with spatial splits: dearest to build, cheapest to trace.
    rtcSetSceneBuildQuality(scene_.get(), RTC_BUILD_QUALITY_HIGH);
    add_geometry(0, all, RTC_BUILD_QUALITY_HIGH);
  } else {
    // The vehicle's own tree keeps its shape and follows the vertices; the rest is built once. Only
    // at low scene quality does Embree keep a tree for each geometry; the scene's flag for dynamic
    // content alone leaves it building everything anew.
    rtcSetSceneFlags(scene_.get(), RTC_SCENE_FLAG_DYNAMIC);
    rtcSetSceneBuildQuality(scene_.get(), RTC_BUILD_QUALITY_LOW);
    if (vehicle > 0) add_geometry(0, vehicle, RTC_BUILD_QUALITY_REFIT);
    if (vehicle < all) add_geometry(vehicle, all - vehicle, RTC_BUILD_QUALITY_HIGH);
  }
  check("hand the mesh to Embree");
}

void EmbreeScene::add_geometry(std::size_t first_triangle, std::size_t count,
                               RTCBuildQuality quality) {
  const RTCGeometry geometry = rtcNewGeometry(device_.get(), RTC_GEOMETRY_TYPE_TRIANGLE);
  rtcSetGeometryBuildQuality(geometry, quality);
  rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                             positions_.data(), 0, sizeof(Float3), source_->mesh.positions.size());
  rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                             source_->mesh.triangles.data() + first_triangle, 0, sizeof(Triangle),
                             count);
  rtcCommitGeometry(geometry);
  rtcAttachGeometryByID(scene_.get(), geometry, geometry_count_);
  rtcReleaseGeometry(geometry); // the scene keeps it
  first_triangle_[geometry_count_] = static_cast<std::uint32_t>(first_triangle);
  geometries_[geometry_count_++] = geometry;
}

void EmbreeScene::deform(std::int64_t frame, int threads) {
  const float time_s = frame_time_s(*source_, frame);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::uint32_t i = 0; i < source_->vehicle_vertices; ++i)
    positions_[i] = crushed(source_->crush, source_->mesh.positions[i], time_s);
}

void EmbreeScene::build() {
  // Only the first geometry holds the vehicle.
  if (source_->vehicle_vertices > 0 && geometry_count_ > 0) {
    rtcUpdateGeometryBuffer(geometries_[0], RTC_BUFFER_TYPE_VERTEX, 0);
    rtcCommitGeometry(geometries_[0]);
  }
  rtcCommitScene(scene_.get());
  check("build the acceleration structure");
}

SceneView EmbreeScene::view() const {
  return {positions_.data(),
          source_->mesh.triangles.data(),
          source_->mesh.materials.data(),
          source_->materials.data(),
          source_->camera,
          source_->light};
}

void EmbreeScene::keep_error(void* error, RTCError code, const char* text) {
  auto* kept = static_cast<Error*>(error);
  if (kept->code == RTC_ERROR_NONE) *kept = {code, text == nullptr ? "" : text};
}

void EmbreeScene::check(const std::string& doing) {
  if (error_.code == RTC_ERROR_NONE) return;
  const Error error = std::exchange(error_, {});
  throw Failure("Embree could not " + doing + ": "
                + (error.code == RTC_ERROR_OUT_OF_MEMORY ? "out of memory, " : "") + error.text
                + " (code " + std::to_string(static_cast<int>(error.code)) + ")");
}

} // namespace breakeven::render
