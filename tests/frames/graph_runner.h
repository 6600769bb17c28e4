#ifndef SLUICE_TESTS_FRAMES_GRAPH_RUNNER_H_
#define SLUICE_TESTS_FRAMES_GRAPH_RUNNER_H_

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frames/framed_propagator.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"

namespace sluice {

// Runs graphs of int32 scalars through a propagator, without any kernel: what an executor would do, in a few lines.
// AddV2, Sub, Less and GradSum compute; other ops give 7, or what `Set` says. Not thread-safe.
template <typename Propagator>
class GraphRunner {
 public:
  // One time that a node ran: in which iteration, and its output 0 (0 without one).
  using Log = std::vector<std::pair<int64_t, int>>;

  explicit GraphRunner(GraphBuilder& b) : graph_(Checked(b.Build())) {
    absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(graph_, LoadLimits());
    SLUICE_CHECK_OK(info);
    std::vector<NodeFacts> facts(static_cast<size_t>(graph_.id_limit()));
    for (const NodeId id : graph_.Nodes()) {
      if (!graph_.Is(id, "Const")) continue;
      facts[static_cast<size_t>(id.value())].constant = &constants_[id.value()];
      constants_[id.value()] = ConstantOf(id);
    }
    absl::StatusOr<GraphView> view = GraphView::Create(graph_, *info, facts);
    SLUICE_CHECK_OK(view);
    view_ = std::make_unique<GraphView>(*std::move(view));
    propagator_ = std::make_unique<Propagator>(*view_, [](uint64_t parent, int64_t iteration, absl::string_view) {
      return parent * 100 + static_cast<uint64_t>(iteration) + 1;
    });
  }

  void Set(const std::string& node, int value) { values_[node] = value; }
  // Ready nodes are taken in random order.
  void Shuffle(uint32_t seed) { random_.seed(seed), is_shuffled_ = true; }

  // Twice: with values in the entries themselves, and with values in buffers, which must be gone afterwards.
  void Run() {
    const std::mt19937 random = random_;
    RunOnce(/*with_buffers=*/false);
    const std::map<std::string, Log> plain = ran_;
    const int64_t bytes = HostAllocatorLiveBytes();
    random_ = random;
    RunOnce(/*with_buffers=*/true);
    EXPECT_EQ(ran_, plain);
    EXPECT_EQ(HostAllocatorLiveBytes(), bytes) << "values are left in slots";
  }

  // When and with what `node` ran, as a kernel or in the propagator.
  Log ran(const std::string& node) const {
    const auto found = ran_.find(node);
    return found == ran_.end() ? Log() : found->second;
  }
  int times(const std::string& node) const { return static_cast<int>(ran(node).size()); }
  // Whether `node`, each time that it ran, had the buffer of input `i` to itself, so that a kernel might work in place.
  std::vector<bool> had_alone(const std::string& node, size_t i) const {
    std::vector<bool> alone;
    const auto found = alone_.find(node);
    if (found == alone_.end()) return alone;
    for (const std::vector<bool>& inputs : found->second) alone.push_back(inputs[i]);
    return alone;
  }
  // Nodes that the propagator looked at, dead ones too.
  int num_visited() const { return num_visited_; }
  int64_t live_frames() const { return live_frames_; }
  PropagationFault::Kind fault() const { return fault_; }
  const GraphView& view() const { return *view_; }
  const Graph& graph() const { return graph_; }
  const Propagator& propagator() const { return *propagator_; }

 private:
  void RunOnce(bool with_buffers) {
    with_buffers_ = with_buffers;
    ran_.clear();
    alone_.clear();
    num_visited_ = 0;
    propagator_->Begin();
    std::vector<TaggedNode> ready;
    for (;;) {
      while (!propagator_->ready().empty()) ready.push_back(propagator_->ready().Pop());
      if (ready.empty() || propagator_->has_fault()) break;
      const size_t at = is_shuffled_ ? random_() % ready.size() : 0;
      const TaggedNode node = ready[at];
      ready.erase(ready.begin() + static_cast<int64_t>(at));
      Visit(node);
    }
    fault_ = propagator_->activation().fault().kind;
    live_frames_ = propagator_->num_live_frames();
    EXPECT_TRUE(fault_ != PropagationFault::Kind::kNone ||
                (live_frames_ == 0 && propagator_->num_live_iterations() == 0))
        << "frames and iterations end with the run";
    propagator_->Reset(/*was_stopped=*/fault_ != PropagationFault::Kind::kNone);
    EXPECT_EQ(propagator_->num_live_frames() + propagator_->num_live_iterations(), 0);
  }

