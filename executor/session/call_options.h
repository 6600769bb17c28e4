#ifndef SLUICE_EXECUTOR_SESSION_CALL_OPTIONS_H_
#define SLUICE_EXECUTOR_SESSION_CALL_OPTIONS_H_

#include <string>

#include "absl/time/time.h"
#include "executor/trace/node_observer.h"
#include "executor/trace/node_outputs.h"
#include "graph/base/cancellation.h"

namespace sluice {

// How a signature is prepared. The pointer may be null and outlives the call.
struct PrepareOptions {
  absl::Time deadline = absl::InfiniteFuture();  // Preparing is given up then.
  CancellationManager* cancellation = nullptr;   // Or when this is cancelled.
  // What checkpoints know the signature by, for the state that is its own (generator_states.h): printable, without '/'.
  // Empty: by a hash of its feeds, fetches and targets.
  std::string plan_name = {};
};

// How one call runs. Pointers may be null and outlive the call.
struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // Ends the call when it is cancelled.
  NodeObserver* observer = nullptr;
  const NodeOutputsCallback* node_outputs = nullptr;  // Is called with what each node gives; `observer` is told before.
  // Whose threads work: the session's own pool, the n-th of SessionOptions::pools, or only the calling thread (and
  // those that complete asynchronous kernels).
  static constexpr int kSessionPool = 0, kCallerThread = -1;
  int pool = kSessionPool;
  // After so long without progress the log says what the run hangs on (StallWatch), and where the deadline ends it
  // then, so does its error. Zero: the session's stall_timeout. Less is refused (kWrongUse).
  absl::Duration stall_timeout = absl::ZeroDuration();
  // For calls by name: see FeedFetchSpec::fed_is_answer.
  bool fed_is_answer = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_CALL_OPTIONS_H_
