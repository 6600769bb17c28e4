#ifndef SLUICE_EXECUTOR_STALL_WATCH_H_
#define SLUICE_EXECUTOR_STALL_WATCH_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "executor/threads/deadline_timer.h"
#include "executor/trace/node_observer.h"
#include "graph/base/mutex.h"
#include "graph/ir/graph.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {

// Watches one run and reports what it waits for: when no kernel has begun or ended for a while, a line in the log names
// the nodes that run (with op, and since when) and the keys of the rendezvous at which one side waits for the other.
// The line comes again after twice the time, and so on, until something moves.
//
//   StallWatch watch({absl::Seconds(10), graph, rendezvous.get()});
//   args.observer = &watch;
//   absl::Status status = watch.Explain(executor->Run(args));
//
// It is an observer: a run without it pays nothing; one with it pays a lock and the clock twice per kernel. It looks on
// a service thread, as a call of DeadlineTimer. Lives longer than the run. Thread-safe.
class StallWatch final : public NodeObserver {
 public:
  struct Options {
    absl::Duration timeout;  // Without progress. REQUIRES: > 0.
    const Graph& graph;      // The graph that runs.
    const LocalRendezvous* rendezvous = nullptr;
    NodeObserver* next = nullptr;  // Receives all calls too.
  };

  // Borrows what `options` names. Looks from now on, unless it `is_idle`: then from Resume on.
  explicit StallWatch(const Options& options, bool is_idle = false);
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch() override;

  void OnStart(NodeId node, int64_t start_ns) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnFailure(NodeId node, int64_t start_ns) override ABSL_LOCKS_EXCLUDED(mu_);

  // Looks while somebody waits for the run: between Resume and Pause, which nest. What Resume throws for want of memory
  // leaves the watch as it was.
  void Resume() ABSL_LOCKS_EXCLUDED(mu_);
  void Pause() ABSL_LOCKS_EXCLUDED(mu_);

  // What the run answers: `status`, but kStalled with the last report where the deadline ended a run that hung, and
  // there is memory to say so.
  absl::Status Explain(const absl::Status& status) const noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // The last report on the run; empty if there was none, or if a kernel has begun since.
  std::string report() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // A kernel call under way: its node, and its start. The same twice: two calls.
  using Calls = std::multiset<std::pair<int64_t, NodeId>>;

  void Look() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // The report on what the run waits for, if it is due; else "".
  std::string Report() ABSL_LOCKS_EXCLUDED(mu_);
  // Has Look called in `time`. The second keeps what is thrown to itself: a later call tries again.
  void LookIn(absl::Duration time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LookAgainIn(absl::Duration time) noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);
  void EndCall(NodeId node, int64_t start_ns) ABSL_LOCKS_EXCLUDED(mu_);
  void Moved() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string DescribeCalls(int64_t now_ns) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string DescribeKeys() const;

  const Options options_;
  mutable Mutex mu_;
  Calls calls_ ABSL_GUARDED_BY(mu_);
  int64_t moved_ns_ ABSL_GUARDED_BY(mu_) = 0;     // When a kernel last began or ended.
  absl::Duration patience_ ABSL_GUARDED_BY(mu_);  // How long from then to the next report.
  std::string report_ ABSL_GUARDED_BY(mu_);
  int num_waiting_ ABSL_GUARDED_BY(mu_) = 0;    // Resume without Pause.
  bool is_timed_ ABSL_GUARDED_BY(mu_) = false;  // A look will come, at time_.
  absl::Time time_ ABSL_GUARDED_BY(mu_);
  DeadlineTimer::Id timer_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_STALL_WATCH_H_
