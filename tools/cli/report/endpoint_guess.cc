#include "tools/cli/report/endpoint_guess.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "graph/ir/consumers.h"
#include "graph/ir/op_class.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/tensor_id.h"
#include "graph/ops/op_table.h"
#include "tools/cli/report/contained_ops.h"

namespace sluice {
namespace {

bool IsSaverOp(absl::string_view op) {
  const OpSchema* const schema = BuiltinOps().Find(op);
  return schema != nullptr && schema->traits.is_saver;
}

// Whether nodes of the op bring values from outside of the graph.
bool IsInput(const OpSchema& op) { return op.traits.is_placeholder || op.op_class == OpClass::kArg; }

bool IsString(const Graph& graph, NodeId id) {
  return graph.num_outputs(id) > 0 && BaseType(graph.output_type(id, 0)) == DType::kString;
}

// The nodes of savers: those that write and read checkpoints, inputs that only they use (the file's name), and nodes
// that pass that name on (save/control_dependency). Lives for one guess.
class SaverNodes {
 public:
  SaverNodes(const Graph& graph, const Consumers& consumers)
      : graph_(graph),
        consumers_(consumers),
        is_after_(static_cast<size_t>(graph.id_limit())),
        is_for_saver_(static_cast<size_t>(graph.id_limit())) {
    const ContainedOps saver_ops(graph, IsSaverOp);
    for (const NodeId id : graph.Nodes()) {
      if (saver_ops.In(id)) own_.push_back(id);
    }
    MarkAfter();
    MarkBefore();
  }

  // Whether the outputs of `id` belong to a saver.
  bool Gives(NodeId id) const {
    const bool is_own = std::binary_search(own_.begin(), own_.end(), id);
    return is_own || (is_after_[Index(id)] && IsString(graph_, id));
  }
  std::vector<bool> TakeParts() { return std::move(is_for_saver_); }

  // Whether a value fed to `id` is the name of a file for savers only.
  bool Takes(NodeId id) const { return is_for_saver_[Index(id)] && IsString(graph_, id); }

 private:
  static size_t Index(NodeId id) { return static_cast<size_t>(id.value()); }

  void MarkAfter() {
    std::vector<NodeId> open = own_;
    for (const NodeId id : open) is_after_[Index(id)] = true;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const Use& use : consumers_.of(id)) {
        if (is_after_[Index(use.node)]) continue;
        is_after_[Index(use.node)] = true;
        open.push_back(use.node);
      }
    }
  }

  // Walks backwards from savers' nodes, while all users of a node are savers'.
  void MarkBefore() {
    std::vector<NodeId> open;
    std::vector<size_t> users(is_after_.size());
    for (const NodeId id : graph_.Nodes()) {
      users[Index(id)] = consumers_.of(id).size();
      is_for_saver_[Index(id)] = is_after_[Index(id)];
      if (is_after_[Index(id)]) open.push_back(id);
    }
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const Output& input : graph_.all_inputs(id)) {
        if (!input.is_set() || --users[Index(input.node)] > 0 || is_for_saver_[Index(input.node)]) continue;
        is_for_saver_[Index(input.node)] = true;
        open.push_back(input.node);
      }
    }
  }

  const Graph& graph_;
  const Consumers& consumers_;
  std::vector<NodeId> own_;         // Ascending.
  std::vector<bool> is_after_;      // By node: a saver's, or waits for one.
  std::vector<bool> is_for_saver_;  // By node: a saver's, or used by savers only.
};

// The frame that outputs of `id` are in: those of an Exit are in the parent of its frame.
int32_t OutputFrame(const Graph& graph, const ControlFlowInfo& info, NodeId id) {
  const int32_t frame = info.frame(id);
  const bool is_exit = graph.op(id).op_class == OpClass::kExit;
  return is_exit && frame > 0 ? info.frames[static_cast<size_t>(frame)].parent : frame;
}

bool CanBeShown(DType dtype) { return dtype != DType::kResource && dtype != DType::kVariant; }

