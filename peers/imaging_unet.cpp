#include "peers/imaging_unet.h"

#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/unet_onednn.h"

#include <algorithm>

namespace breakeven::peers {

imaging::UNetSpec unet_of_peers() {
  imaging::UNetSpec spec;
  spec.patch = {96, 96, 64};
  return spec;
}

std::vector<Row> compare_unet(const imaging::UNetSpec& spec, int threads, int pairs, Clock clock) {
  imaging::Memory memory = imaging::host_memory();
  imaging::OneDnnNetwork network(spec, imaging::seeded_weights(spec, 1), threads, memory);
  for (std::int64_t i = 0; i < spec.patch.voxels(); ++i)
    network.input()[i] = 0.01f * static_cast<float>(i % 199 - 99);
  const auto now_s = [&] { return clock == Clock::wall ? wall_s() : process_cpu_s() / threads; };
  const auto timed = [&](auto function) {
    const double start_s = now_s();
    function();
    return now_s() - start_s;
  };
  const auto layer_alone = [&](auto run) {
    run(); // warms its input and weights
    return timed(run);
  };
  // Filled by the second and third contender, read once a pass is done.
  std::vector<double> ours_s(network.layers()), library_s(network.layers());
  std::vector<double> network_pass_s, best_pass_s, library_pass_s;
  Interleaved contest({[&](std::size_t) { return timed([&] { network.run(); }); },
                       [&](std::size_t) {
                         double sum_s = 0;
                         for (std::size_t i = 0; i < network.layers(); ++i)
                           sum_s += ours_s[i] = layer_alone([&] { network.run_convolution(i); });
                         return sum_s;
                       },
                       [&](std::size_t) {
                         double sum_s = 0;
                         for (std::size_t i = 0; i < network.layers(); ++i)
                           sum_s += library_s[i] =
                               layer_alone([&] { network.run_library_convolution(i); });
                         return sum_s;
                       }},
                      1);
  const auto passes = contest.passes(pairs, [&](int) {
    double best_s = 0;
    for (std::size_t i = 0; i < network.layers(); ++i)
      best_s += std::min(ours_s[i], library_s[i]);
    best_pass_s.push_back(best_s);
  });
  for (const std::vector<double>& pass : passes) {
    network_pass_s.push_back(pass[0]);
    library_pass_s.push_back(pass[2]);
  }
  const auto row = [&](const char* name, const std::vector<double>& peer_s) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < peer_s.size(); ++i)
      ratios.push_back(peer_s[i] / network_pass_s[i]);
    return Row{name, median(network_pass_s), median(peer_s), median(ratios), "s", threads};
  };
  return {row("imaging.unet.convolutions", best_pass_s),
          row("imaging.unet.library", library_pass_s)};
}

} // namespace breakeven::peers
