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
// What a session gives to executors of a host's kind, and expects of them:
// - A graph in which all calls of functions are inlined: the whole step, or one device's part of it where a step is on
//   several. How long what `params` names lives is said in CompiledGraph::Options.
// - Several runs at once, each with Args of its own, to be honoured as executor.h says. Their manager is the step's,
//   and the first error should cancel it; else other parts of the step go on until they meet the rendezvous, which the
//   step aborts when `done` gets the error.
// - `done` once, when all work of the run has stopped. Where it is destroyed uncalled, the run ends with kRunCancelled;
//   one that is kept and never called is waited for. Exceptions of RunAsync are logged, and the run continues until
//   `done` is called or destroyed. A deadline that the executor has not looked at counts when `done` is called.
//
// Only grows. Thread-safe.
class ExecutorKinds {
 public:
  ExecutorKinds() = default;
  ExecutorKinds(const ExecutorKinds&) = delete;
  ExecutorKinds& operator=(const ExecutorKinds&) = delete;

  // Those of NewExecutor alone. Lives for ever.
  static const ExecutorKinds& Builtin();
  // Whether NewExecutor knows `kind`.
  static bool IsBuiltin(absl::string_view kind);

  // kWrongUse when there is a kind of that name.
  absl::Status Add(absl::string_view kind, ExecutorFactory factory) ABSL_LOCKS_EXCLUDED(mu_);
  bool Has(absl::string_view kind) const ABSL_LOCKS_EXCLUDED(mu_);
  // NOT_FOUND for unknown kinds; else what the factory says.
  absl::StatusOr<std::unique_ptr<Executor>> Create(absl::string_view kind, const LocalExecutorParams& params,
                                                   Graph graph) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  HashMap<std::string, std::unique_ptr<const ExecutorFactory>> factories_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_EXECUTOR_KINDS_H_
