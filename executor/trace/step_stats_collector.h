#ifndef SLUICE_EXECUTOR_TRACE_STEP_STATS_COLLECTOR_H_
#define SLUICE_EXECUTOR_TRACE_STEP_STATS_COLLECTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "executor/trace/node_observer.h"
#include "graph/base/mutex.h"
#include "graph/ir/graph.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// One output of one node's run. Dead ones and references are not listed.
struct OutputRecord {
  int32_t slot = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t bytes = 0;
};

// The record of a node in the body of a called function.
struct CalledName {
  std::string name;  // "call/node".
  std::string op;
};

// One node that ran once. Times are of NodeObserver::NowNs, with scheduled_ns <= start_ns <= end_ns.
struct NodeRecord {
  NodeId node;               // In a body: the call of the graph that led there.
  uint32_t thread_id = 0;    // The system's number.
  int64_t scheduled_ns = 0;  // When its thread was free for it: since the node before, or since the collector was made.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t iteration = 0;  // Of the loop that it is in.
  uint64_t frame_id = 0;  // 0 outside of loops.
  absl::InlinedVector<OutputRecord, 1> outputs;
  std::shared_ptr<const CalledName> called;  // Null: a node of the graph itself.

  int64_t output_bytes() const;
};

// Records every run of every node of one graph: which node, when, on which thread, with which outputs. The records are
// read by the renderers beside this: step_stats.h, chrome_trace.h, run_summary.h.
// Dead nodes and nodes that only transfer tensors (Send, Recv and their kin) are not recorded.
//
//   StepStatsCollector collector(callable->graph(), "/job:localhost/replica:0/task:0/device:CPU:0");
//   CallOptions options;
//   options.observer = &collector;
//
// Ownership: borrows the graph. Thread-safe: any number of threads and runs at once; each thread has a part of its own,
// whose lock no other thread asks for while it runs.
class StepStatsCollector : public NodeObserver {
 public:
  static constexpr int64_t kMaxNodes = int64_t{1} << 20;

  // Nodes without a device count as on `default_device`. Nodes beyond `max_nodes` are counted, not recorded.
  explicit StepStatsCollector(const Graph& graph, std::string default_device = "", int64_t max_nodes = kMaxNodes);
  ~StepStatsCollector() override;

  void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override;
  void OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override;
  // The same without a context, for callers that know the outputs.
  void Add(NodeRecord record);

  // What was recorded until now, by start.
  std::vector<NodeRecord> Records() const;
  // How many nodes ran after the limit.
  int64_t num_dropped() const;

  const Graph& graph() const { return graph_; }
  absl::string_view DeviceOf(NodeId node) const;
  absl::string_view NameOf(const NodeRecord& record) const {
    return record.called != nullptr ? absl::string_view(record.called->name) : graph_.name(record.node);
  }
  absl::string_view OpOf(const NodeRecord& record) const {
    return record.called != nullptr ? absl::string_view(record.called->op) : graph_.op_name(record.node);
  }
  // "y = AddV2(x, w)": name, op and where its data comes from, the latter cut after a few.
  // Of a node in a body: "call/y = AddV2".
  std::string TimelineLabel(const NodeRecord& record) const;
  std::string TimelineLabel(NodeId node) const;

 private:
  static constexpr size_t kNumParts = 16;

  // Records of the threads whose number ends so.
  struct alignas(64) Part {
    mutable Mutex mu;
    std::vector<NodeRecord> records ABSL_GUARDED_BY(mu);
  };

  bool IsRecorded(NodeId node) const;
  static NodeRecord Record(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context);

  // Immutable.
  const Graph& graph_;
  const std::string default_device_;
  const int64_t max_nodes_;
  const int64_t created_ns_;
  std::vector<bool> is_transfer_;  // By node.

  std::atomic<int64_t> num_seen_{0};  // Relaxed: only the sum counts.
  const std::unique_ptr<Part[]> parts_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_STEP_STATS_COLLECTOR_H_
