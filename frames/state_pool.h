#ifndef SLUICE_FRAMES_STATE_POOL_H_
#define SLUICE_FRAMES_STATE_POOL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

// Keeps states, with their memory, for reuse by later runs. States that a run did not take cost it nothing, and most of
// them are freed at its end, so that one large run does not hold memory for ever. Owns all states. Not thread-safe.
template <typename State>
class StatePool {
 public:
  // Returns a free state, or makes one from `args`. Changes nothing if it throws.
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
  // Takes a state back. REQUIRES: returned by Take, and not given back since.
  void Put(State* state) noexcept { free_.push_back(state); }

  // Ends a run: calls `reset` for each state that it took, given back or not, and makes all of them free.
  template <typename Reset>
  void PutAll(Reset&& reset) {
    // The first num_idle_ free states were never taken. The others may be in any order, or missing.
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
  size_t num_idle_ = 0;       // The smallest size of free_ since the last PutAll.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_STATE_POOL_H_
