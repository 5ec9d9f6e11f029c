#include "workloads/render/embree_scene.h"

#include "sim/errors.h"

#include <omp.h>

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
  device_ = rtcNewDevice(config.c_str());
  if (device_ == nullptr) throw Failure("Embree could not be started");
  rtcSetDeviceMemoryMonitorFunction(device_, count_bytes, &bytes_);
  packets_of_16_ = rtcGetDeviceProperty(device_, RTC_DEVICE_PROPERTY_NATIVE_RAY16_SUPPORTED) != 0;
  scene_ = rtcNewScene(device_);
  const std::size_t all = source_->mesh.triangles.size(), vehicle = source_->vehicle_triangles;
  if (acceleration == Acceleration::rebuild) {
    // One tree over everything, built with spatial splits: dearest to build, cheapest to trace.
    rtcSetSceneBuildQuality(scene_, RTC_BUILD_QUALITY_HIGH);
    add_geometry(0, all, RTC_BUILD_QUALITY_HIGH);
  } else {
    // The vehicle's own tree keeps its shape and follows the vertices; the rest is built once.
    rtcSetSceneFlags(scene_, RTC_SCENE_FLAG_DYNAMIC);
    if (vehicle > 0) add_geometry(0, vehicle, RTC_BUILD_QUALITY_REFIT);
    if (vehicle < all) add_geometry(vehicle, all - vehicle, RTC_BUILD_QUALITY_HIGH);
  }
  check("hand the mesh to Embree");
}

EmbreeScene::~EmbreeScene() {
  if (scene_ != nullptr) rtcReleaseScene(scene_);
  if (device_ != nullptr) rtcReleaseDevice(device_);
}

void EmbreeScene::add_geometry(std::size_t first_triangle, std::size_t count,
                               RTCBuildQuality quality) {
  const RTCGeometry geometry = rtcNewGeometry(device_, RTC_GEOMETRY_TYPE_TRIANGLE);
  rtcSetGeometryBuildQuality(geometry, quality);
  rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                             positions_.data(), 0, sizeof(Float3), source_->mesh.positions.size());
  rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                             source_->mesh.triangles.data() + first_triangle, 0, sizeof(Triangle),
                             count);
  rtcCommitGeometry(geometry);
  rtcAttachGeometryByID(scene_, geometry, geometry_count_);
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
  rtcCommitScene(scene_);
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

void EmbreeScene::check(const char* doing) const {
  const RTCError error = rtcGetDeviceError(device_);
  if (error == RTC_ERROR_NONE) return;
  const char* text = error == RTC_ERROR_OUT_OF_MEMORY      ? "out of memory"
                     : error == RTC_ERROR_INVALID_ARGUMENT ? "invalid argument"
                     : error == RTC_ERROR_UNSUPPORTED_CPU  ? "unsupported CPU"
                                                           : "unknown error";
  throw Failure(std::string("Embree could not ") + doing + ": " + text + " (code "
                + std::to_string(static_cast<int>(error)) + ")");
}

} // namespace breakeven::render