  static constexpr size_t kBufferElements = 64;

  static Graph Checked(absl::StatusOr<Graph> graph) {
    SLUICE_CHECK_OK(graph);
    return *std::move(graph);
  }
  Tensor ConstantOf(NodeId id) const {
    // Names say the value: "c5", "true".
    const std::string name(graph_.name(id));
    if (graph_.output_type(id, 0) == DType::kBool) return Tensor::Scalar(name == "true");
    return Tensor::Scalar<int32_t>(std::atoi(name.c_str() + 1));
  }

  void Visit(const TaggedNode& node) {
    ++num_visited_;
    const NodeItem& item = node.item();
    const std::string name(graph_.name(NodeId(item.io.id)));
    const bool runs = item.kind == NodeKind::kKernel || item.kind == NodeKind::kGradSum;
    if (!runs || node.is_dead()) {
      if (!node.is_dead()) ran_[name].emplace_back(propagator_->iteration(node), 0);
      return propagator_->Process(node);
    }
    EntryTables tables;
    propagator_->SetTables(node, &tables);
    const int value = Compute(name, item, tables);
    ran_[name].emplace_back(propagator_->iteration(node), value);
    for (uint32_t i = 0; i < item.io.num_outputs; ++i) {
      propagator_->activation().SettleUses(item, i, tables.at(item.io.output(i)));
    }
    propagator_->activation().DropInputs(item, node.iteration());
    propagator_->PropagateOutputs(node, true);
  }

  int Compute(const std::string& name, const NodeItem& item, const EntryTables& tables) {
    std::vector<int> in;
    std::vector<bool> alone;
    for (uint32_t i = 0; i < item.io.num_inputs; ++i) {
      const Entry& entry = tables.at(item.io.input(i));
      alone.push_back(entry.has_value() && entry.holds_buffer() && entry.value().IsUniquelyOwned());
      if (entry.is_dead()) continue;
      const Tensor& value = entry.value();
      in.push_back(value.dtype() == DType::kBool ? value.flat<bool>()[0] : value.flat<int32_t>()[0]);
    }
    alone_[name].push_back(std::move(alone));
    const absl::string_view op = graph_.op_name(NodeId(item.io.id));
    int value = values_.count(name) > 0 ? values_[name] : 7;
    if (op == "Const") value = ConstantOf(NodeId(item.io.id)).template flat<int32_t>()[0];
    if (op == "AddV2") value = in[0] + in[1];
    if (op == "Sub") value = in[0] - in[1];
    if (op == "Less") value = in[0] < in[1];
    if (op == "GradSum") {
      value = 0;
      for (const int x : in) value += x;
    }
    if (item.io.num_outputs == 0) return value;
    Entry& out = tables.at(item.io.output(0));
    if (item.io.output_types[0] == DType::kBool) {
      out.SetValue(Tensor::Scalar(value != 0));
    } else if (with_buffers_) {
      out.SetValue(Tensor::Vector<int32_t>(std::vector<int32_t>(kBufferElements, value)));
    } else {
      out.SetValue(Tensor::Scalar<int32_t>(value));
    }
    return value;
  }

  const Graph graph_;
  std::map<int32_t, Tensor> constants_;
  std::unique_ptr<GraphView> view_;
  std::unique_ptr<Propagator> propagator_;
  std::map<std::string, int> values_;
  std::map<std::string, Log> ran_;
  std::map<std::string, std::vector<std::vector<bool>>> alone_;
  bool with_buffers_ = false;
  std::mt19937 random_;
  bool is_shuffled_ = false;
  int num_visited_ = 0;
  int64_t live_frames_ = 0;
  PropagationFault::Kind fault_ = PropagationFault::Kind::kNone;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FRAMES_GRAPH_RUNNER_H_
