// Our renderer beside bare Embree loops over the very rays it traced.
//
// Recorded once, off the clock: every ray that the renderer traces, by kind and in its own order,
// and every answer. The peer is the best bare loop over the recorded rays of a kind: rays ready in
// memory, one by one or in packets of 8 or 16 already laid out for Embree, the same hierarchy,
// flags, threads and schedule, and nothing but a checksum done with the answers.
//
// In our path loop, tracing and shading alternate too finely to be timed apart. So the loop is
// run with a tracer that asks Embree for one kind and reads the recorded answers for the
// others, and once with one that reads them all: the difference is the tracing of that kind, with
// all that it takes to hand rays to Embree and to keep the answers. `render.whole` hides nothing:
// the real loop with camera rays, random numbers and shading, against the sum of the bare loops.
//
// The picture is cut into pieces, and each contender renders a piece in turn.
#include "peers/peers.h"
#include "workloads/render/embree_paths.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace breakeven::peers {

namespace {

using namespace render;

constexpr std::size_t units_per_piece = 64;

/// Sixteen rays component by component, as Embree's packets take them.
struct Block {
  static constexpr int width = 16;
  Block() = default;
  Block(const Ray* rays, std::size_t count) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      const Ray& ray = rays[std::min(lane, count - 1)];
      const float values[6]{ray.origin.x,    ray.origin.y,    ray.origin.z,
                            ray.direction.x, ray.direction.y, ray.direction.z};
      for (int i = 0; i < 6; ++i)
        rows[i][lane] = values[i];
    }
  }
  alignas(64) float rows[6][width];
};

/// The rays of one kind, laid out for either way of asking.
struct RecordedRays {
  std::vector<Ray> single;
  std::vector<Block> blocks;
  void push_back(const Ray& ray) { single.push_back(ray); }
  std::size_t size() const { return single.size(); }
  void make_blocks() {
    for (std::size_t first = 0; first < single.size(); first += Block::width)
      blocks.emplace_back(&single[first], single.size() - first);
  }
};

struct UnitRecord {
  RecordedRays primary, bounced, shadow;
  std::vector<std::array<std::uint32_t, 3>> primary_answers, bounced_answers; ///< triangle, u, v
  std::vector<char> shadow_answers;
};

Ray ray_at(const RaysOfBatch& rays, int slot) {
  return {rays.origin.get(slot), 0.0f, rays.direction.get(slot), infinite_distance};
}
std::array<std::uint32_t, 3> answer_at(const HitsOfBatch& hits, int slot) {
  return {hits.triangle[slot], bits_of(hits.u[slot]), bits_of(hits.v[slot])};
}

template <class Tracer>
class Recorder {
public:
  Recorder(Tracer tracer, UnitRecord& record) : tracer_(tracer), record_(record) {}

  void primary(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    tracer_.primary(rays, count, hits);
    for (int slot = 0; slot < count; ++slot) {
      record_.primary.push_back(ray_at(rays, slot));
      record_.primary_answers.push_back(answer_at(hits, slot));
    }
  }
  void bounced(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    tracer_.bounced(rays, count, hits);
    for (int slot = 0; slot < count; ++slot) {
      record_.bounced.push_back(ray_at(rays, slot));
      record_.bounced_answers.push_back(answer_at(hits, slot));
    }
  }
  void shadows(const RaysOfBatch& rays, int count, AnswersOfBatch& occluded) {
    tracer_.shadows(rays, count, occluded);
    for (int slot = 0; slot < count; ++slot) {
      record_.shadow.push_back(ray_at(rays, slot));
      record_.shadow_answers.push_back(occluded[slot]);
    }
  }

private:
  Tracer tracer_;
  UnitRecord& record_;
};

struct Live {
  bool primary, bounced, shadow;
};

/// Asks Embree for the kinds that are live, and reads the recorded answers of the others.
template <class Tracer, Live live>
class Replayer {
public:
  Replayer(Tracer tracer, const UnitRecord& record) : tracer_(tracer), record_(record) {}

