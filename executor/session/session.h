#ifndef SLUICE_EXECUTOR_SESSION_SESSION_H_
#define SLUICE_EXECUTOR_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "executor/session/callable.h"
#include "executor/session/partial_run.h"
#include "executor/session/prepared_signatures.h"
#include "executor/session/session_core.h"
#include "executor/session/session_graph.h"
#include "graph/base/mutex.h"
#include "graph/ir/graph.h"
#include "graph/ir/import.h"

namespace sluice {

// Values by name: "node" or "node:1".
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// A graph, and the state of running it: variables and other resources live as long as their devices, which the session
// owns unless it was given some.
//
//   SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(SessionOptions(), graph));
//   SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> out, session->Run({{"x", x}}, {"y"}, {}));
//
// Thread-safe: any number of runs at once.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(const SessionOptions& options, Graph graph);
  // The same over a graph that others read too: a copy of a million nodes takes 120 MB. Extend makes one.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const SessionOptions& options,
                                                         std::shared_ptr<const Graph> graph);
  // Closes it. If nothing else (such as a running step) holds the session's pools, waits for the work of their threads,
  // the `done` of a step included, which must not wait for this thread then.
  ~Session();

  // Adds the nodes and functions of a GraphDef, which may use existing ones; see Note [Extending a session] and
  // GraphExtender. Costs what is added, and a run of what was added costs what its fetches need, whatever the size of
  // the graph; prepared signatures stay prepared. On error (kSessionClosed, kWrongUse after Finalize, those of the
  // import) the session is as it was.
  absl::Status Extend(GraphSource added);
  // Sets another version of the graph, which may differ in anything. Callables prepared before keep their version;
  // variables survive, and so does the state of kernels whose nodes are as before. kSessionClosed, and kWrongUse after
  // Finalize.
  absl::Status Replace(Graph graph) ABSL_LOCKS_EXCLUDED(mu_);

  // Frees the graph. What was prepared still runs, also by Run with the signatures kept (SessionOptions::max_prepared);
  // Extend, Replace, Prepare and new signatures are refused (kWrongUse).
  absl::Status Finalize() ABSL_LOCKS_EXCLUDED(mu_);

  // One step: feeds by name, the fetched values in order, targets run for their effect. A prepared signature is kept
  // for its next run, and if several threads begin with one, one of them prepares it (Note [One preparation]).
  absl::StatusOr<std::vector<Tensor>> Run(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets, const CallOptions& options = {});

  // The same without waiting: see Callable::RunAsync. The feeds are kept until the step is over, and the signature is
  // prepared, where it is new, before this returns. `done` gets what Run would return, once, perhaps before this
  // returns. What `options` point to must live until then; the session need not: its end cancels the step (CANCELLED).
  using RunDone = absl::AnyInvocable<void(absl::StatusOr<std::vector<Tensor>>)>;
  void RunAsync(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                const std::vector<std::string>& targets, const CallOptions& options, RunDone done) noexcept;

  // Prepares a signature for many calls; kDeadline or the cancellation's status, by `options`. Run prepares under its
  // own call's deadline and cancellation.
  absl::StatusOr<std::shared_ptr<const Callable>> Prepare(const FeedFetchSpec& spec, const PrepareOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mu_);

  // Sets up one step that is fed and fetched in several calls; see PartialRun. The handle is for PRun. Every feed and
  // fetch may be used once; the step ends when all were, or at the first error of a node. Its handle ends with the call
  // of PRun that finds that out, or, if the limit of open runs is reached, with the next PRunSetup.
  // `options` of the setup hold for the whole step, and what they point to must outlive it; those of PRun for the call,
  // whose deadline or cancellation ends the step too (its observer, pool and stall_timeout are the setup's). kLimitRuns
  // if SessionOptions::max_partial_runs are open.
  absl::StatusOr<std::string> PRunSetup(const FeedFetchSpec& spec, const CallOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<std::vector<Tensor>> PRun(const std::string& handle, const NamedTensors& feeds,
                                           const std::vector<std::string>& fetches, const CallOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mu_);

  // Cancels running steps (kSessionClosed, a CANCELLED) and refuses new ones. Waits for partial runs only. Frees the
  // name for other sessions. Idempotent. A `done` that is called inside of it may free the session.
  absl::Status Close();
  // Clears the containers of all devices ("" or none: the default one), forgets the state that kernels keep themselves
  // (Note [Kernel store]), and gives memory that is not needed any more back to the system. Callables from before keep
  // the variables and the kernels that they have used.
  void Reset(const std::vector<std::string>& containers) ABSL_LOCKS_EXCLUDED(mu_);

  // A copy of the graph as it is now, at the cost of all of it. Null after Finalize.
  std::shared_ptr<const Graph> CopyGraph() const { return graph_.Copy(); }
  SessionCore& core() { return *core_; }
  // Steps of Run and RunAsync that are over, those with errors included; and those alone. Callables do not count.
  int64_t num_runs() const { return core_->num_runs(); }
  int64_t num_errors() const { return core_->num_errors(); }
  // Partial runs that have a handle.
  size_t num_partial_runs() const ABSL_LOCKS_EXCLUDED(mu_);
  // Signatures kept by Run.
  size_t num_prepared() const { return prepared_.size(); }

 private:
  // The callable of one step by name, and its arguments.
  struct NamedCall {
    std::shared_ptr<const Callable> callable;
    std::vector<Tensor> inputs, outputs;
  };
  struct AsyncRun;

  // `graph`: a Graph, or a shared one.
  template <typename AnyGraph>
  Session(std::shared_ptr<SessionCore> core, AnyGraph graph)
      : core_(std::move(core)), graph_(std::move(graph)), prepared_(core_->options().max_prepared) {}

  // Prepares the signature unless it is kept. Gives `options` without a deadline the session's timeout.
  absl::Status PrepareCall(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                           const std::vector<std::string>& targets, CallOptions* options, NamedCall* call);
  absl::StatusOr<std::vector<Tensor>> RunPart(const std::string& handle, const NamedTensors& feeds,
                                              const std::vector<std::string>& fetches, const CallOptions& options);
  // Drops the handles of steps that have failed between calls of PRun: their users may never call again.
  void ForgetFailedPartialRuns() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether there is a graph to prepare from: kSessionClosed, or kWrongUse after Finalize.
  absl::Status CheckCanPrepare() const;
  absl::StatusOr<std::shared_ptr<const Callable>> FindOrPrepare(const FeedFetchSpec& spec,
                                                                const PrepareOptions& options);

  const std::shared_ptr<SessionCore> core_;
  // These guard themselves.
  SessionGraph graph_;
  PreparedSignatures prepared_;
  // Not Abseil's tables, which break if growing throws: these survive that.
  mutable Mutex mu_;
  int64_t next_partial_run_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, std::shared_ptr<PartialRun>> partial_runs_ ABSL_GUARDED_BY(mu_);
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;  // Refuses new partial runs.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SESSION_H_
