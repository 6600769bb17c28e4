#ifndef SLUICE_EXECUTOR_SESSION_GENERATOR_STATES_H_
#define SLUICE_EXECUTOR_SESSION_GENERATOR_STATES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/session/callable.h"
#include "executor/session/session.h"

namespace sluice {

// Appends what the kernels of a session keep from run to run (SavedState in kernels/saved_state.h: the positions of
// random generators, how often Print was called), as tensors that a checkpoint can hold, by names that no variable has:
//   sluice_generator/NODE                  state that all signatures share, by the name of its node;
//   sluice_call_state/PLAN/FUNCTION/NODE   state of one signature: of nodes in functions that it calls (Note [State of
//                                          calls]). PLAN is PrepareOptions::plan_name; ".1" and so on follow where the
//                                          signature was prepared more than once. FUNCTION names an instance.
// With `callables`, appends only the state of their nodes, not that of, say, the signature that initialised variables.
// Generators in variables are saved as variables. Left out: what candidate samplers have learnt, and functions that a
// host's kernel has found in an earlier plan than those of `callables`.
void AppendGeneratorStates(Session& session, absl::Span<const Callable* const> callables, NamedTensors* tensors);

// Lets the kernels of the session continue as `tensors` say. Those that it does not name stay as they are. Make the
// kernels before, by Prepare or a run, and those of one signature with the signature that will continue.
// kCheckpointEntry for a tensor that is not a state of its kernel.
absl::Status RestoreGeneratorStates(Session& session, const NamedTensors& tensors);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_GENERATOR_STATES_H_