  void primary(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    if constexpr (live.primary) return tracer_.primary(rays, count, hits);
    for (int slot = 0; slot < count; ++slot)
      set(hits, slot, record_.primary_answers[primaries_++]);
  }
  void bounced(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    if constexpr (live.bounced) return tracer_.bounced(rays, count, hits);
    for (int slot = 0; slot < count; ++slot)
      set(hits, slot, record_.bounced_answers[bounces_++]);
  }
  void shadows(const RaysOfBatch& rays, int count, AnswersOfBatch& occluded) {
    if constexpr (live.shadow) return tracer_.shadows(rays, count, occluded);
    for (int slot = 0; slot < count; ++slot)
      occluded[slot] = record_.shadow_answers[shadows_++];
  }

private:
  static void set(HitsOfBatch& hits, int slot, const std::array<std::uint32_t, 3>& answer) {
    hits.triangle[slot] = answer[0];
    hits.u[slot] = float_of(answer[1]);
    hits.v[slot] = float_of(answer[2]);
  }

  Tracer tracer_;
  const UnitRecord& record_;
  std::size_t primaries_ = 0, bounces_ = 0, shadows_ = 0;
};

/// Seconds of work(unit) for units [begin, end), on some threads.
template <class Work>
double timed(std::size_t begin, std::size_t end, int threads, Clock clock, const Work& work) {
  double cpu_s = 0;
  const double start = wall_s();
#pragma omp parallel num_threads(threads) reduction(+ : cpu_s)
  {
    const double cpu_start = thread_cpu_s();
    const FlushDenormals flush;
#pragma omp for schedule(dynamic)
    for (std::size_t unit = begin; unit < end; ++unit)
      work(unit);
    cpu_s += thread_cpu_s() - cpu_start;
  }
  return clock == Clock::wall ? wall_s() - start : cpu_s / threads;
}

/// The bare loops: a checksum of the answers to some rays. `any` asks for any hit.
template <bool any>
std::uint32_t trace_singly(RTCScene scene, const RecordedRays& rays, Coherence coherence) {
  EmbreeQuery query(scene, coherence);
  std::uint32_t sum = 0;
  for (const Ray& ray : rays.single) {
    RTCRayHit found;
    set_ray(found.ray, ray);
    if constexpr (any) {
      query.occluded(found.ray);
      sum += is_end_of_occluded(found.ray.tfar);
    } else {
      clear_hit(found.hit);
      query.intersect(found);
      sum += found.hit.primID;
    }
  }
  return sum;
}

template <bool any, class Packet>
std::uint32_t trace_in_packets(RTCScene scene, const RecordedRays& rays, Coherence coherence) {
  constexpr int width = packet_width<Packet>;
  EmbreeQuery query(scene, coherence);
  alignas(64) Packet packet;
  alignas(64) int valid[width];
  for (int lane = 0; lane < width; ++lane)
    set_lane(packet, lane, {});
  std::uint32_t sum = 0;
  for (std::size_t first = 0; first < rays.size(); first += width) {
    const int count = static_cast<int>(std::min<std::size_t>(width, rays.size() - first));
    const Block& block = rays.blocks[first / Block::width];
    const std::size_t offset = first % Block::width;
    float* const rows[6]{packet.ray.org_x, packet.ray.org_y, packet.ray.org_z,
                         packet.ray.dir_x, packet.ray.dir_y, packet.ray.dir_z};
    for (int i = 0; i < 6; ++i)
      std::copy_n(block.rows[i] + offset, width, rows[i]);
    for (int lane = 0; lane < width; ++lane) {
      valid[lane] = lane < count ? -1 : 0;
      packet.ray.tfar[lane] = infinite_distance;
      packet.hit.geomID[lane] = RTC_INVALID_GEOMETRY_ID;
    }
    if constexpr (any)
      query.occluded(valid, packet.ray);
    else
      query.intersect(valid, packet);
    for (int lane = 0; lane < count; ++lane)
      sum += any ? is_end_of_occluded(packet.ray.tfar[lane]) : packet.hit.primID[lane];
  }
  return sum;
}

/// One way of tracing the recorded rays of a kind.
struct BareLoop {
  const char* name;
  std::function<std::uint32_t(RTCScene, const RecordedRays&)> trace;
};

