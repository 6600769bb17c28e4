#ifndef SLUICE_EXECUTOR_SESSION_GENERATOR_STATES_H_
#define SLUICE_EXECUTOR_SESSION_GENERATOR_STATES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/session/callable.h"
#include "executor/session/session.h"

namespace sluice {

// Which numbers the random ops of a session have given, those whose nodes keep their generator: as tensors that a
// checkpoint can hold, by names that no variable has ("sluice_generator/" and the node). Generators in variables are
// saved as these are. With `callables`, those of their nodes only: what gave variables their first values is over, say.
// Left out: what kernels know beside a generator (learning candidate samplers, samplers with
// weights from files), and nodes in functions that a step calls without inlining them.
void AppendGeneratorStates(Session& session, absl::Span<const Callable* const> callables, NamedTensors* tensors);

// Lets the random ops go on as `tensors` say. Those that it does not name stay as they are; their kernels must have
// been made, by Prepare or a run. kCheckpointEntry for a state that is none.
absl::Status RestoreGeneratorStates(Session& session, const NamedTensors& tensors);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_GENERATOR_STATES_H_
