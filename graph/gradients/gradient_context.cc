#include "graph/gradients/gradient_context.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/gradients/forward_facts.h"
#include "graph/gradients/gradient_emitter.h"

namespace sluice {
namespace {

// Returns the value of an attr; after an error an arbitrary one.
template <typename T>
T ValueOr(GradientEmitter& emitter, absl::StatusOr<T> value, T otherwise) {
  if (value.ok()) return *std::move(value);
  emitter.Fail(value.status());
  return otherwise;
}

// Returns the axes along which a tensor of shape `from` was broadcast to shape `to`.
std::vector<int64_t> RepeatedAxes(const PartialShape& from, const PartialShape& to) {
  std::vector<int64_t> axes;
  const int added = to.rank() - from.rank();
  for (int i = 0; i < to.rank(); ++i) {
    if (i < added || (from.dim(i - added) == 1 && to.dim(i) != 1)) axes.push_back(i);
  }
  return axes;
}

}  // namespace

GradientContext::GradientContext(GradientEmitter& emitter, ForwardFacts& facts, NodeId node,
                                 absl::Span<const Gradient> dys, absl::Span<Gradient> dxs)
    : graph_(emitter.graph()), emitter_(emitter), facts_(facts), node_(node), dys_(dys), dxs_(dxs) {}

// --- Values ----------------------------------------------------------------------------------------------------------

Expr GradientContext::Input(int i) const { return emitter_.Forward(graph_.inputs(node_)[static_cast<size_t>(i)]); }

Expr GradientContext::Output(int i) const { return emitter_.Forward(sluice::Output{node_, i}); }

Exprs GradientContext::Inputs(int begin, int end) const {
  Exprs inputs;
  for (int i = begin; i < end; ++i) inputs.push_back(Input(i));
  return inputs;
}

bool GradientContext::Wants(int i) const {
  return IsDifferentiable(graph_.input_type(node_, i)) &&
         facts_.region().IsWanted(graph_.inputs(node_)[static_cast<size_t>(i)]);
}

bool GradientContext::WantsAny(int begin, int end) const {
  for (int i = begin; i < end; ++i) {
    if (Wants(i)) return true;
  }
  return false;
}

Expr GradientContext::dy(int i) {
  const Gradient& gradient = dys_[static_cast<size_t>(i)];
  return gradient.is_set() ? emitter_.Dense(gradient, Output(i)) : ZerosLike(Output(i));
}

// --- Results ---------------------------------------------------------------------------------------------------------

void GradientContext::SetInput(int i, const Expr& value) {
  dxs_[static_cast<size_t>(i)] = value.is_set() ? Gradient::Dense(emitter_.Here(value)) : Gradient();
}

void GradientContext::SetInput(int i, const Gradient& gradient) { dxs_[static_cast<size_t>(i)] = gradient; }

void GradientContext::SetSlices(int i, const Expr& values, const Expr& indices, const Expr& dense_shape) {
  dxs_[static_cast<size_t>(i)] = Gradient::Slices(emitter_.Here(values), emitter_.Here(indices),
                                                  dense_shape.is_set() ? emitter_.Here(dense_shape) : kNoOutput);
}

void GradientContext::SetBroadcastInput(int i, int other, const Expr& value) {
  SetInput(i, SumToInput(i, other, value));
}

Expr GradientContext::SumToInput(int i, int other, const Expr& value) {
  return SumToShapeOf(Input(i), Input(other), value);
}

Expr GradientContext::SumToShapeOf(const Expr& a, const Expr& b, const Expr& value) {
  if (!a.is_set() || !b.is_set()) return Expr();
  if (facts_.HaveSameShape(a.output(), b.output())) return value;
  const PartialShape from = facts_.Shape(a.output()), other = facts_.Shape(b.output());
  if (other.rank() == 0) return value;
  if (from.rank() == 0) return SumAll(value);
  if (from.IsFullyDefined() && other.IsFullyDefined()) {
    const int rank = std::max(from.rank(), other.rank());
    // Aligned at the end; a shape with fewer dimensions is one with ones before them.
    std::vector<int64_t> to(static_cast<size_t>(rank), 1);
    for (const PartialShape* shape : {&from, &other}) {
      for (int axis = 0; axis < shape->rank(); ++axis) {
        int64_t& size = to[static_cast<size_t>(rank - shape->rank() + axis)];
        if (size == 1) size = shape->dim(axis);
      }
    }
    const absl::StatusOr<PartialShape> whole = PartialShape::Make(to);
    if (whole.ok()) {
      const std::vector<int64_t> axes = RepeatedAxes(from, *whole);
      if (axes.empty()) return value;
      const Expr sum = Sum(value, axes, /*keep_dims=*/false);
      return rank - static_cast<int>(axes.size()) == from.rank() ? sum : Reshape(sum, Int32s(from.dims()));
    }
  }
  const Expr shape = ShapeOf(a);
  if (a.output() == axes_.b && b.output() == axes_.a) {
    std::swap(axes_.of_a, axes_.of_b);
    std::swap(axes_.a, axes_.b);
  } else if (a.output() != axes_.a || b.output() != axes_.b) {
    const Expr axes = AddOp("BroadcastGradientArgs", {shape, ShapeOf(b)});
    axes_ = {a.output(), b.output(), axes, axes.out(1)};
  }
  return Reshape(Sum(value, axes_.of_a), shape);
}

// --- Adding nodes ----------------------------------------------------------------------------------------------------

Expr GradientContext::Op(absl::string_view op, const Exprs& inputs, const EmitAttrs& attrs) {
  return emitter_.Op(op, inputs, attrs);
}

Expr GradientContext::Const(const Tensor& value) { return emitter_.Constant(value); }
Expr GradientContext::Int32(int64_t value) const { return emitter_.Integers(DType::kInt32, {value}, true); }
Expr GradientContext::Int64(int64_t value) const { return emitter_.Integers(DType::kInt64, {value}, true); }
Expr GradientContext::Int32s(absl::Span<const int64_t> values) const {
  return emitter_.Integers(DType::kInt32, values, false);
}
Expr GradientContext::Int64s(absl::Span<const int64_t> values) const {
  return emitter_.Integers(DType::kInt64, values, false);
}

// --- Attrs -----------------------------------------------------------------------------------------------------------

int64_t GradientContext::Int(absl::string_view name) const {
  return ValueOr<int64_t>(emitter_, graph_.GetInt(node_, name), 0);
}

bool GradientContext::Bool(absl::string_view name) const {
  return ValueOr<bool>(emitter_, graph_.GetBool(node_, name), false);
}

float GradientContext::Float(absl::string_view name) const {
  return ValueOr<float>(emitter_, graph_.GetFloat(node_, name), 0);
}

absl::string_view GradientContext::String(absl::string_view name) const {
  return ValueOr<absl::string_view>(emitter_, graph_.GetString(node_, name), "");
}

DType GradientContext::Type(absl::string_view name) const {
  return ValueOr<DType>(emitter_, graph_.GetType(node_, name), DType::kInvalid);
}

std::vector<int64_t> GradientContext::Ints(absl::string_view name) const {
  const absl::StatusOr<AttrView> attr = graph_.GetAttr(node_, name);
  if (!attr.ok()) return ValueOr<std::vector<int64_t>>(emitter_, attr.status(), {});
  absl::StatusOr<std::vector<int64_t>> ints = attr->AsIntList();
  if (!ints.ok()) {
    return ValueOr<std::vector<int64_t>>(emitter_, graph_.Locate(node_, WithAttr(ints.status(), name)), {});
  }
  return *std::move(ints);
}

EmitAttrs GradientContext::CopyAttrs(std::initializer_list<absl::string_view> names) const {
  EmitAttrs attrs;
  AttrView value;
  for (const absl::string_view name : names) {
    if (graph_.FindAttr(node_, name, &value)) attrs.push_back({name, AttrValue::FromBytes(value.bytes())});
  }
  return attrs;
}

// --- Facts -----------------------------------------------------------------------------------------------------------

PartialShape GradientContext::InputShape(int i) const {
  return facts_.Shape(graph_.inputs(node_)[static_cast<size_t>(i)]);
}

PartialShape GradientContext::OutputShape(int i) const { return facts_.Shape(sluice::Output{node_, i}); }

bool GradientContext::HaveSameShape(int i, int j) const {
  const absl::Span<const sluice::Output> inputs = graph_.inputs(node_);
  return facts_.HaveSameShape(inputs[static_cast<size_t>(i)], inputs[static_cast<size_t>(j)]);
}

std::optional<std::vector<int64_t>> GradientContext::ConstInts(int i) const {
  return facts_.Integers(graph_.inputs(node_)[static_cast<size_t>(i)]);
}

absl::Status GradientContext::Refuse(absl::string_view why) const {
  return graph_.Locate(node_, Error(ErrorCode::kUnsupported).Text(absl::StrCat("has no gradient: ", why)));
}

}  // namespace sluice