template <bool any>
std::vector<BareLoop> bare_loops(bool packets_of_16) {
  std::vector<BareLoop> loops;
  for (const Coherence coherence : {Coherence::coherent, Coherence::incoherent}) {
    const bool coherent = coherence == Coherence::coherent;
    loops.push_back({coherent ? "single, coherent" : "single, incoherent",
                     [coherence](RTCScene scene, const RecordedRays& rays) {
                       return trace_singly<any>(scene, rays, coherence);
                     }});
    loops.push_back({coherent ? "packets of 8, coherent" : "packets of 8, incoherent",
                     [coherence](RTCScene scene, const RecordedRays& rays) {
                       return trace_in_packets<any, RTCRayHit8>(scene, rays, coherence);
                     }});
    if (packets_of_16)
      loops.push_back({coherent ? "packets of 16, coherent" : "packets of 16, incoherent",
                       [coherence](RTCScene scene, const RecordedRays& rays) {
                         return trace_in_packets<any, RTCRayHit16>(scene, rays, coherence);
                       }});
  }
  return loops;
}

std::uint32_t checksum_sink; ///< keeps the bare loops' work alive

struct Kind {
  const char* name;
  RecordedRays UnitRecord::*rays;
  BareLoop peer;
  double ray_count = 0;
};

/// One image on some threads: records, then times.
template <class Tracer>
class Comparison {
public:
  Comparison(const EmbreeScene& scene, const RenderOptions& options)
      : scene_(scene),
        view_(scene.view()),
        options_(options) {
    request_.frame = options.frame;
    request_.width = options.width;
    request_.height = options.height;
    request_.samples = options.samples;
    pixels_ = tiled_pixels(options.width, options.height);
    records_.resize((pixels_.size() + pixels_per_work_unit - 1) / pixels_per_work_unit);
#pragma omp parallel for schedule(dynamic)
    for (std::size_t unit = 0; unit < records_.size(); ++unit) {
      const FlushDenormals flush;
      Recorder<Tracer> recorder(Tracer(scene_), records_[unit]);
      render_unit(unit, recorder);
      for (RecordedRays UnitRecord::*rays :
           {&UnitRecord::primary, &UnitRecord::bounced, &UnitRecord::shadow})
        (records_[unit].*rays).make_blocks();
    }
  }

  void choose_peers(std::ostream& log) {
    kinds_ = {{"primary", &UnitRecord::primary, {}},
              {"bounced", &UnitRecord::bounced, {}},
              {"shadow", &UnitRecord::shadow, {}}};
    for (Kind& kind : kinds_) {
      for (const UnitRecord& record : records_)
        kind.ray_count += static_cast<double>((record.*kind.rays).size());
      const bool any = kind.rays == &UnitRecord::shadow;
      choose_peer(kind,
                  any ? bare_loops<true>(scene_.has_packets_of_16())
                      : bare_loops<false>(scene_.has_packets_of_16()),
                  log);
    }
  }

  void measure(int threads, std::ostream& out, std::ostream& log) {
    std::vector<Contender> contenders{
        ours<Live{false, false, false}>(threads), ours<Live{true, false, false}>(threads),
        ours<Live{false, true, false}>(threads), ours<Live{false, false, true}>(threads),
        ours<Live{true, true, true}>(threads)};
    for (const Kind& kind : kinds_)
      contenders.push_back([this, threads, &kind](std::size_t piece) {
        return bare_s(kind, kind.peer, first_unit(piece), first_unit(piece + 1), threads);
      });
    const std::size_t pieces = (records_.size() + units_per_piece - 1) / units_per_piece;
    const auto passes =
        Interleaved(std::move(contenders), pieces).passes(options_.pairs, [&](int done) {
          log << fmt::format("{} threads: {} of {}\n", threads, done, options_.pairs);
        });
    print(threads, passes, out);
    std::vector<double> shading;
    for (const std::vector<double>& pass : passes)
      shading.push_back(100 * pass[0] / pass[4]);
    log << fmt::format("{} threads: {:.1f} % of our time is shading\n", threads, median(shading));
  }

private:
  /// The picture is cut into pieces, so that the contenders alternate finely.
  std::size_t first_unit(std::size_t piece) const {
    return std::min(piece * units_per_piece, records_.size());
  }

  template <class AnyTracer>
  void render_unit(std::size_t unit, AnyTracer& tracer) const {
    const std::size_t first = unit * pixels_per_work_unit;
    const std::span<const std::uint32_t> pixels(
        pixels_.data() + first, std::min(pixels_per_work_unit, pixels_.size() - first));
    std::array<PixelSum, pixels_per_work_unit> sums{};
    RayCounts counts;
    render_pixels(view_, request_, pixels, tracer, sums.data(), counts);
  }

