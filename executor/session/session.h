#ifndef SLUICE_EXECUTOR_SESSION_SESSION_H_
#define SLUICE_EXECUTOR_SESSION_SESSION_H_

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "executor/session/callable.h"
#include "executor/session/session_core.h"
#include "graph/base/mutex.h"
#include "graph/ir/graph.h"

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
  ~Session();

  // A new version of the graph. Callables prepared before keep the version they were made from; variables survive.
  absl::Status Extend(Graph graph) ABSL_LOCKS_EXCLUDED(mu_);

  // One step: feeds by name, the fetched values in order, targets run for their effect. What was prepared for a
  // signature is kept for the next run of it.
  absl::StatusOr<std::vector<Tensor>> Run(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets, const CallOptions& options = {});

  // A signature for many calls.
  absl::StatusOr<std::shared_ptr<const Callable>> Prepare(const FeedFetchSpec& spec) ABSL_LOCKS_EXCLUDED(mu_);

  // Ends the runs under way (CANCELLED) and refuses new ones. Idempotent.
  absl::Status Close();
  // Clears the containers of all devices ("" or none: the default one).
  void Reset(const std::vector<std::string>& containers);

  // The graph now. It does not change; Extend replaces it.
  std::shared_ptr<const Graph> graph() const ABSL_LOCKS_EXCLUDED(mu_);
  SessionCore& core() { return *core_; }
  // Signatures kept by Run.
  size_t num_prepared() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Prepared {
    std::string key;
    std::shared_ptr<const Callable> callable;
  };

  explicit Session(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

  absl::StatusOr<std::shared_ptr<const Callable>> FindOrPrepare(const FeedFetchSpec& spec) ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<SessionCore> core_;
  mutable Mutex mu_;
  std::shared_ptr<const Graph> graph_ ABSL_GUARDED_BY(mu_);
  std::list<Prepared> recent_ ABSL_GUARDED_BY(mu_);  // Most recently used first.
  absl::flat_hash_map<absl::string_view, std::list<Prepared>::iterator> prepared_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SESSION_H_
