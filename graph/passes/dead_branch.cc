#include "graph/passes/dead_branch.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/ir/consumers.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/output_replacer.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

// When not all Switches can go at once, they are tried one by one, but no more than these.
constexpr size_t kMaxSingleTries = 64;

// A Switch whose predicate is known.
struct KnownSwitch {
  NodeId id;
  int32_t taken;
};

// Whether deadness of `id` shows outside of its cone.
bool Observes(const Graph& graph, NodeId id) {
  switch (graph.op(id).op_class) {
    case OpClass::kRetval:
    case OpClass::kSend:
    case OpClass::kHostSend:
    case OpClass::kEnter:
    case OpClass::kExit:
    case OpClass::kNextIteration:
    case OpClass::kLoopCond:
      return true;
    default:
      return false;
  }
}

// All Switches of values on a constant, but for kept ones.
std::vector<KnownSwitch> FindKnownSwitches(const Graph& graph, const PassContext& context) {
  std::vector<KnownSwitch> found;
  for (NodeId id : graph.Nodes()) {
    if (graph.op(id).op_class != OpClass::kSwitch || context.IsKept(id) || IsRef(graph.input_type(id, 0))) continue;
    if (!graph.Contains(graph.inputs(id)[1].node)) continue;
    if (graph.op(graph.inputs(id)[1].node).op_class != OpClass::kConst) continue;
    const absl::StatusOr<AttrView> attr = graph.GetAttr(graph.inputs(id)[1].node, "value");
    if (!attr.ok() || !attr->AsTensorBytes().ok()) continue;
    const absl::StatusOr<Tensor> value = DecodeTensorProto(*attr->AsTensorBytes());
    if (!value.ok() || value->dtype() != DType::kBool || value->num_elements() != 1) continue;
    found.push_back({id, value->flat<bool>()[0] ? 1 : 0});
  }
  return found;
}

// What dies when some Switches always take one port. Found without changing the graph, then applied.
class DeadCone {
 public:
  DeadCone(GraphEditor& edit, const PassContext& context) : edit_(edit), graph_(edit.graph()), context_(context) {}

  // Whether the branches that `switches` never take can go.
  bool Find(absl::Span<const KnownSwitch> switches) {
    for (const KnownSwitch& known : switches) {
      for (const Use& use : edit_.UsesOf(known.id)) {
        if (use.slot == 1 - known.taken) Kill(known.id, use);
      }
    }
    while (sound_ && !queue_.empty()) {
      const NodeId id = queue_.back();
      queue_.pop_back();
      for (const Use& use : edit_.UsesOf(id)) Kill(id, use);
    }
    return sound_;
  }

  absl::Status Apply(absl::Span<const KnownSwitch> switches) {
    OutputReplacer replacer;
    for (const KnownSwitch& known : switches) {
      if (!dead_.contains(known.id)) SLUICE_RETURN_IF_ERROR(ReplaceSwitch(known, replacer));
    }
    for (const auto& [merge, dead_inputs] : merges_) {
      if (!dead_.contains(merge)) SLUICE_RETURN_IF_ERROR(ShrinkMerge(merge, dead_inputs, replacer));
    }
    for (const auto& [id, predecessor] : dropped_controls_) edit_.RemoveControl(id, predecessor);
    SLUICE_RETURN_IF_ERROR(replacer.Apply(edit_));
    gone_.insert(gone_.end(), dead_.begin(), dead_.end());
    return edit_.RemoveAll(gone_);
  }

 private:
  // The edge from `source` to `use` never carries a live value.
  void Kill(NodeId source, const Use& use) {
    if (dead_.contains(use.node)) return;
    const bool is_control = use.input == kControlIndex;
    const OpClass of_use = graph_.op(use.node).op_class;
    const bool is_sum = of_use == OpClass::kGradSum;
    if (is_control && (is_sum || of_use == OpClass::kMerge || of_use == OpClass::kControlTrigger)) {
      dropped_controls_.emplace_back(use.node, source);  // These three live on.
      return;
    }
    if (is_sum) sound_ = false;  // It adds what else is live.
    if (of_use == OpClass::kMerge) return KillMergeInput(use);
    Die(use.node);
  }

  void KillMergeInput(const Use& use) {
    const absl::Span<const Output> inputs = graph_.inputs(use.node);
    const bool in_loop = std::any_of(inputs.begin(), inputs.end(),
                                     [&](const Output& input) { return IsBackEdge(graph_, use.node, input); });
    if (in_loop || context_.IsKept(use.node) || IsRef(graph_.input_type(use.node, 0))) sound_ = false;
    for (const Use& index_use : edit_.UsesOf(use.node)) sound_ &= index_use.slot != 1;
    HashSet<int32_t>& dead_inputs = merges_[use.node];
    dead_inputs.insert(use.input);
    if (dead_inputs.size() == inputs.size()) Die(use.node);
  }

