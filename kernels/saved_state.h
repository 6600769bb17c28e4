#ifndef SLUICE_KERNELS_SAVED_STATE_H_
#define SLUICE_KERNELS_SAVED_STATE_H_

#include "graph/value/tensor.h"

namespace sluice {

// What a kernel that keeps state from run to run, other than a generator (kernels/random/seeded_generator.h), adds to
// its class, so that checkpoints can hold this state: found by type among the kernels of a session
// (executor/session/generator_states.h). Thread-safe, as kernels are: a run may be under way. State in resources
// (variables, tables, queues) is not saved in this way.
class SavedState {
 public:
  virtual ~SavedState() = default;

  // The state as a small tensor.
  virtual Tensor SaveState() const = 0;
  // Continues from what SaveState has given, perhaps in another process. Returns false, and keeps the present state,
  // where `saved` is not a state of such a kernel.
  virtual bool RestoreState(const Tensor& saved) const = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_SAVED_STATE_H_
