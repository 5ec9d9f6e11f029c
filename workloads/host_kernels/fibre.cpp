#include "workloads/host_kernels/fibre.h"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <atomic>
#include <cassert>
#include <utility>

// The sanitizers follow one stack per thread unless they are told of every switch. Nothing else in
// host_kernels asks how it is compiled.
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define BREAKEVEN_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define BREAKEVEN_THREAD_SANITIZER
#endif

namespace breakeven::host_kernels {

namespace {

namespace context = boost::context;

/// Tells the sanitizers about the stacks of a fibre and of whoever resumes it.
class SwitchNotes {
public:
#if defined(BREAKEVEN_ADDRESS_SANITIZER)
  void enter(const void* bottom, std::size_t size) {
    __sanitizer_start_switch_fiber(&resumer_frames_, bottom, size);
  }
  void entered() {
    __sanitizer_finish_switch_fiber(fibre_frames_, &resumer_bottom_, &resumer_size_);
  }
  void leave() { __sanitizer_start_switch_fiber(&fibre_frames_, resumer_bottom_, resumer_size_); }
  void leave_for_good() { __sanitizer_start_switch_fiber(nullptr, resumer_bottom_, resumer_size_); }
  void left() { __sanitizer_finish_switch_fiber(resumer_frames_, nullptr, nullptr); }
  /// The last frames of a fibre never return, so their red zones would outlive the stack.
  static void release(void* bottom, std::size_t size) {
    __asan_unpoison_memory_region(bottom, size);
  }

private:
  void* resumer_frames_ = nullptr;
  void* fibre_frames_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  std::size_t resumer_size_ = 0;
#elif defined(BREAKEVEN_THREAD_SANITIZER)
  SwitchNotes() : fibre_(__tsan_create_fiber(0)) {}
  ~SwitchNotes() { __tsan_destroy_fiber(fibre_); }
  SwitchNotes(const SwitchNotes&) = delete;
  SwitchNotes& operator=(const SwitchNotes&) = delete;
  void enter(const void*, std::size_t) {
    resumer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibre_, 0);
  }
  void entered() {}
  void leave() { __tsan_switch_to_fiber(resumer_, 0); }
  void leave_for_good() { leave(); }
  void left() {}
  static void release(void*, std::size_t) {}

private:
  void* fibre_;
  void* resumer_ = nullptr;
#else
  void enter(const void*, std::size_t) {}
  void entered() {}
  void leave() {}
  void leave_for_good() {}
  void left() {}
  static void release(void*, std::size_t) {}
#endif
};

// Kernels keep a traversal stack of a few hundred bytes, sanitizers make frames several times
// larger, and a fault composes its text here. Pages that nobody touches cost nothing.
constexpr std::size_t stack_bytes = 128 * 1024;

// A page that faults lies below a stack, so that an overflow is a crash at the right place. It
// splits the mapping in two, though, and Linux allows a process 65,530 (vm.max_map_count): 64 cores
// with 1,024 threads a block would need twice that. Later stacks go without; kernels that overflow
// do so in every thread.
constexpr int most_guarded_stacks = 8192;
std::atomic<int> stacks{0};

/// A fibre's stack: guarded where possible and given back at the end.
class Stack {
public:
  Stack()
      : guarded_(stacks.fetch_add(1) < most_guarded_stacks),
        memory_(guarded_ ? context::protected_fixedsize_stack(stack_bytes).allocate()
                         : context::fixedsize_stack(stack_bytes).allocate()) {}
  ~Stack() {
    SwitchNotes::release(bottom(), size());
    if (guarded_)
      context::protected_fixedsize_stack(stack_bytes).deallocate(memory_);
    else
      context::fixedsize_stack(stack_bytes).deallocate(memory_);
    --stacks;
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  char* top() const { return static_cast<char*>(memory_.sp); }
  char* bottom() const { return static_cast<char*>(memory_.sp) - memory_.size; }
  std::size_t size() const { return memory_.size; }

private:
  bool guarded_;
  context::stack_context memory_;
};

} // namespace

// Written on Boost's fcontext rather than its fiber class: that one runs the new stack once when it
// is made, behind the sanitizers' back, and ends by throwing.
struct Fibre::State {
  explicit State(std::function<void()> work)
      : body(std::move(work)),
        self(context::detail::make_fcontext(stack.top(), stack.size(), enter)) {}

  void resume() {
    notes.enter(stack.bottom(), stack.size());
    self = context::detail::jump_fcontext(self, this).fctx;
    notes.left();
  }

  void suspend() {
    notes.leave();
    resumer = context::detail::jump_fcontext(resumer, nullptr).fctx;
    notes.entered();
  }

  static void enter(context::detail::transfer_t from) {
    auto& state = *static_cast<State*>(from.data);
    state.resumer = from.fctx;
    state.notes.entered();
    while (!state.to_end) {
      state.inside_body = true;
      state.body();
      state.inside_body = false;
      state.suspend();
    }
    state.notes.leave_for_good();
    context::detail::jump_fcontext(state.resumer, nullptr);
  }

  std::function<void()> body;
  Stack stack;
  SwitchNotes notes;
  context::detail::fcontext_t self, resumer = nullptr;
  bool inside_body = false, to_end = false;
};

Fibre::Fibre(std::function<void()> body) : state_(std::make_unique<State>(std::move(body))) {}

// A last visit, so that the sanitizers forget the fibre. Nothing on its stack needs a destructor.
Fibre::~Fibre() {
  assert(!is_suspended());
  state_->to_end = true;
  resume();
}

void Fibre::resume() { state_->resume(); }

void Fibre::suspend() { state_->suspend(); }

bool Fibre::is_suspended() const { return state_->inside_body; }

} // namespace breakeven::host_kernels
