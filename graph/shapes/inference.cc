#include "graph/shapes/inference.h"

#include <algorithm>
#include <string>
#include <utility>

#include "graph/base/status_macros.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/shapes/const_value.h"
#include "graph/shapes/dims.h"
#include "graph/shapes/shape_inference.h"

namespace sluice {
namespace {

bool IsMerge(const Graph& graph, NodeId id) { return graph.op(id).op_class == OpClass::kMerge; }

}  // namespace

bool AreIdentical(const TensorFacts& a, const TensorFacts& b) {
  return a.shape.IsIdenticalTo(b.shape) && a.value == b.value && a.handle == b.handle;
}

ShapeInference::ShapeInference(const Graph& graph, const InferenceOptions& options, CallBudget& budget,
                               int64_t first_dim_id)
    : graph_(graph), options_(options), budget_(budget), map_(graph), first_dim_id_(first_dim_id) {
  fed_nodes_.resize(static_cast<size_t>(graph.id_limit()));
  for (const auto& [output, shape] : options.fed) {
    if (!graph.Contains(output.node)) continue;
    fed_[output] = shape;
    fed_nodes_[static_cast<size_t>(output.node.value())] = true;
  }
}

absl::Status ShapeInference::Run(absl::Span<const TensorFacts> args) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
  return Settle(order, args);
}

bool ShapeInference::IsLoopMerge(NodeId id) const {
  if (!IsMerge(graph_, id)) return false;
  const absl::Span<const Output> inputs = graph_.inputs(id);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Output& source) { return IsBackEdge(graph_, id, source); });
}

absl::Status ShapeInference::Settle(absl::Span<const NodeId> order, absl::Span<const TensorFacts> args) {
  std::vector<NodeId> loop_merges;
  for (const NodeId id : order) {
    if (IsLoopMerge(id)) loop_merges.push_back(id);
  }
  const bool is_whole = order.size() == graph_.num_nodes();
  id_rounds_ = 0;
  for (int round = 1;;) {
    if (is_whole) map_.ClearAllButShapes(graph_);
    for (const NodeId id : order) {
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
      if (!is_whole) Forget(id);
      Infer(id, args);
    }
    if (LoopsAreStable(loop_merges, &round)) return PollStop(options_.stop, 0);  // A body may have heard of it last.
  }
}

void ShapeInference::TakeInAdded() {
  map_.Grow(graph_);
  fed_nodes_.resize(static_cast<size_t>(graph_.id_limit()));
}

std::vector<NodeId> ShapeInference::WidenedMerges() const {
  std::vector<NodeId> widened(changing_ids_.begin(), changing_ids_.end());
  widened.insert(widened.end(), changing_handles_.begin(), changing_handles_.end());
  for (const auto& [id, shape] : merge_shapes_) widened.push_back(id);
  const auto is_none = [this](NodeId id) { return !graph_.Contains(id) || !IsLoopMerge(id); };
  widened.erase(std::remove_if(widened.begin(), widened.end(), is_none), widened.end());
  return widened;
}

void ShapeInference::Forget(NodeId id) {
  const size_t node = static_cast<size_t>(id.value());
  map_.EraseProblemOf(id);
  if (map_.values_.empty() && map_.handles_.empty()) return;
  // Those that got no room may have contents.
  int32_t num_outputs = static_cast<int32_t>(map_.first_[node + 1] - map_.first_[node]);
  if (graph_.Contains(id)) num_outputs = std::max(num_outputs, graph_.num_outputs(id));
  for (int32_t i = 0; i < num_outputs; ++i) {
    map_.EraseValue({id, i});
    map_.EraseHandle({id, i});
  }
}

std::vector<TensorFacts> ShapeInference::FactsOf(NodeId id) const {
  std::vector<TensorFacts> facts(static_cast<size_t>(graph_.num_outputs(id)));
  for (int32_t i = 0; i < graph_.num_outputs(id); ++i) {
    TensorFacts& of_output = facts[static_cast<size_t>(i)];
    of_output.shape = map_.shape({id, i});
    if (map_.value({id, i}) != nullptr) of_output.value = *map_.value({id, i});
    if (map_.handle({id, i}) != nullptr) of_output.handle = *map_.handle({id, i});
  }
  return facts;
}

void ShapeInference::StartLoopAnew(NodeId id) {
  merge_shapes_.erase(id);
  changing_handles_.erase(id);
  changing_ids_.erase(id);
}

bool ShapeInference::InferAgain(NodeId id) {
  const std::vector<TensorFacts> before = FactsOf(id);
  const bool was_assumed = map_.IsAssumed(id), was_conditional = map_.IsConditional(id);
  StartLoopAnew(id);  // It may have been the Merge of one.
  Forget(id);
  Infer(id, {});
  // Users may have read a constant's elements without leaving a trace.
  if (graph_.Is(id, "Const") || was_assumed != map_.IsAssumed(id) || was_conditional != map_.IsConditional(id)) {
    return true;
  }
  const std::vector<TensorFacts> after = FactsOf(id);
  return !std::equal(before.begin(), before.end(), after.begin(), after.end(), AreIdentical);
}