  void Die(NodeId id) {
    if (Observes(graph_, id) || context_.IsKept(id)) sound_ = false;
    dead_.insert(id);
    queue_.push_back(id);
  }

  // An Identity of the data that waits for all that the Switch waited for.
  absl::Status ReplaceSwitch(const KnownSwitch& known, OutputReplacer& replacer) {
    std::vector<NodeId> controls = {graph_.inputs(known.id)[1].node};
    for (const Output& control : graph_.controls(known.id)) controls.push_back(control.node);
    SLUICE_ASSIGN_OR_RETURN(const NodeId taken,
                            AddBeside(known.id, "Identity", {graph_.inputs(known.id)[0]}, controls));
    replacer.Replace(Output{known.id, known.taken}, Output{taken, 0});
    replacer.Replace(Output{known.id, kControlIndex}, Output{taken, kControlIndex});
    gone_.push_back(known.id);
    return absl::OkStatus();
  }

  absl::Status ShrinkMerge(NodeId merge, const HashSet<int32_t>& dead_inputs, OutputReplacer& replacer) {
    std::vector<Output> inputs;
    for (size_t i = 0; i < graph_.inputs(merge).size(); ++i) {
      if (!dead_inputs.contains(static_cast<int32_t>(i))) inputs.push_back(graph_.inputs(merge)[i]);
    }
    std::vector<NodeId> controls;
    for (const Output& control : graph_.controls(merge)) {
      if (!dead_.contains(control.node)) controls.push_back(control.node);
    }
    // A Merge outlives a dead control input, an Identity does not.
    const bool plain = inputs.size() == 1 && controls.empty();
    SLUICE_ASSIGN_OR_RETURN(const NodeId added, AddBeside(merge, plain ? "Identity" : "Merge", inputs, controls));
    replacer.Replace(Output{merge, 0}, Output{added, 0});
    replacer.Replace(Output{merge, kControlIndex}, Output{added, kControlIndex});
    gone_.push_back(merge);
    return absl::OkStatus();
  }

  // A node that takes over the name, device and type of `old`.
  absl::StatusOr<NodeId> AddBeside(NodeId old, absl::string_view op, std::vector<Output> inputs,
                                   const std::vector<NodeId>& controls) {
    const std::string name(graph_.name(old)), device(graph_.device(old));
    SLUICE_RETURN_IF_ERROR(edit_.Rename(old, edit_.UniqueName(absl::StrCat(name, "/old"))));
    NodeSpec spec;
    spec.name = name;
    spec.op = op;
    spec.device = device;
    spec.attrs = {{"T", graph_.input_type(old, 0)}};
    if (op == "Merge") spec.attrs.emplace_back("N", static_cast<int64_t>(inputs.size()));
    spec.inputs = std::move(inputs);
    spec.controls = controls;
    return edit_.AddNode(spec);
  }

  GraphEditor& edit_;
  const Graph& graph_;
  const PassContext& context_;
  bool sound_ = true;
  HashSet<NodeId> dead_;
  std::vector<NodeId> queue_;
  std::map<NodeId, HashSet<int32_t>> merges_;  // Dead inputs of each Merge reached.
  std::vector<std::pair<NodeId, NodeId>> dropped_controls_;
  std::vector<NodeId> gone_;
};

}  // namespace

absl::StatusOr<int64_t> DeadBranchPass::Run(GraphEditor& edit, const PassContext& context) const {
  const Graph& graph = edit.graph();
  const std::vector<KnownSwitch> switches = FindKnownSwitches(graph, context);
  if (switches.empty()) return 0;
  DeadCone all(edit, context);
  if (all.Find(switches)) {
    SLUICE_RETURN_IF_ERROR(all.Apply(switches));
    return static_cast<int64_t>(switches.size());
  }
  int64_t removed = 0;
  for (size_t i = 0; i < std::min(switches.size(), kMaxSingleTries); ++i) {
    if (!graph.Contains(switches[i].id)) continue;
    DeadCone one(edit, context);
    const absl::Span<const KnownSwitch> single = absl::MakeConstSpan(&switches[i], 1);
    if (!one.Find(single)) continue;
    SLUICE_RETURN_IF_ERROR(one.Apply(single));
    ++removed;
  }
  return removed;
}

}  // namespace sluice
