#ifndef SLUICE_KERNELS_STEP_STEP_CONTAINER_H_
#define SLUICE_KERNELS_STEP_STEP_CONTAINER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/strong_id.h"
#include "kernels/resources/resource_manager.h"

namespace sluice {

// Resources that live as long as one step: TensorArrays, stacks, temporary variables. Everything ends with it; what was
// deleted before stays until then, since references to it may be under way. Most steps have none, so their holder is
// made on first use. Owned by what runs the step. Thread-safe.
class StepContainer {
 public:
  explicit StepContainer(StepId step_id) : step_id_(step_id) {}
  StepContainer(const StepContainer&) = delete;
  StepContainer& operator=(const StepContainer&) = delete;
  // Relaxed: the step is over.
  ~StepContainer() { const std::unique_ptr<ResourceManager> ended(resources_.load(std::memory_order_relaxed)); }

  // "__per_step_17": the container name that handles carry.
  std::string name() const { return absl::StrCat("__per_step_", step_id_.value()); }
  StepId step_id() const { return step_id_; }
  // The same for all callers. The first call allocates.
  ResourceManager& resources() {
    ResourceManager* const made = resources_.load(std::memory_order_acquire);  // Acquire: what its maker wrote.
    return made != nullptr ? *made : MakeResources();
  }
  // A number that no other caller of this step gets, for unique names.
  int64_t NextNumber() { return next_number_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: unique only.

 private:
  ResourceManager& MakeResources() {
    auto mine = std::make_unique<ResourceManager>();
    ResourceManager* first = nullptr;
    // Release publishes mine, acquire sees another thread's.
    if (!resources_.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
      return *first;
    }
    return *mine.release();
  }

  const StepId step_id_;
  std::atomic<ResourceManager*> resources_{nullptr};  // Owned; null until it is asked for.
  std::atomic<int64_t> next_number_{0};
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STEP_STEP_CONTAINER_H_
