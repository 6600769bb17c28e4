// Shapes of nodes that call functions.

#include <string>
#include <unordered_map>

#include "graph/ir/op_class.h"
#include "graph/shapes/dims.h"
#include "graph/shapes/shape_inference.h"

namespace sluice {
namespace {

// The kind of call that a node is.
enum class CallKind { kNone, kCall, kBranches, kLoop };

CallKind KindOf(const InferenceContext& c) {
  const absl::string_view op = c.op();
  if (c.graph().library().Contains(op)) return CallKind::kCall;
  switch (c.graph().op(c.node()).op_class) {
    case OpClass::kCall:
      return op == "PartitionedCall" || op == "StatefulPartitionedCall" ? CallKind::kCall : CallKind::kNone;
    case OpClass::kIf:
    case OpClass::kCase:
      return CallKind::kBranches;
    case OpClass::kWhile:
      return CallKind::kLoop;
    default:
      return CallKind::kNone;
  }
}

// The function in attr `name`, or nothing.
void AppendFunction(const InferenceContext& c, absl::string_view name, std::vector<FuncView>* functions) {
  AttrView value;
  if (!c.graph().FindAttr(c.node(), name, &value)) return;
  absl::StatusOr<FuncView> function = value.AsFunc();
  if (function.ok()) functions->push_back(*std::move(function));
}

// The functions whose results the node may give.
std::vector<FuncView> CalledFunctions(const InferenceContext& c, CallKind kind) {
  std::vector<FuncView> functions;
  if (kind == CallKind::kLoop) AppendFunction(c, "body", &functions);
  if (kind == CallKind::kBranches) {
    AppendFunction(c, "then_branch", &functions);
    AppendFunction(c, "else_branch", &functions);
    AttrView branches;
    if (functions.empty() && c.graph().FindAttr(c.node(), "branches", &branches)) {
      absl::StatusOr<std::vector<FuncView>> list = branches.AsFuncList();
      if (list.ok()) functions = *std::move(list);
    }
  }
  if (kind == CallKind::kCall) {
    if (!c.graph().library().Contains(c.op())) {
      AppendFunction(c, "f", &functions);
    } else {
      functions.push_back({c.op(), c.graph().attrs(c.node())});
    }
  }
  return functions;
}

TensorFacts FactsOf(const InferenceContext& c, int i) {
  TensorFacts facts;
  facts.shape = c.input(i);
  if (c.value(i) != nullptr) facts.value = *c.value(i);
  if (c.handle(i) != nullptr) facts.handle = *c.handle(i);
  return facts;
}

TensorFacts Join(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts joined;
  joined.shape = JoinShapes(a.shape, b.shape);
  if (a.handle.has_value() && b.handle.has_value() && *a.handle == *b.handle) joined.handle = a.handle;
  return joined;
}

bool SameShapes(const std::vector<TensorFacts>& a, const std::vector<TensorFacts>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].shape.IsIdenticalTo(b[i].shape) || a[i].handle != b[i].handle) return false;
  }
  return true;
}

// Gives ids that were made inside of a body those of the results' places: the first place where each stands. Others,
// which come from the arguments, stay.
void TranslateIds(const CallIds& ids, std::vector<TensorFacts>* results) {
  std::unordered_map<int64_t, int64_t> translated;
  const auto is_inner = [&](int64_t size) { return IsDimId(size) && size <= kFirstDimId - ids.inner_dim_id; };
  for (size_t i = 0; i < results->size(); ++i) {
    PartialShape& shape = (*results)[i].shape;
    if (!shape.has_rank()) continue;
    Dims dims = DimsOf(shape);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (!is_inner(dims[axis])) continue;
      const int64_t own = ids.dim_id(static_cast<int>(i), static_cast<int>(axis));
      dims[axis] = translated.emplace(dims[axis], own != 0 ? own : kUnknownDim).first->second;
    }
    shape = ShapeOf(dims);
  }
  for (TensorFacts& facts : *results) {
    if (!facts.value.has_value()) continue;
    for (int64_t& id : facts.value->ids) {
      const auto known = translated.find(id);
      if (is_inner(id)) id = known != translated.end() ? known->second : kUnknownDim;
    }
  }
}

