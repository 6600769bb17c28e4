#include "executor/trace/step_stats_collector.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "graph/ir/op_class.h"
#include "kernels/kernel_context.h"

namespace sluice {
namespace {

constexpr size_t kMaxLabelInputs = 8;

// The system's number of this thread.
uint32_t ThisThreadId() {
  thread_local const auto id = static_cast<uint32_t>(::syscall(SYS_gettid));
  return id;
}

}  // namespace

int64_t NodeRecord::output_bytes() const {
  int64_t bytes = 0;
  for (const OutputRecord& output : outputs) bytes += output.bytes;
  return bytes;
}

StepStatsCollector::StepStatsCollector(const Graph& graph, std::string default_device, int64_t max_nodes)
    : graph_(graph),
      default_device_(std::move(default_device)),
      max_nodes_(max_nodes),
      created_ns_(NowNs()),
      is_transfer_(static_cast<size_t>(graph.id_limit())),
      parts_(std::make_unique<Part[]>(kNumParts)) {
  for (const NodeId id : graph.Nodes())
    is_transfer_[static_cast<size_t>(id.value())] = IsTransfer(graph.op(id).op_class);
}

StepStatsCollector::~StepStatsCollector() = default;

bool StepStatsCollector::IsRecorded(NodeId node) const {
  return graph_.Contains(node) && !is_transfer_[static_cast<size_t>(node.value())];
}

void StepStatsCollector::OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) {
  if (IsRecorded(node)) Add(Record(node, start_ns, end_ns, context));
}

void StepStatsCollector::OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns,
                                      const KernelContext& context) {
  NodeRecord record = Record(node.call, start_ns, end_ns, context);
  record.called = std::make_shared<const CalledName>(
      CalledName{absl::StrCat(graph_.name(node.call), "/", node.path(), node.body.name(node.node)),
                 std::string(node.body.op_name(node.node))});
  Add(std::move(record));
}

NodeRecord StepStatsCollector::Record(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) {
  NodeRecord record;
  record.node = node;
  record.thread_id = ThisThreadId();
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  record.frame_id = context.frame_id();
  record.iteration = context.iteration();
  for (int i = 0; i < context.num_outputs(); ++i) {
    const Entry& output = context.output_entry(i);
    if (output.is_ref() || !output.has_value()) continue;
    const Tensor& value = output.value();
    record.outputs.push_back({i, value.dtype(), value.shape(), static_cast<int64_t>(value.total_bytes())});
  }
  return record;
}

void StepStatsCollector::Add(NodeRecord record) {
  if (!IsRecorded(record.node)) return;
  if (num_seen_.fetch_add(1, std::memory_order_relaxed) >= max_nodes_) return;
  record.end_ns = std::max(record.end_ns, record.start_ns);  // The system's clock may be set back.
  Part& part = parts_[record.thread_id % kNumParts];
  MutexLock lock(&part.mu);
  part.records.push_back(std::move(record));
}

std::vector<NodeRecord> StepStatsCollector::Records() const {
  std::vector<NodeRecord> all;
  for (size_t i = 0; i < kNumParts; ++i) {
    MutexLock lock(&parts_[i].mu);
    all.insert(all.end(), parts_[i].records.begin(), parts_[i].records.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NodeRecord& a, const NodeRecord& b) { return a.start_ns < b.start_ns; });
  HashMap<uint32_t, int64_t> free_since;
  for (NodeRecord& record : all) {
    int64_t& since = free_since.try_emplace(record.thread_id, created_ns_).first->second;
    record.scheduled_ns = std::min(since, record.start_ns);
    since = std::max(since, record.end_ns);
  }
  return all;
}

int64_t StepStatsCollector::num_dropped() const {
  return std::max<int64_t>(num_seen_.load(std::memory_order_relaxed) - max_nodes_, 0);
}

absl::string_view StepStatsCollector::DeviceOf(NodeId node) const {
  const absl::string_view device = graph_.device(node);
  return device.empty() ? absl::string_view(default_device_) : device;
}

std::string StepStatsCollector::TimelineLabel(const NodeRecord& record) const {
  return record.called != nullptr ? absl::StrCat(record.called->name, " = ", record.called->op)
                                  : TimelineLabel(record.node);
}

std::string StepStatsCollector::TimelineLabel(NodeId node) const {
  std::string label = absl::StrCat(graph_.name(node), " = ", graph_.op_name(node), "(");
  const absl::Span<const Output> inputs = graph_.inputs(node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) absl::StrAppend(&label, ", ");
    if (i == kMaxLabelInputs) {
      absl::StrAppend(&label, "and ", inputs.size() - i, " more");
      break;
    }
    absl::StrAppend(&label, graph_.name(inputs[i].node));
    if (inputs[i].index > 0) absl::StrAppend(&label, ":", inputs[i].index);
  }
  return absl::StrCat(label, ")");
}

}  // namespace sluice