  template <Live live>
  Contender ours(int threads) const {
    return [this, threads](std::size_t piece) {
      return timed(first_unit(piece), first_unit(piece + 1), threads, options_.clock,
                   [this](std::size_t unit) {
                     Replayer<Tracer, live> tracer(Tracer(scene_), records_[unit]);
                     render_unit(unit, tracer);
                   });
    };
  }

  double bare_s(const Kind& kind, const BareLoop& loop, std::size_t begin, std::size_t end,
                int threads) const {
    return timed(begin, end, threads, options_.clock, [&](std::size_t unit) {
      const std::uint32_t sum = loop.trace(scene_.handle(), records_[unit].*kind.rays);
#pragma omp atomic
      checksum_sink += sum;
    });
  }

  /// The fastest bare loop on one thread, by the lowest of three.
  void choose_peer(Kind& kind, const std::vector<BareLoop>& loops, std::ostream& log) const {
    double best_s = 1e30;
    for (const BareLoop& loop : loops) {
      double loop_s = 1e30;
      for (int repeat = 0; repeat < 3; ++repeat)
        loop_s = std::min(loop_s, bare_s(kind, loop, 0, records_.size(), 1));
      log << fmt::format("{}: {} {:.2f} Mrays/s\n", kind.name, loop.name,
                         1e-6 * kind.ray_count / loop_s);
      if (loop_s < best_s) {
        best_s = loop_s;
        kind.peer = loop;
      }
    }
  }

  void print(int threads, const std::vector<std::vector<double>>& passes, std::ostream& out) const {
    const auto row = [&](const std::string& name, double rays, auto ours_s, auto peer_s) {
      std::vector<double> ours, peer, ratio;
      for (const std::vector<double>& pass : passes) {
        ours.push_back(1e-6 * rays / ours_s(pass));
        peer.push_back(1e-6 * rays / peer_s(pass));
        ratio.push_back(ours.back() / peer.back());
      }
      out << to_csv(
          {"render." + name, median(ours), median(peer), median(ratio), "Mrays/s", threads})
          << '\n';
    };
    double all_rays = 0;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      all_rays += kinds_[i].ray_count;
      row(
          kinds_[i].name, kinds_[i].ray_count, [i](const auto& s) { return s[1 + i] - s[0]; },
          [i](const auto& s) { return s[5 + i]; });
    }
    row(
        "whole", all_rays, [](const auto& s) { return s[4]; },
        [](const auto& s) { return s[5] + s[6] + s[7]; });
    out.flush();
  }

  const EmbreeScene& scene_;
  SceneView view_;
  RenderOptions options_;
  FrameRequest request_;
  std::vector<std::uint32_t> pixels_;
  std::vector<UnitRecord> records_;
  std::vector<Kind> kinds_;
};

} // namespace

const std::vector<RowName>& render_rows() {
  static const std::vector<RowName> rows{
      {"render.primary",
       "camera rays through our path loop, shading taken off, beside bare Embree"},
      {"render.bounced", "nearest hits of scattered rays, likewise"},
      {"render.shadow", "any hits towards the sun, likewise"},
      {"render.whole", "all rays, our time with shading, beside the bare loops' summed time"},
  };
  return rows;
}

void compare_render(const RenderOptions& options, std::ostream& out, std::ostream& log) {
  Settings settings;
  settings.triangles = options.scene_triangles;
  log << "building the scene\n";
  const auto source = std::make_shared<const RenderScene>(make_scene(settings));
  EmbreeScene scene(source, Acceleration::rebuild, omp_get_max_threads());
  scene.deform(options.frame, omp_get_max_threads());
  scene.build();
  log << fmt::format("{} triangles; recording rays\n", source->mesh.triangles.size());
  with_tracer(scene, [&](auto tracer) {
    Comparison<decltype(tracer)> comparison(scene, options);
    comparison.choose_peers(log);
    out << row_header << '\n';
    for (const int threads : thread_counts(options.threads))
      comparison.measure(threads, out, log);
  });
}

} // namespace breakeven::peers
