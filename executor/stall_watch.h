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
// If nothing changes, it reports again after twice the time, and so on.
//
//   StallWatch watch({absl::Seconds(10), graph, rendezvous.get()});
//   args.observer = &watch;
//   absl::Status status = watch.Explain(executor->Run(args));
//
// An observer, so that a run without it costs nothing; with it, each kernel costs two lock acquisitions and two clock
// reads. DeadlineTimer calls it on a service thread to check the run. Must outlive the run. Thread-safe.
class StallWatch final : public NodeObserver {
 public:
  struct Options {
    absl::Duration timeout;  // Without progress. REQUIRES: > 0.
    const Graph& graph;      // The graph that runs.
    const LocalRendezvous* rendezvous = nullptr;
    NodeObserver* next = nullptr;  // Receives all calls too.
  };

  // Borrows what `options` points to. Watches from now on or, if `is_idle`, from the first Resume.
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

  // Start and stop watching, while a caller waits for the run. Calls nest. If Resume throws bad_alloc, the watch is
  // unchanged.
  void Resume() ABSL_LOCKS_EXCLUDED(mu_);
  void Pause() ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the status that the run should report: `status` itself, or, if the deadline ended a run that hung, kStalled
  // with the last report. Without memory for that text, returns `status`.
  absl::Status Explain(const absl::Status& status) const noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the last report; empty if there was none or a kernel has started since.
  std::string report() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // The kernel calls under way, by start time and node. A multiset: one node may have two calls with the same start.
  using Calls = std::multiset<std::pair<int64_t, NodeId>>;

  void Look() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Returns a report of what the run waits for, or "" if none is due yet.
  std::string Report() ABSL_LOCKS_EXCLUDED(mu_);
  // Schedules Look after `time`. LookAgainIn ignores exceptions: a later call tries again.
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
  absl::Duration patience_ ABSL_GUARDED_BY(mu_);  // From moved_ns_ to the next report.
  std::string report_ ABSL_GUARDED_BY(mu_);
  int num_waiting_ ABSL_GUARDED_BY(mu_) = 0;    // Calls of Resume without their Pause.
  bool is_timed_ ABSL_GUARDED_BY(mu_) = false;  // A Look is scheduled at time_.
  absl::Time time_ ABSL_GUARDED_BY(mu_);
  DeadlineTimer::Id timer_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_STALL_WATCH_H_
