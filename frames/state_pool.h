#ifndef SLUICE_FRAMES_STATE_POOL_H_
#define SLUICE_FRAMES_STATE_POOL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

// States of one kind that runs need again and again, with their memory. Those that a run did not take cost it nothing,
// and most of them go at its end: a run that needed many does not burden all that come after it.
// Owns all of them. Not thread-safe.
template <typename State>
class StatePool {
 public:
  // Takes a free one, or makes one from `args`. Changes nothing where it throws.
  template <typename... Args>
  State& Take(Args&&... args) {
    if (free_.empty()) {
      // Returning a state to the free list must not fail, not even without memory.
      const size_t count = all_.size() + 1;
      if (free_.capacity() < count) free_.reserve(std::max(count, 2 * free_.capacity()));
      all_.push_back(std::make_unique<State>(std::forward<Args>(args)...));
      return *all_.back();
    }
    State& state = *free_.back();
    free_.pop_back();
    num_idle_ = std::min(num_idle_, free_.size());
    return state;
  }
  // REQUIRES: taken from here, and not given back since.
  void Put(State* state) noexcept { free_.push_back(state); }

  // A run has ended: calls `reset` with each state that it took, given back or not, and takes all back.
  template <typename Reset>
  void PutAll(Reset&& reset) {
    // The first of the free ones were never taken. Others may be in any order, or not there.
    const size_t num_used = all_.size() - num_idle_;
    if (free_.size() == all_.size()) {
      for (size_t i = num_idle_; i < free_.size(); ++i) reset(*free_[i]);
    } else {
      for (const std::unique_ptr<State>& state : all_) reset(*state);
      free_.clear();
      for (const std::unique_ptr<State>& state : all_) free_.push_back(state.get());
    }
    if (all_.size() > 2 * num_used + kMinKept) Shrink(2 * num_used + kMinKept);
    num_idle_ = free_.size();
  }

  size_t size() const { return all_.size(); }

 private:
  static constexpr size_t kMinKept = 16;

  void Shrink(size_t count) {
    all_.resize(count);
    free_.clear();
    for (const std::unique_ptr<State>& state : all_) free_.push_back(state.get());
  }

  std::vector<std::unique_ptr<State>> all_;
  std::vector<State*> free_;  // The last one is taken next.
  size_t num_idle_ = 0;       // The least that free_ has held since the last PutAll.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_STATE_POOL_H_