// What `body` returns for `args`; nothing when it cannot be walked.
std::optional<std::vector<TensorFacts>> WalkBody(const Graph& body, const InferenceOptions& options, CallBudget& budget,
                                                 const CallIds& ids, const std::vector<TensorFacts>& args) {
  if (budget.depth >= CallBudget::kMaxDepth || ++budget.walks[&body] > CallBudget::kMaxWalks) return std::nullopt;
  InferenceOptions inner;
  inner.bodies = options.bodies;
  inner.use_hints = options.use_hints;
  inner.stop = options.stop;
  ++budget.depth;
  ShapeInference inference(body, inner, budget, ids.inner_dim_id);
  const absl::Status status = inference.Run(args);
  --budget.depth;
  if (!status.ok()) return std::nullopt;
  ShapeMap map = inference.TakeMap();
  std::vector<TensorFacts> results;
  for (const NodeId id : body.Nodes()) {
    if (body.op(id).op_class != OpClass::kRetval || body.inputs(id).empty()) continue;
    const absl::StatusOr<int64_t> index = body.GetInt(id, "index");
    if (!index.ok() || *index < 0 || *index > body.id_limit()) return std::nullopt;
    if (results.size() <= static_cast<size_t>(*index)) results.resize(static_cast<size_t>(*index) + 1);
    InferenceContext c(body, map, id);
    results[static_cast<size_t>(*index)] = FactsOf(c, 0);
  }
  TranslateIds(ids, &results);
  return results;
}

// What any of `functions` returns for the inputs from `first_arg` on.
std::optional<std::vector<TensorFacts>> CallAll(const InferenceContext& c, const InferenceOptions& options,
                                                CallBudget& budget, const CallIds& ids,
                                                const std::vector<FuncView>& functions,
                                                const std::vector<TensorFacts>& args) {
  std::optional<std::vector<TensorFacts>> all;
  for (const FuncView& function : functions) {
    const Graph* body = options.bodies->Find(c.graph(), function);
    if (body == nullptr) return std::nullopt;
    std::optional<std::vector<TensorFacts>> results = WalkBody(*body, options, budget, ids, args);
    if (!results.has_value() || static_cast<int>(results->size()) != c.num_outputs()) return std::nullopt;
    if (!all.has_value()) {
      all = std::move(results);
      continue;
    }
    for (size_t i = 0; i < all->size(); ++i) (*all)[i] = Join((*all)[i], (*results)[i]);
  }
  return all;
}

// The shapes of the loop's variables that hold before and after each iteration: as in Note [Shapes in loops].
std::optional<std::vector<TensorFacts>> LoopInvariant(const InferenceContext& c, const InferenceOptions& options,
                                                      CallBudget& budget, const CallIds& ids,
                                                      const std::vector<FuncView>& functions,
                                                      std::vector<TensorFacts> state) {
  constexpr int kRounds = 4;
  if (static_cast<int>(state.size()) != c.num_outputs()) return std::nullopt;
  for (TensorFacts& facts : state) facts.value.reset();
  for (int round = 0; round < kRounds; ++round) {
    const std::optional<std::vector<TensorFacts>> next = CallAll(c, options, budget, ids, functions, state);
    if (!next.has_value()) return std::nullopt;
    std::vector<TensorFacts> joined;
    for (size_t i = 0; i < state.size(); ++i) joined.push_back(Join(state[i], (*next)[i]));
    if (SameShapes(joined, state)) return state;
    state = std::move(joined);
  }
  return std::nullopt;
}

// Control flow states its results' shapes in an attr.
bool UseOutputShapes(InferenceContext& c) {
  const std::vector<PartialShape> shapes = c.Shapes("output_shapes");
  if (shapes.empty() || static_cast<int>(shapes.size()) != c.num_outputs()) return false;
  for (int i = 0; i < c.num_outputs(); ++i) c.Set(i, shapes[static_cast<size_t>(i)]);
  return true;
}

}  // namespace

bool InferCall(InferenceContext& c, const InferenceOptions& options, CallBudget& budget, const CallIds& ids) {
  const CallKind kind = KindOf(c);
  if (kind == CallKind::kNone) return false;
  c.MarkAssumed();
  std::optional<std::vector<TensorFacts>> results;
  if (options.bodies != nullptr) {
    std::vector<TensorFacts> args;
    for (int i = kind == CallKind::kBranches ? 1 : 0; i < c.num_inputs(); ++i) args.push_back(FactsOf(c, i));
    const std::vector<FuncView> functions = CalledFunctions(c, kind);
    results = kind == CallKind::kLoop ? LoopInvariant(c, options, budget, ids, functions, std::move(args))
                                      : CallAll(c, options, budget, ids, functions, args);
  }
  if (!results.has_value()) return UseOutputShapes(c);
  for (int i = 0; i < c.num_outputs(); ++i) {
    TensorFacts& facts = (*results)[static_cast<size_t>(i)];
    c.Set(i, facts.shape);
    if (facts.value.has_value()) c.SetValue(i, *std::move(facts.value));
    if (facts.handle.has_value()) c.SetHandle(i, *std::move(facts.handle));
  }
  return true;
}

}  // namespace sluice
