// Embree 3 and 4 behind the few calls the renderer makes. The two differ in header names and in how
// a query's flags are passed; everything else of ours is the same for both.
#pragma once

#if __has_include(<embree4/rtcore.h>)
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif
#if defined(__SSE__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

#include "workloads/render/engine.h"

namespace breakeven::render {

enum class Coherence { coherent, incoherent };

/// The flags of a query, made once for many rays.
class EmbreeQuery {
public:
  explicit EmbreeQuery(RTCScene scene, Coherence coherence) : scene_(scene) {
#if RTC_VERSION_MAJOR >= 4
    rtcInitIntersectArguments(&intersect_);
    rtcInitOccludedArguments(&occluded_);
    intersect_.flags = occluded_.flags = flags(coherence);
#else
    rtcInitIntersectContext(&context_);
    context_.flags = coherence == Coherence::coherent ? RTC_INTERSECT_CONTEXT_FLAG_COHERENT
                                                      : RTC_INTERSECT_CONTEXT_FLAG_INCOHERENT;
#endif
  }

#if RTC_VERSION_MAJOR >= 4
  void intersect(RTCRayHit& ray) { rtcIntersect1(scene_, &ray, &intersect_); }
  void intersect(const int* valid, RTCRayHit8& rays) {
    rtcIntersect8(valid, scene_, &rays, &intersect_);
  }
  void intersect(const int* valid, RTCRayHit16& rays) {
    rtcIntersect16(valid, scene_, &rays, &intersect_);
  }
  void occluded(RTCRay& ray) { rtcOccluded1(scene_, &ray, &occluded_); }
  void occluded(const int* valid, RTCRay8& rays) { rtcOccluded8(valid, scene_, &rays, &occluded_); }
  void occluded(const int* valid, RTCRay16& rays) {
    rtcOccluded16(valid, scene_, &rays, &occluded_);
  }

private:
  static RTCRayQueryFlags flags(Coherence coherence) {
    return coherence == Coherence::coherent ? RTC_RAY_QUERY_FLAG_COHERENT
                                            : RTC_RAY_QUERY_FLAG_INCOHERENT;
  }
  RTCIntersectArguments intersect_;
  RTCOccludedArguments occluded_;
#else
  void intersect(RTCRayHit& ray) { rtcIntersect1(scene_, &context_, &ray); }
  void intersect(const int* valid, RTCRayHit8& rays) {
    rtcIntersect8(valid, scene_, &context_, &rays);
  }
  void intersect(const int* valid, RTCRayHit16& rays) {
    rtcIntersect16(valid, scene_, &context_, &rays);
  }
  void occluded(RTCRay& ray) { rtcOccluded1(scene_, &context_, &ray); }
  void occluded(const int* valid, RTCRay8& rays) { rtcOccluded8(valid, scene_, &context_, &rays); }
  void occluded(const int* valid, RTCRay16& rays) {
    rtcOccluded16(valid, scene_, &context_, &rays);
  }

private:
  RTCIntersectContext context_;
#endif
  RTCScene scene_;
};

/// Flush-to-zero and denormals-are-zero, as Embree asks of every thread that traces; put back on
/// leaving.
class FlushDenormals {
public:
#if defined(__SSE__)
  FlushDenormals() : saved_(_mm_getcsr()) {
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
  }
  ~FlushDenormals() { _mm_setcsr(saved_); }

private:
  unsigned saved_;
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

inline void set_ray(RTCRay& to, const Ray& ray) {
  to.org_x = ray.origin.x;
  to.org_y = ray.origin.y;
  to.org_z = ray.origin.z;
  to.tnear = ray.t_min;
  to.dir_x = ray.direction.x;
  to.dir_y = ray.direction.y;
  to.dir_z = ray.direction.z;
  to.time = 0;
  to.tfar = ray.t_max;
  to.mask = ~0u;
  to.id = 0;
  to.flags = 0;
}

inline void clear_hit(RTCHit& hit) {
  hit.geomID = RTC_INVALID_GEOMETRY_ID;
  hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
}

/// Embree sets the end of a ray that meets something to -infinity.
inline bool is_end_of_occluded(float t_max) { return t_max < 0; }

template <class Packet>
constexpr int packet_width = 8;
template <>
inline constexpr int packet_width<RTCRayHit16> = 16;

template <class Packet>
void set_lane(Packet& to, int lane, const Ray& ray) {
  to.ray.org_x[lane] = ray.origin.x;
  to.ray.org_y[lane] = ray.origin.y;
  to.ray.org_z[lane] = ray.origin.z;
  to.ray.tnear[lane] = ray.t_min;
  to.ray.dir_x[lane] = ray.direction.x;
  to.ray.dir_y[lane] = ray.direction.y;
  to.ray.dir_z[lane] = ray.direction.z;
  to.ray.time[lane] = 0;
  to.ray.tfar[lane] = ray.t_max;
  to.ray.mask[lane] = ~0u;
  to.ray.id[lane] = 0;
  to.ray.flags[lane] = 0;
  to.hit.geomID[lane] = RTC_INVALID_GEOMETRY_ID;
  to.hit.instID[0][lane] = RTC_INVALID_GEOMETRY_ID;
}

} // namespace breakeven::render
