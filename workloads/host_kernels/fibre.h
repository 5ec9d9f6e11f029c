// A function call with a stack of its own, which can stop half-way and go on later: a switch of
// Boost.Context, plus what the sanitizers must be told when stacks change. Leaves out who runs
// when.
#pragma once

#include <functional>
#include <memory>

namespace breakeven::host_kernels {

class Fibre {
public:
  explicit Fibre(std::function<void()> body); ///< which must not throw
  ~Fibre();                                   ///< the body must not be suspended
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// Runs the body until it returns or calls suspend(). After a return, the next resume() runs it
  /// anew on the same stack.
  void resume();
  /// From inside the body: back to the resume() that runs it.
  void suspend();
  bool is_suspended() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace breakeven::host_kernels