std::vector<Output> GuessInputs(const Graph& graph, const SaverNodes& savers) {
  std::vector<Output> inputs;
  for (const NodeId id : graph.Nodes()) {
    if ((!IsInput(graph.op(id)) && !IsIteratorOp(graph.op_name(id))) || savers.Takes(id)) continue;
    for (int32_t i = 0; i < graph.num_outputs(id); ++i) inputs.push_back({id, i});
  }
  return inputs;
}

// Whether nothing reads the outputs of `id`; with `may_be_waited_for`, nodes may wait for it.
bool IsUnread(const Consumers& consumers, NodeId id, bool may_be_waited_for) {
  const auto is_wait = [](const Use& use) { return use.slot == kControlIndex; };
  const auto& uses = consumers.of(id);
  return uses.empty() || (may_be_waited_for && std::all_of(uses.begin(), uses.end(), is_wait));
}

std::vector<Output> FindOutputs(const Graph& graph, const ControlFlowInfo& frames, const Consumers& consumers,
                                const SaverNodes& savers, bool may_be_waited_for) {
  std::vector<Output> outputs;
  for (const NodeId id : graph.Nodes()) {
    const OpSchema& op = graph.op(id);
    if (graph.num_outputs(id) == 0 || graph.inputs(id).empty()) continue;
    if (!IsUnread(consumers, id, may_be_waited_for)) continue;
    if (op.traits.is_inner || IsInput(op) || savers.Gives(id) || OutputFrame(graph, frames, id) != 0) continue;
    for (int32_t i = 0; i < graph.num_outputs(id); ++i) {
      if (CanBeShown(BaseType(graph.output_type(id, i)))) outputs.push_back({id, i});
    }
  }
  // Names that people give are in outer scopes, unlike a library's leftovers.
  std::stable_sort(outputs.begin(), outputs.end(), [&graph](const Output& a, const Output& b) {
    const absl::string_view in_a = graph.name(a.node), in_b = graph.name(b.node);
    return std::count(in_a.begin(), in_a.end(), '/') < std::count(in_b.begin(), in_b.end(), '/');
  });
  return outputs;
}

std::vector<Output> GuessOutputs(const Graph& graph, const ControlFlowInfo& frames, const Consumers& consumers,
                                 const SaverNodes& savers) {
  // A node that others wait for probably exists for its effect. Without any other, take its values: those of a call,
  // say, that the init of a table waits for.
  std::vector<Output> outputs = FindOutputs(graph, frames, consumers, savers, false);
  return outputs.empty() ? FindOutputs(graph, frames, consumers, savers, true) : outputs;
}

std::vector<NodeId> TargetsOf(const Graph& graph, const Consumers& consumers) {
  std::vector<NodeId> targets;
  for (const NodeId id : graph.Nodes()) {
    const bool is_assert = graph.Is(id, "Assert");
    if (is_assert || graph.num_outputs(id) > 0 || graph.all_inputs(id).empty() || !consumers.of(id).empty()) continue;
    targets.push_back(id);
  }
  return targets;
}

}  // namespace

bool IsIteratorOp(absl::string_view op) {
  return op == "IteratorGetNext" || op == "IteratorGetNextSync" || op == "IteratorGetNextAsOptional" ||
         op == "OptionalGetValue" || op == "MultiDeviceIteratorGetNextFromShard";
}

GraphEndpoints GuessEndpoints(const Graph& graph, const ControlFlowInfo& frames) {
  const Consumers consumers(graph);
  const SaverNodes savers(graph, consumers);
  return {GuessInputs(graph, savers), GuessOutputs(graph, frames, consumers, savers), TargetsOf(graph, consumers)};
}

std::vector<bool> SaverParts(const Graph& graph) {
  const Consumers consumers(graph);
  return SaverNodes(graph, consumers).TakeParts();
}

std::vector<NodeId> GuessTargets(const Graph& graph) { return TargetsOf(graph, Consumers(graph)); }

}  // namespace sluice
