// A Python process that runs cc3d and edt when asked (imaging_specialists.py says what), and holds
// one mask at a time.
#pragma once

#include "workloads/imaging/volume.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace breakeven::peers {

struct CallSeconds {
  double wall_s = 0, cpu_s = 0;
};

class Specialists {
public:
  /// Starts `python`; throws Failure, with what it said, where it or its packages are missing.
  explicit Specialists(const std::string& python);
  ~Specialists();
  Specialists(const Specialists&) = delete;
  Specialists& operator=(const Specialists&) = delete;

  const std::string& versions() const { return versions_; }
  void load(imaging::View<const std::uint8_t> mask);
  /// `what` is components, inside or outside. Means over `repeats` calls.
  CallSeconds time(const std::string& what, int repeats, int threads);
  /// Of the last call.
  std::vector<std::uint32_t> labels();
  std::vector<float> distances();

private:
  void stop();
  std::string ask(const std::string& request); ///< throws Failure on an error
  template <class T>
  std::vector<T> result();

  int requests_ = -1, answers_ = -1,
      process_ = -1; ///< two pipes' ends, and whose the other ends are
  std::string versions_, unread_;
  std::filesystem::path folder_;
};

} // namespace breakeven::peers
