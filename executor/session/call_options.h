#ifndef SLUICE_EXECUTOR_SESSION_CALL_OPTIONS_H_
#define SLUICE_EXECUTOR_SESSION_CALL_OPTIONS_H_

#include <string>

#include "absl/time/time.h"
#include "executor/trace/node_observer.h"
#include "executor/trace/node_outputs.h"
#include "graph/base/cancellation.h"

namespace sluice {

// How a signature is prepared. The pointer may be null and must outlive the call.
struct PrepareOptions {
  absl::Time deadline = absl::InfiniteFuture();  // Preparing ends then.
  CancellationManager* cancellation = nullptr;   // Or when this is cancelled.
  // The signature's name in checkpoints, for its own state (generator_states.h): printable, without '/'. Empty: a hash
  // of its feeds, fetches and targets.
  std::string plan_name = {};
};

// How one call runs. Pointers may be null and outlive the call.
struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // Ends the call when it is cancelled.
  NodeObserver* observer = nullptr;
  const NodeOutputsCallback* node_outputs = nullptr;  // Called with the outputs of each node, after `observer`.
  // Whose threads work: the session's own pool, the n-th of SessionOptions::pools, or only the calling thread (and
  // those that complete asynchronous kernels).
  static constexpr int kSessionPool = 0, kCallerThread = -1;
  int pool = kSessionPool;
  // After this time without progress the log says what the run waits for (StallWatch); if the deadline then ends it,
  // its error does too. Zero: the session's stall_timeout. Negative: kWrongUse.
  absl::Duration stall_timeout = absl::ZeroDuration();
  // For calls by name: see FeedFetchSpec::fed_is_answer.
  bool fed_is_answer = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_CALL_OPTIONS_H_
