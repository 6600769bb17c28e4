#ifndef SLUICE_KERNELS_STEP_STEP_CONTAINER_H_
#define SLUICE_KERNELS_STEP_STEP_CONTAINER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/strong_id.h"
#include "kernels/resources/resource_manager.h"

namespace sluice {

// Resources that live as long as one step: TensorArrays, stacks, temporary variables. Everything ends with it; what was
// deleted before stays until then, since references to it may be under way.
// Owned by whoever runs the step. Thread-safe.
class StepContainer {
 public:
  explicit StepContainer(StepId step_id) : step_id_(step_id) {}

  // "__per_step_17": the container name that handles carry.
  std::string name() const { return absl::StrCat("__per_step_", step_id_.value()); }
  StepId step_id() const { return step_id_; }
  ResourceManager& resources() { return resources_; }
  // A number that no other caller of this step gets, for unique names.
  int64_t NextNumber() { return next_number_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: unique only.

 private:
  const StepId step_id_;
  ResourceManager resources_;
  std::atomic<int64_t> next_number_{0};
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STEP_STEP_CONTAINER_H_