absl::Status ShapeInference::InferAgain(absl::Span<const NodeId> order) {
  for (const NodeId id : order) StartLoopAnew(id);
  return Settle(order, {});
}

void ShapeInference::InheritMarks(NodeId id) {
  bool assumed = false, conditional = false;
  for (const Output& source : graph_.all_inputs(id)) {
    // A back edge has a value only if the loop was entered, which the other inputs decide.
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
  OpFunctions functions;
  // A function of the library may have the name of an op.
  if (graph_.library().FindSchema(op->name) != op) {
    functions = {FindShapeFunction(op->name), FindValueFunction(op->name), nullptr};
    if (functions.shapes == nullptr) functions.added = FindAddedShapeFunction(graph_.ops().get(), op->name);
  }
  return functions_.try_emplace(op, std::move(functions)).first->second;  // Not before: what throws leaves no row.
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
    map_.AddProblem({id, graph_.Locate(id, status), certain});
  }
  ApplyFeeds(id);
  SetIds(id);
}

void ShapeInference::SetIds(NodeId id) {
  for (int32_t i = 0; i < graph_.num_outputs(id); ++i) {
    PartialShape* const shape = map_.Slot({id, i});
    if (shape == nullptr || !shape->has_rank() || shape->IsFullyDefined()) continue;
    if (IsRef(graph_.output_type(id, i))) {
      *shape = shape->WithoutIds();
      continue;
    }
    const absl::Span<const int64_t> sizes = shape->dims();
    if (std::find(sizes.begin(), sizes.end(), kUnknownDim) == sizes.end() || IsLoopMerge(id)) continue;
    Dims dims = DimsOf(*shape);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] == kUnknownDim) dims[axis] = map_.DimIdOf({id, i}, static_cast<int>(axis), first_dim_id_);
    }
    *shape = ShapeOf(dims);
  }
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
  CallIds ids;
  ids.inner_dim_id = first_dim_id_ + map_.NumDimIds();
  ids.dim_id = [&](int output, int axis) { return map_.DimIdOf({c.node(), output}, axis, first_dim_id_); };
  if (!InferCall(c, options_, budget_, ids)) UseHints(c);
  return absl::OkStatus();
}

// Output 0 is any of the inputs, output 1 says which.
void ShapeInference::InferMerge(InferenceContext& c) {
  c.SetScalar(1);
  PartialShape shape;
  const HandleData* handle = nullptr;
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
  if (loop != merge_shapes_.end()) shape = loop->second;
  c.Set(0, changing_ids_.count(c.node()) != 0 ? shape.WithoutIds() : shape);
  if (same_handle && handle != nullptr) c.SetHandle(0, HandleData(*handle));
}

bool ShapeInference::LoopsAreStable(absl::Span<const NodeId> loop_merges, int* round) {
  bool stable = true, ids_are_stable = true;
  for (const NodeId id : loop_merges) {
    const Output out{id, 0};
    if (fed_.count(out) != 0) continue;  // Stated, not inferred.
    const PartialShape& assumed = map_.shape(out);
    const HandleData* handle = map_.handle(out);
    PartialShape joined = assumed;
    for (const Output& source : graph_.inputs(id)) {
      joined = JoinShapes(joined, map_.shape(source));
      const HandleData* other = map_.handle(source);
      if (handle != nullptr && (other == nullptr || *other != *handle)) {
        stable = !changing_handles_.insert(id).second && stable;
      }
    }
    if (!joined.IsIdenticalTo(assumed)) ids_are_stable = !changing_ids_.insert(id).second && ids_are_stable;
    if (joined == assumed) continue;
    stable = false;
    merge_shapes_[id] = *round >= kPatience ? PartialShape() : std::move(joined);
  }
  if (stable && ids_are_stable) return true;
  if (stable) {
    if (++id_rounds_ > kPatienceWithIds) changing_ids_.insert(loop_merges.begin(), loop_merges.end());
    return false;
  }
  if (*round >= 2 * kPatience) {
    for (const NodeId id : loop_merges) {
      merge_shapes_[id] = PartialShape();
      changing_handles_.insert(id);
    }
  }
  ++*round;
  return false;
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
    map_.EraseValue(output);
    map_.EraseHandle(output);
    if (graph_.Is(id, "Const")) map_.values_[output].value = FedConstant();
  }
}

absl::StatusOr<ShapeMap> InferShapes(const Graph& graph, const InferenceOptions& options) {
  CallBudget budget;
  ShapeInference inference(graph, options, budget);
  SLUICE_RETURN_IF_ERROR(inference.Run({}));
  return inference.TakeMap();
}

}  // namespace sluice
