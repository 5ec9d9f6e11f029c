// How every peer is timed and printed: contenders take turns in a rotating order, so that a
// disturbance of the machine meets all of them alike; a row holds medians over the passes. Leaves
// out what the contenders do.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace breakeven::peers {

enum class Clock {
  wall, ///< what a user waits; needs an idle machine
  cpu   ///< summed over threads, over their number: leaves out what other processes took
};

double wall_s();
double thread_cpu_s();
double process_cpu_s();

double median(std::vector<double> values);

/// What was asked for, or 1, 2, 4 ... up to the machine's.
std::vector<int> thread_counts(const std::vector<int>& asked);

/// Does a piece of its work and gives the seconds that it took.
using Contender = std::function<double(std::size_t piece)>;

/// What comes before the passes that are kept.
enum class WarmUp { one_pass, none };

class Interleaved {
public:
  Interleaved(std::vector<Contender> contenders, std::size_t pieces)
      : contenders_(std::move(contenders)),
        pieces_(pieces) {}

  /// Seconds of each contender over all pieces, a vector a pass.
  std::vector<std::vector<double>> passes(int count, const std::function<void(int done)>& report,
                                          WarmUp warm_up = WarmUp::one_pass);

private:
  std::vector<double> pass();

  std::vector<Contender> contenders_;
  std::size_t pieces_, turn_ = 0;
};

/// A ratio above 1 means that ours is better.
struct Row {
  std::string name;
  double ours = 0, peer = 0, ratio = 0;
  std::string unit;
  int threads = 0;
};
constexpr const char* row_header = "name,ours,peer,ratio,unit,threads";
std::string to_csv(const Row& row);

struct RowName {
  const char* name;
  const char* meaning;
};

} // namespace breakeven::peers
