// One suspended function call with a stack of its own: Boost.Context's fiber plus what the
// sanitizers must be told when stacks change. Stacks are pooled per OS thread. Leaves out
// scheduling.
#pragma once

#include <functional>
#include <memory>

namespace breakeven::host_kernels {

class Fibre {
public:
  /// `body` starts at the first resume(). It must not outlive what it refers to.
  explicit Fibre(std::function<void()> body);
  ~Fibre(); ///< the body must have ended or never started
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// Runs the body until it calls suspend() or ends. False once it has ended.
  bool resume();
  /// Called from inside the body: goes back to the resume() that ran it.
  void suspend();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace breakeven::host_kernels
