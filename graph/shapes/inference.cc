#include "graph/shapes/inference.h"

#include <string>

#include "graph/base/status_macros.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/shapes/shape_inference.h"

namespace sluice {
namespace {

bool IsMerge(const Graph& graph, NodeId id) { return graph.op(id).op_class == OpClass::kMerge; }

}  // namespace

ShapeInference::ShapeInference(const Graph& graph, const InferenceOptions& options, CallBudget& budget)
    : graph_(graph), options_(options), budget_(budget), map_(graph) {
  fed_nodes_.resize(static_cast<size_t>(graph.id_limit()));
  for (const auto& [output, shape] : options.fed) {
    if (!graph.Contains(output.node)) continue;
    fed_[output] = shape;
    fed_nodes_[static_cast<size_t>(output.node.value())] = true;
  }
}

absl::StatusOr<ShapeMap> ShapeInference::Run(absl::Span<const TensorFacts> args) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
  for (const NodeId id : order) {
    if (!IsMerge(graph_, id)) continue;
    for (const Output& source : graph_.inputs(id)) {
      if (!IsBackEdge(graph_, id, source)) continue;
      loop_merges_.push_back(id);
      break;
    }
  }
  for (int round = 1;; ++round) {
    SLUICE_RETURN_IF_ERROR(Round(order, args));
    if (LoopsAreStable(round)) break;
  }
  return std::move(map_);
}

absl::Status ShapeInference::Round(absl::Span<const NodeId> order, absl::Span<const TensorFacts> args) {
  map_.values_.clear();
  map_.handles_.clear();
  map_.problems_.clear();
  map_.value_budget_ = map_.handle_budget_ = ShapeMap::ValueBudget(graph_);
  for (const NodeId id : order) {
    SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
    Infer(id, args);
  }
  return absl::OkStatus();
}

void ShapeInference::InheritMarks(NodeId id) {
  bool assumed = false, conditional = false;
  for (const Output& source : graph_.all_inputs(id)) {
    // What comes around a loop is there only where the loop has been entered, which the other inputs say.
    if (!source.is_set() || IsBackEdge(graph_, id, source)) continue;
    const bool fed = !fed_.empty() && fed_.count(source) != 0;
    assumed = assumed || (!source.is_control() && !fed && map_.IsAssumed(source.node));
    conditional = conditional || (!fed && map_.IsConditional(source.node));
  }
  map_.assumed_[static_cast<size_t>(id.value())] = assumed;
  map_.conditional_[static_cast<size_t>(id.value())] = conditional;
}

const ShapeInference::OpFunctions& ShapeInference::FunctionsOf(NodeId id) {
  const OpSchema* op = &graph_.op(id);
  const auto it = functions_.find(op);
  if (it != functions_.end()) return it->second;
  // A function of the library may have the name of an op.
  OpFunctions& functions = functions_[op];
  if (graph_.library().FindSchema(op->name) != op) {
    functions = {FindShapeFunction(op->name), FindValueFunction(op->name), nullptr};
    if (functions.shapes == nullptr) functions.added = FindAddedShapeFunction(graph_.ops().get(), op->name);
  }
  return functions;
}

void ShapeInference::Infer(NodeId id, absl::Span<const TensorFacts> args) {
  InferenceContext c(graph_, map_, id);
  InheritMarks(id);
  c.SetAll(PartialShape());
  const OpFunctions& functions = FunctionsOf(id);
  const absl::Status status = InferOp(c, functions, args);
  if (status.ok()) {
    if (functions.values != nullptr) functions.values(c);
  } else {
    c.SetAll(PartialShape());
    const bool certain = !map_.IsAssumed(id) && !map_.IsConditional(id) && !fed_nodes_[static_cast<size_t>(id.value())];
    map_.problems_.push_back({id, graph_.Locate(id, status), certain});
  }
  ApplyFeeds(id);
}

