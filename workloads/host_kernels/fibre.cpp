#include "workloads/host_kernels/fibre.h"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <utility>

// The sanitizers follow one stack per thread unless they are told of every switch. Nothing else in
// host_kernels asks how it is compiled.
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define BREAKEVEN_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define BREAKEVEN_THREAD_SANITIZER 1
#endif

namespace breakeven::host_kernels {

namespace {

// Kernels keep a traversal stack of a few hundred bytes; sanitizers multiply frames several times.
constexpr std::size_t stack_bytes = 128 * 1024;

boost::context::pooled_fixedsize_stack& stack_pool() {
  thread_local boost::context::pooled_fixedsize_stack pool(stack_bytes);
  return pool;
}

/// Tells the sanitizers about the two stacks of a fibre and of whoever resumes it.
class SwitchNotes {
public:
#if defined(BREAKEVEN_ADDRESS_SANITIZER)
  void entering(const void* bottom, std::size_t size) {
    __sanitizer_start_switch_fiber(&resumer_fake_, bottom, size);
  }
  void back_in_resumer() { __sanitizer_finish_switch_fiber(resumer_fake_, nullptr, nullptr); }
  void inside_fibre() {
    __sanitizer_finish_switch_fiber(fibre_fake_, &resumer_bottom_, &resumer_size_);
  }
  void leaving() { __sanitizer_start_switch_fiber(&fibre_fake_, resumer_bottom_, resumer_size_); }
  void ending() { __sanitizer_start_switch_fiber(nullptr, resumer_bottom_, resumer_size_); }

private:
  void* resumer_fake_ = nullptr;
  void* fibre_fake_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  std::size_t resumer_size_ = 0;
#elif defined(BREAKEVEN_THREAD_SANITIZER)
  SwitchNotes() : fibre_(__tsan_create_fiber(0)) {}
  ~SwitchNotes() { __tsan_destroy_fiber(fibre_); }
  void entering(const void*, std::size_t) {
    resumer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibre_, 0);
  }
  void back_in_resumer() {}
  void inside_fibre() {}
  void leaving() { __tsan_switch_to_fiber(resumer_, 0); }
  void ending() { __tsan_switch_to_fiber(resumer_, 0); }

private:
  void* fibre_;
  void* resumer_ = nullptr;
#else
  void entering(const void*, std::size_t) {}
  void back_in_resumer() {}
  void inside_fibre() {}
  void leaving() {}
  void ending() {}
#endif
};

/// Gives the pool's stack and remembers where it is.
struct NotedStack {
  const void** bottom;
  std::size_t* size;
  boost::context::stack_context allocate() {
    const boost::context::stack_context stack = stack_pool().allocate();
    *bottom = static_cast<const char*>(stack.sp) - stack.size;
    *size = stack.size;
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) { stack_pool().deallocate(stack); }
};

} // namespace

struct Fibre::State {
  std::function<void()> body;
  SwitchNotes notes;
  const void* stack_bottom = nullptr;
  std::size_t stack_size = 0;
  boost::context::fiber fibre, resumer;
  bool ended = false;
};

Fibre::Fibre(std::function<void()> body) : state_(std::make_unique<State>()) {
  State* state = state_.get();
  state->body = std::move(body);
  state->fibre = boost::context::fiber(std::allocator_arg,
                                       NotedStack{&state->stack_bottom, &state->stack_size},
                                       [state](boost::context::fiber&& resumer) {
                                         state->resumer = std::move(resumer);
                                         state->notes.inside_fibre();
                                         state->body();
                                         state->ended = true;
                                         state->notes.ending();
                                         return std::move(state->resumer);
                                       });
}

Fibre::~Fibre() = default;

bool Fibre::resume() {
  state_->notes.entering(state_->stack_bottom, state_->stack_size);
  state_->fibre = std::move(state_->fibre).resume();
  state_->notes.back_in_resumer();
  return !state_->ended;
}

void Fibre::suspend() {
  State* state = state_.get();
  state->notes.leaving();
  state->resumer = std::move(state->resumer).resume();
  state->notes.inside_fibre();
}

} // namespace breakeven::host_kernels
