#include "graph/gradients/gradient_emitter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/ir/infer_attrs.h"
#include "graph/ir/op_class.h"
#include "graph/value/float16.h"
#include "graph/value/tensor.h"

namespace sluice {
namespace {

// Returns the encoded value of a type attr; never destroyed.
AttrView TypeAttr(DType type) {
  static const std::array<AttrValue, 64>& values = *[] {
    auto* const all = new std::array<AttrValue, 64>();  // NOLINT: never destroyed.
    for (size_t i = 0; i < all->size(); ++i) (*all)[i] = AttrValue(static_cast<DType>(i));
    return all;
  }();
  return values[static_cast<size_t>(type) % values.size()].view();
}

// Returns no value if an integer T cannot hold it.
template <typename T>
Tensor WholeScalar(double value) {
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double least = std::is_signed_v<T> ? -limit : 0;
  return value >= least && value < limit ? Tensor::Scalar(static_cast<T>(value)) : Tensor();
}

Tensor ScalarOf(DType type, double value) {
  switch (type) {
    case DType::kFloat:
      return Tensor::Scalar(static_cast<float>(value));
    case DType::kDouble:
      return Tensor::Scalar(value);
    case DType::kHalf:
      return Tensor::Scalar(Half(static_cast<float>(value)));
    case DType::kBFloat16:
      return Tensor::Scalar(BFloat16(static_cast<float>(value)));
    case DType::kComplex64:
      return Tensor::Scalar(std::complex<float>(static_cast<float>(value)));
    case DType::kComplex128:
      return Tensor::Scalar(std::complex<double>(value));
    case DType::kInt32:
      return WholeScalar<int32_t>(value);
    case DType::kInt64:
      return WholeScalar<int64_t>(value);
    case DType::kInt8:
      return WholeScalar<int8_t>(value);
    case DType::kUInt8:
      return WholeScalar<uint8_t>(value);
    case DType::kInt16:
      return WholeScalar<int16_t>(value);
    case DType::kUInt16:
      return WholeScalar<uint16_t>(value);
    case DType::kBool:
      return Tensor::Scalar(value != 0);
    default:
      return Tensor();
  }
}

// Finds the type of a handle's variable from the op that made the handle; kInvalid if it does not say.
DType TypeOfVariable(const Graph& graph, const Output& handle) {
  std::vector<Output> queue = {handle};
  HashSet<NodeId> seen;
  for (size_t next = 0; next < queue.size(); ++next) {
    const NodeId id = queue[next].node;
    if (!seen.insert(id).second) continue;
    absl::StatusOr<DType> type = graph.Is(id, "VarHandleOp") ? graph.GetType(id, "dtype") : DType::kInvalid;
    if (type.ok() && *type != DType::kInvalid) return *type;
    const OpClass op_class = graph.op(id).op_class;
    if (op_class == OpClass::kForward) {
      queue.push_back(graph.inputs(id)[static_cast<size_t>(queue[next].index)]);
    } else if (IsGate(op_class)) {
      queue.push_back(graph.inputs(id)[0]);
    } else if (IsControlFlow(op_class)) {
      queue.insert(queue.end(), graph.inputs(id).begin(), graph.inputs(id).end());
    }
  }
  return DType::kInvalid;
}

}  // namespace

GradientEmitter::GradientEmitter(Graph& graph, ForwardFacts& facts, std::string prefix, bool colocate,
                                 EmitLimits limits)
    : graph_(graph), facts_(facts), prefix_(std::move(prefix)), colocate_(colocate), limits_(limits) {
  BeginScope("constants");
}

void GradientEmitter::BeginNode(NodeId id) {
  name_.assign(prefix_);
  name_ += '/';
  name_.append(graph_.name(id).data(), graph_.name(id).size());
  name_ += "_grad/";
  scope_size_ = name_.size();
  num_in_scope_ = 0;
  device_.assign(graph_.device(id).data(), graph_.device(id).size());
  if (!colocate_) return;
  AttrView stated;
  class_ = graph_.FindAttr(id, "_class", &stated)
               ? AttrValue::FromBytes(stated.bytes())
               : AttrValue(std::vector<std::string>{absl::StrCat("loc:@", graph_.name(id))});
}

void GradientEmitter::BeginScope(absl::string_view name) {
  name_ = absl::StrCat(prefix_, "/", name, "/");
  scope_size_ = name_.size();
  num_in_scope_ = scopes_[name_];
  device_.clear();
  class_ = AttrValue();
}

void GradientEmitter::RestoreScope(SavedScope scope) {
  // A scope may be entered again, and its numbers continue.
  const auto counted = scopes_.find(name_.substr(0, scope_size_));
  if (counted != scopes_.end()) counted->second = num_in_scope_;
  name_ = std::move(scope.name);
  device_ = std::move(scope.device);
  class_ = std::move(scope.of_class);
  scope_size_ = scope.scope_size;
  num_in_scope_ = scope.num_in_scope;
}

void GradientEmitter::NameNext(absl::string_view op) {
  name_.resize(scope_size_);
  name_.append(op.data(), op.size());
  if (num_in_scope_ > 0) absl::StrAppend(&name_, "_", num_in_scope_);
  ++num_in_scope_;
}

const GradientEmitter::OpPlan* GradientEmitter::PlanOf(absl::string_view op) {
  const auto known = plans_.find(op);
  if (known != plans_.end()) return &known->second;
  OpPlan plan;
  plan.schema = graph_.FindOp(op);
  if (plan.schema == nullptr) {
    Fail(Error(ErrorCode::kOpUnknown).Node(name_, op).Text("is not an op known here, but a gradient is made of it"));
    return nullptr;
  }
  const std::vector<ArgSpec>& args = plan.schema->inputs;
  plan.is_simple = std::none_of(args.begin(), args.end(), [](const ArgSpec& arg) { return arg.is_list(); });
  for (size_t i = 0; plan.is_simple && i < args.size(); ++i) {
    const bool is_known = std::any_of(plan.types.begin(), plan.types.end(),
                                      [&](const auto& type) { return *type.second == args[i].type_attr; });
    if (!args[i].type_attr.empty() && !is_known) plan.types.emplace_back(static_cast<int32_t>(i), &args[i].type_attr);
  }
  return &plans_.try_emplace(std::string(op), std::move(plan)).first->second;
}

void GradientEmitter::InferSimple(const OpPlan& plan, absl::Span<const Output> inputs, const EmitAttrs& attrs) {
  for (const auto& [input, name] : plan.types) {
    const std::string& attr = *name;
    if (static_cast<size_t>(input) >= inputs.size() || !inputs[static_cast<size_t>(input)].is_set()) continue;
    if (std::any_of(attrs.begin(), attrs.end(), [&](const EmitAttr& given) { return given.name == attr; })) continue;
    const Output& source = inputs[static_cast<size_t>(input)];
    spec_.kept_attrs.push_back({attr, TypeAttr(BaseType(graph_.output_type(source.node, source.index)))});
  }
}

void GradientEmitter::InferLists(const OpPlan& plan, absl::Span<const Output> inputs, const EmitAttrs& attrs) {
  // Several lists of one length share the inputs that the other arguments leave.
  size_t num_lists = 0;
  const ArgSpec* list = nullptr;
  for (const ArgSpec& arg : plan.schema->inputs) {
    if (!arg.is_list()) continue;
    if (list != nullptr && (arg.number_attr.empty() || arg.number_attr != list->number_attr)) num_lists = inputs.size();
    list = &arg;
    ++num_lists;
  }
  const auto is_length = [&](const EmitAttr& attr) { return attr.name == list->number_attr; };
  const size_t num_others = plan.schema->inputs.size() - std::min(num_lists, plan.schema->inputs.size());
  if (num_lists > 1 && num_lists < inputs.size() && std::none_of(attrs.begin(), attrs.end(), is_length)) {
    spec_.attrs.emplace_back(list->number_attr, static_cast<int64_t>((inputs.size() - num_others) / num_lists));
  }
  Fail(WithNode(InferTypeAttrs(graph_, *plan.schema, inputs, &spec_.attrs), name_, plan.schema->name));
}

bool GradientEmitter::MayAdd() {
  if (!ok()) return false;
  Fail(PollStop(limits_.stop));
  if (static_cast<int64_t>(graph_.num_nodes()) >= limits_.max_nodes) {
    Fail(Error(ErrorCode::kLimitNodes)
             .Limit("max_nodes", limits_.max_nodes)
             .Text("the graph with its gradients has too many nodes"));
  }
  return ok();
}

NodeId GradientEmitter::AddNode(absl::string_view op, absl::Span<const Output> inputs, const EmitAttrs& attrs,
                                absl::Span<const NodeId> controls, bool open_inputs) {
  if (!MayAdd()) return NodeId();
  NameNext(op);
  for (const Output& input : inputs) {
    if (input.is_set() || open_inputs) continue;
    Fail(Error(ErrorCode::kWrongUse).Node(name_, op).Text("has an input that a gradient has not set"));
    return NodeId();
  }
  const OpPlan* const plan = PlanOf(op);
  if (plan == nullptr) return NodeId();
  spec_.op = op;
  spec_.inputs.assign(inputs.begin(), inputs.end());
  spec_.controls.assign(controls.begin(), controls.end());
  spec_.device = device_;
  spec_.attrs.clear();
  spec_.kept_attrs.clear();
  for (const EmitAttr& attr : attrs) spec_.attrs.emplace_back(attr.name, attr.value);
  if (!class_.bytes().empty()) spec_.attrs.emplace_back("_class", class_);
  plan->is_simple ? InferSimple(*plan, inputs, attrs) : InferLists(*plan, inputs, attrs);
  if (!ok()) return NodeId();
  spec_.name = name_;
  absl::StatusOr<NodeId> id = graph_.AddNode(spec_);
  if (!id.ok()) {
    // The name may be taken: two gradients of one name in a function and around it.
    const std::string unique = graph_.UniqueName(name_);
    spec_.name = unique;
    if (unique != name_) id = graph_.AddNode(spec_);
  }
  if (!id.ok()) {
    Fail(id.status());
    return NodeId();
  }
  return *id;
}

Output GradientEmitter::Here(const Expr& value) {
  if (!value.is_set() || !ok()) return kNoOutput;
  return value.is_forward() && frame_ != nullptr ? frame_->Recall(value.output()) : value.output();
}

Expr GradientEmitter::Op(absl::string_view op, const Exprs& inputs, const EmitAttrs& attrs) {
  absl::InlinedVector<Output, 6> edges;
  for (const Expr& input : inputs) edges.push_back(Here(input));
  return Value(Add(op, edges, attrs));
}

Output GradientEmitter::ConstantOutside(const Tensor& value) {
  if (value.dtype() != DType::kInvalid) return ConstantOutsideFrom(AttrValue(value), value.dtype());
  Fail(Error(ErrorCode::kUnsupported).Text("a gradient needs a constant of a type that it cannot have"));
  return kNoOutput;
}

Output GradientEmitter::ConstantOutsideFrom(AttrValue value, DType type) {
  if (!ok()) return kNoOutput;
  const auto known = constants_.find(value.bytes());
  if (known != constants_.end()) return known->second;
  // Constants serve many nodes, so they do not get the name and device of one.
  SavedScope scope = SaveScope();
  BeginScope("constants");
  const std::string key = value.bytes();
  const Output made = Add("Const", {}, {{"dtype", AttrValue(type)}, {"value", std::move(value)}});
  if (made.is_set()) constants_.try_emplace(key, made);
  RestoreScope(std::move(scope));
  return made;
}

Expr GradientEmitter::Constant(const Tensor& value) {
  const Output outside = ConstantOutside(value);
  return Value(frame_ != nullptr && outside.is_set() ? frame_->BringIn(outside) : outside);
}

Expr GradientEmitter::Scalar(DType type, double value) {
  const Tensor scalar = ScalarOf(type, value);
  if (scalar.has_value()) return Constant(scalar);
  Fail(Error(ErrorCode::kUnsupported)
           .Found(absl::StrCat(value))
           .Expected(DTypeName(type))
           .Text("a gradient needs a number that its type cannot have"));
  return Expr();
}

Expr GradientEmitter::Integers(DType type, absl::Span<const int64_t> values, bool is_scalar) {
  if (type == DType::kInt64) {
    return Constant(is_scalar ? Tensor::Scalar<int64_t>(values[0]) : Tensor::Vector<int64_t>(values));
  }
  const auto too_wide =
      std::find_if(values.begin(), values.end(), [](int64_t value) { return static_cast<int32_t>(value) != value; });
  if (too_wide != values.end()) {
    Fail(Error(ErrorCode::kUnsupported)
             .Found(absl::StrCat(*too_wide))
             .Expected(DTypeName(type))
             .Text("a gradient needs an integer that its type cannot hold"));
    return Expr();
  }
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return Constant(is_scalar ? Tensor::Scalar<int32_t>(narrow[0]) : Tensor::Vector<int32_t>(narrow));
}

Expr GradientEmitter::Dense(const Gradient& gradient, const Expr& forward) {
  if (!gradient.is_slices()) return Value(gradient.value);
  const Expr shape = gradient.dense_shape.is_set() ? Value(gradient.dense_shape) : ShapeOf(forward);
  return UnsortedSegmentSum(Value(gradient.value), Value(gradient.indices), Element(shape, 0));
}

Expr GradientEmitter::ShapeOf(const Expr& value, DType type) {
  const EmitAttrs attrs = {{"out_type", AttrValue(type)}};
  if (!value.is_set() || !ok()) return Expr();
  // A constant is live even if the value is dead.
  const bool may_be_dead = frame_ == nullptr && conditions_ != nullptr && !conditions_->Of(value.output()).empty();
  const PartialShape known = may_be_dead ? PartialShape() : facts_.Shape(value.output());
  // If the type cannot hold a size, keep the op, which fails in the run.
  const auto holds = [&](int64_t dim) { return type == DType::kInt64 || static_cast<int32_t>(dim) == dim; };
  if (known.IsFullyDefined() && std::all_of(known.dims().begin(), known.dims().end(), holds)) {
    return Integers(type, known.dims(), /*is_scalar=*/false);
  }
  if (!value.is_forward() || frame_ == nullptr) return Op("Shape", {value}, attrs);
  if (frame_->IsAtHand(value.output())) return Op("Shape", {value}, attrs);
  // Once for each value and type, as each has a stack.
  const std::pair<Output, DType> key(value.output(), type);
  const auto made = shapes_.find(key);
  if (made != shapes_.end()) return Forward(made->second);
  const Output shape = Add("Shape", {value.output()}, attrs);
  shapes_.try_emplace(key, shape);
  return Forward(shape);
}

Expr GradientEmitter::MakeZeros(const Expr& value, DType of_variable) {
  if (value.type() == DType::kResource) {
    const DType type = of_variable != DType::kInvalid ? of_variable : TypeOfVariable(graph_, value.output());
    if (type == DType::kInvalid) {
      Fail(graph_.Locate(value.output().node, Error(ErrorCode::kUnsupported)
                                                  .Text("needs a gradient of zeros, and the graph does not say of "
                                                        "which type its variable is")));
      return Expr();
    }
    const Expr zeros = Fill(Op("VariableShape", {value}), Scalar(type, 0));
    return value.is_forward() && frame_ != nullptr ? frame_->Beside(value.output(), zeros) : zeros;
  }
  if (!value.is_forward() || frame_ == nullptr || value.type() == DType::kVariant) return Op("ZerosLike", {value});
  return frame_->Beside(value.output(), Fill(ShapeOf(value, DType::kInt32), Scalar(value.type(), 0)));
}

Expr GradientEmitter::Zeros(const Expr& value, DType of_variable) {
  if (!value.is_set() || !ok()) return Expr();
  const std::pair<Output, GradientFrame*> key(value.output(), frame_);
  const auto made = zeros_.find(key);
  if (made != zeros_.end()) return Value(made->second);
  const Expr zeros = MakeZeros(value, of_variable);
  if (zeros.is_set() && ok()) zeros_.try_emplace(key, zeros.output());
  return zeros;
}

NodeId GradientEmitter::AddGate(const Output& value, const Output& predicate, int32_t num_ports) {
  if (!ok()) return NodeId();
  // A loop without a LoopCond has no predicate: AddNode says so.
  if (!predicate.is_set() || BaseType(graph_.output_type(predicate.node, predicate.index)) == DType::kBool) {
    return AddNode("Switch", {value, predicate});
  }
  return AddNode("_SwitchN", {value, predicate}, {{"num_outs", AttrValue(num_ports)}});
}

Expr GradientEmitter::ZerosUnless(const Expr& zeros, const Conditions::List& conditions) {
  Output where_holds = Here(zeros), elsewhere = kNoOutput;
  for (const Conditions::Condition& condition : conditions) {
    if (!ok()) return Expr();
    const auto made = conditional_zeros_.find({where_holds, condition});
    if (made != conditional_zeros_.end()) {
      elsewhere = made->second.elsewhere;
      where_holds = made->second.where_holds;
      continue;
    }
    const std::pair<Output, Conditions::Condition> key(where_holds, condition);
    const NodeId gate = AddGate(where_holds, condition.predicate, condition.num_ports);
    absl::InlinedVector<Output, 4> others;
    if (elsewhere.is_set()) others.push_back(elsewhere);
    for (int32_t port = 0; port < condition.num_ports; ++port) {
      if (port != condition.port) others.push_back({gate, port});
    }
    elsewhere = others.size() == 1 ? others[0] : Add("Merge", others);
    where_holds = {gate, condition.port};
    conditional_zeros_.try_emplace(key, ConditionalZeros{where_holds, elsewhere});
  }
  return Value(elsewhere);
}

}  // namespace sluice