absl::Status ShapeInference::InferOp(InferenceContext& c, const OpFunctions& functions,
                                     absl::Span<const TensorFacts> args) {
  if (functions.shapes != nullptr) return functions.shapes(c);
  if (functions.added != nullptr) return (*functions.added)(c);
  if (IsMerge(graph_, c.node())) {
    InferMerge(c);
    return absl::OkStatus();
  }
  if (graph_.op(c.node()).op_class == OpClass::kArg || c.op() == "_DeviceArg") {
    const int64_t index = c.Int("index", -1);
    if (index < 0 || index >= static_cast<int64_t>(args.size())) return absl::OkStatus();
    const TensorFacts& facts = args[static_cast<size_t>(index)];
    c.Set(0, facts.shape);
    if (facts.value.has_value()) c.SetValue(0, *facts.value);
    if (facts.handle.has_value()) c.SetHandle(0, *facts.handle);
    return absl::OkStatus();
  }
  if (!InferCall(c, options_, budget_)) UseHints(c);
  return absl::OkStatus();
}

// Output 0 is any of the inputs, output 1 says which.
void ShapeInference::InferMerge(InferenceContext& c) {
  c.SetScalar(1);
  PartialShape shape;
  const std::vector<PartialShape>* handle = nullptr;
  bool same_handle = changing_handles_.count(c.node()) == 0;
  bool first = true;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (IsBackEdge(graph_, c.node(), graph_.inputs(c.node())[static_cast<size_t>(i)])) continue;
    same_handle = same_handle && c.handle(i) != nullptr && (first || *handle == *c.handle(i));
    handle = c.handle(i);
    shape = first ? c.input(i) : JoinShapes(shape, c.input(i));
    first = false;
  }
  const auto loop = merge_shapes_.find(c.node());
  c.Set(0, loop != merge_shapes_.end() ? loop->second : shape);
  if (same_handle && handle != nullptr) c.SetHandle(0, std::vector<PartialShape>(*handle));
}

bool ShapeInference::LoopsAreStable(int round) {
  bool stable = true;
  for (const NodeId id : loop_merges_) {
    const Output out{id, 0};
    if (fed_.count(out) != 0) continue;  // Stated, not inferred.
    const PartialShape& assumed = map_.shape(out);
    const std::vector<PartialShape>* handle = map_.handle(out);
    PartialShape joined = assumed;
    for (const Output& source : graph_.inputs(id)) {
      joined = JoinShapes(joined, map_.shape(source));
      const std::vector<PartialShape>* other = map_.handle(source);
      if (handle != nullptr && (other == nullptr || *other != *handle)) {
        stable = !changing_handles_.insert(id).second && stable;
      }
    }
    if (joined == assumed) continue;
    stable = false;
    merge_shapes_[id] = round >= kPatience ? PartialShape() : std::move(joined);
  }
  if (!stable && round >= 2 * kPatience) {
    for (const NodeId id : loop_merges_) {
      merge_shapes_[id] = PartialShape();
      changing_handles_.insert(id);
    }
  }
  return stable;
}

void ShapeInference::UseHints(InferenceContext& c) {
  if (!options_.use_hints || c.num_outputs() == 0) return;
  const std::vector<PartialShape> hints = c.Shapes("_output_shapes");
  if (static_cast<int>(hints.size()) != c.num_outputs()) return;
  c.MarkAssumed();
  for (int i = 0; i < c.num_outputs(); ++i) c.Set(i, hints[static_cast<size_t>(i)]);
}

void ShapeInference::ApplyFeeds(NodeId id) {
  if (!fed_nodes_[static_cast<size_t>(id.value())]) return;
  for (int i = 0; i < graph_.num_outputs(id); ++i) {
    const Output output{id, i};
    const auto it = fed_.find(output);
    if (it == fed_.end()) continue;
    PartialShape* slot = map_.Slot(output);
    if (slot != nullptr) *slot = it->second;
    map_.values_.erase(output);
    map_.handles_.erase(output);
  }
}

absl::StatusOr<ShapeMap> InferShapes(const Graph& graph, const InferenceOptions& options) {
  CallBudget budget;
  return ShapeInference(graph, options, budget).Run({});
}

}  // namespace sluice
