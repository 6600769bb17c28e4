#ifndef SLUICE_EXECUTOR_COMPILED_EXECUTOR_KINDS_H_
#define SLUICE_EXECUTOR_COMPILED_EXECUTOR_KINDS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/compiled/local_executor.h"
#include "executor/executor.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/ir/graph.h"

namespace sluice {

// Makes an executor of one kind. Called from any thread.
using ExecutorFactory =
    absl::AnyInvocable<absl::StatusOr<std::unique_ptr<Executor>>(const LocalExecutorParams& params, Graph graph) const>;

// The kinds of executors that can be chosen by name: those of NewExecutor, and what a host adds.
//
//   ExecutorKinds kinds;
//   SLUICE_RETURN_IF_ERROR(kinds.Add("MINE", &NewMyExecutor));
//   SessionOptions options;
//   options.executor_kinds = &kinds;
//   options.executor = "MINE";
//
// What a session provides to executors that a host adds, and expects of them:
// - A graph in which all calls of functions are inlined: the whole step, or one device's part of it where a step is on
//   several. How long what `params` names lives is said in CompiledGraph::Options.
// - Several runs at once, each with its own Args, which must be honoured as executor.h says. Args::cancellation is the
//   step's manager; the first error should cancel it, else other parts of the step continue until they use the
//   rendezvous, which the step aborts when `done` receives the error.
// - `done` must be called once, when all work of the run has stopped. If it is destroyed uncalled, the run ends with
//   kRunCancelled; if it is kept and never called, the step waits for ever. Exceptions of RunAsync are logged, and the
//   run continues until `done` is called or destroyed. If the executor ignores the deadline, it is checked when `done`
//   is called.
//
// Only grows. Thread-safe.
class ExecutorKinds {
 public:
  ExecutorKinds() = default;
  ExecutorKinds(const ExecutorKinds&) = delete;
  ExecutorKinds& operator=(const ExecutorKinds&) = delete;

  // The kinds of NewExecutor only. Never destroyed.
  static const ExecutorKinds& Builtin();
  // Whether NewExecutor knows `kind`.
  static bool IsBuiltin(absl::string_view kind);

  // Returns kWrongUse if a kind of that name exists.
  absl::Status Add(absl::string_view kind, ExecutorFactory factory) ABSL_LOCKS_EXCLUDED(mu_);
  bool Has(absl::string_view kind) const ABSL_LOCKS_EXCLUDED(mu_);
  // Returns NOT_FOUND for an unknown kind, else the factory's result.
  absl::StatusOr<std::unique_ptr<Executor>> Create(absl::string_view kind, const LocalExecutorParams& params,
                                                   Graph graph) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  HashMap<std::string, std::unique_ptr<const ExecutorFactory>> factories_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_EXECUTOR_KINDS_H_
