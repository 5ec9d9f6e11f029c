// A RenderScene inside Embree: device, geometry, and the acceleration structure that is rebuilt or
// refitted for each frame. Gives queries on it; leaves out everything about paths.
#pragma once

#include "workloads/render/embree.h"
#include "workloads/render/shading.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <type_traits>

namespace breakeven::render {

class EmbreeScene {
public:
  /// Embree builds with `threads` threads of its own (TBB), which sleep while OpenMP traces.
  EmbreeScene(std::shared_ptr<const RenderScene> scene, Acceleration acceleration, int threads);
  EmbreeScene(const EmbreeScene&) = delete;
  EmbreeScene& operator=(const EmbreeScene&) = delete;

  /// Moves the vehicle to where it is at a frame. Leaves the acceleration structure as it was.
  void deform(std::int64_t frame, int threads);
  /// Brings the acceleration structure up to the vertices. Throws Failure with Embree's text.
  void build();

  RTCScene handle() const { return scene_.get(); }
  SceneView view() const;                                             ///< for shading
  double bytes() const { return static_cast<double>(bytes_.load()); } ///< what Embree allocated
  bool has_packets_of_16() const { return packets_of_16_; }

  /// The scene's triangle for Embree's two numbers; `no_triangle` for a miss.
  std::uint32_t triangle_of(unsigned geometry, unsigned primitive) const {
    return geometry == RTC_INVALID_GEOMETRY_ID ? no_triangle
                                               : first_triangle_[geometry] + primitive;
  }

private:
  struct Release {
    void operator()(RTCDevice device) const { rtcReleaseDevice(device); }
    void operator()(RTCScene scene) const { rtcReleaseScene(scene); }
  };
  struct Error {
    RTCError code = RTC_ERROR_NONE;
    std::string text;
  };
  static void keep_error(void* error, RTCError code, const char* text);
  void add_geometry(std::size_t first_triangle, std::size_t count, RTCBuildQuality quality);
  void check(const std::string& doing);

  std::shared_ptr<const RenderScene> source_;
  std::vector<Float3> positions_; ///< one more than the vertices: Embree reads 16 bytes of the last
  std::atomic<std::int64_t> bytes_{0};
  Error error_; ///< the first since the last check()
  std::unique_ptr<std::remove_pointer_t<RTCDevice>, Release> device_;
  std::unique_ptr<std::remove_pointer_t<RTCScene>, Release> scene_;
  std::array<RTCGeometry, 2> geometries_{};
  std::array<std::uint32_t, 2> first_triangle_{};
  unsigned geometry_count_ = 0;
  bool packets_of_16_ = false;
};

} // namespace breakeven::render
