#ifndef SLUICE_KERNELS_SAVED_STATE_H_
#define SLUICE_KERNELS_SAVED_STATE_H_

#include "graph/value/tensor.h"

namespace sluice {

// Base of kernels that keep state from run to run, other than a generator (kernels/random/seeded_generator.h), so that
// checkpoints can hold it: found by type among the kernels of a session (executor/session/generator_states.h).
// Thread-safe, as kernels are, even during a run. Not for state in resources (variables, tables, queues).
class SavedState {
 public:
  virtual ~SavedState() = default;

  // The state as a small tensor.
  virtual Tensor SaveState() const = 0;
  // Continues from the result of SaveState, perhaps of another process. Returns false, keeping the present state, if
  // `saved` is not a state of such a kernel.
  virtual bool RestoreState(const Tensor& saved) const = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_SAVED_STATE_H_
