#include "kernels/plugin/plugin_gradients.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/ir/graph_node.h"
#include "kernels/kernel_construction.h"
#include "kernels/plugin/plugin_node.h"
#include "kernels/plugin/plugin_status.h"
#include "kernels/plugin/plugin_tensor.h"

namespace sluice {
namespace {

absl::Status CheckIndex(int32_t i, int count, absl::string_view kind) {
  if (i >= 0 && i < count) return absl::OkStatus();
  return Error(ErrorCode::kHostKernel).Text(absl::StrCat("the gradient asks for ", kind, " ", i, " of ", count));
}

absl::StatusOr<Expr> ValueOf(const SluiceGradients* gradients, SluiceValue value) {
  SLUICE_RETURN_IF_ERROR(CheckIndex(value, static_cast<int>(gradients->values.size()), "value"));
  return gradients->values[static_cast<size_t>(value)];
}

// Numbers `made`; the error that adding it has left, where there is one.
absl::Status Give(SluiceGradients* gradients, const Expr& made, SluiceValue* value) {
  SLUICE_RETURN_IF_ERROR(gradients->context.emitter().status());
  *value = static_cast<SluiceValue>(gradients->values.size());
  gradients->values.push_back(made);
  return absl::OkStatus();
}

template <typename Raw, typename T>
std::vector<T> ListOf(const SluiceAttr& attr) {
  const Raw* const values = static_cast<const Raw*>(attr.values);
  return std::vector<T>(values, values + attr.count);
}

absl::StatusOr<PartialShape> ShapeOf(const SluiceShape& shape) {
  if (shape.rank < 0) return PartialShape();
  return PartialShape::Make({shape.dims, static_cast<size_t>(shape.rank)});
}

std::string TextOf(const SluiceString& text) { return std::string(text.data, text.size); }

absl::StatusOr<AttrValue> ListFromPlugin(int32_t kind, const SluiceAttr& attr) {
  switch (kind) {
    case SLUICE_ATTR_STRING: {
      std::vector<std::string> texts;
      for (int64_t i = 0; i < attr.count; ++i)
        texts.push_back(TextOf(static_cast<const SluiceString*>(attr.values)[i]));
      return AttrValue(texts);
    }
    case SLUICE_ATTR_INT:
      return AttrValue(ListOf<int64_t, int64_t>(attr));
    case SLUICE_ATTR_FLOAT:
      return AttrValue(ListOf<float, float>(attr));
    case SLUICE_ATTR_BOOL:
      return AttrValue(ListOf<uint8_t, bool>(attr));
    case SLUICE_ATTR_TYPE: {
      std::vector<DType> types;
      for (const int32_t type : ListOf<int32_t, int32_t>(attr)) types.push_back(DTypeFromNumber(type));
      return AttrValue(types);
    }
    case SLUICE_ATTR_SHAPE: {
      std::vector<PartialShape> shapes;
      for (int64_t i = 0; i < attr.count; ++i) {
        SLUICE_ASSIGN_OR_RETURN(PartialShape shape, ShapeOf(static_cast<const SluiceShape*>(attr.values)[i]));
        shapes.push_back(std::move(shape));
      }
      return AttrValue(shapes);
    }
    default:
      return Error(ErrorCode::kHostKernel).Text("is given as a list of a kind that no list has");
  }
}

absl::StatusOr<AttrValue> AttrFromPlugin(int32_t kind, const SluiceAttr& attr) {
  if (kind > SLUICE_ATTR_LIST) return ListFromPlugin(kind - SLUICE_ATTR_LIST, attr);
  if (attr.values == nullptr || attr.count != 1) return Error(ErrorCode::kHostKernel).Text("is given no single value");
  switch (kind) {
    case SLUICE_ATTR_STRING:
      return AttrValue(TextOf(*static_cast<const SluiceString*>(attr.values)));
    case SLUICE_ATTR_INT:
      return AttrValue(*static_cast<const int64_t*>(attr.values));
    case SLUICE_ATTR_FLOAT:
      return AttrValue(*static_cast<const float*>(attr.values));
    case SLUICE_ATTR_BOOL:
      return AttrValue(*static_cast<const uint8_t*>(attr.values) != 0);
    case SLUICE_ATTR_TYPE:
      return AttrValue(DTypeFromNumber(*static_cast<const int32_t*>(attr.values)));
    case SLUICE_ATTR_SHAPE: {
      SLUICE_ASSIGN_OR_RETURN(const PartialShape shape, ShapeOf(*static_cast<const SluiceShape*>(attr.values)));
      return AttrValue(shape);
    }
    case SLUICE_ATTR_TENSOR: {
      const SluiceTensor* const tensor = *static_cast<const SluiceTensor* const*>(attr.values);
      SLUICE_RETURN_IF_ERROR(CheckIsTensor(tensor));
      return AttrValue(tensor->value);
    }
    case SLUICE_ATTR_FUNCTION:
      return AttrValue::Func(TextOf(*static_cast<const SluiceString*>(attr.values)));
    default:
      return Error(ErrorCode::kHostKernel).Text("is given as a kind of attr that does not exist");
  }
}

}  // namespace

int32_t GradientsWants(const SluiceGradients* gradients, int32_t i) noexcept {
  return i >= 0 && i < gradients->context.num_inputs() && gradients->context.Wants(i) ? 1 : 0;
}

int32_t GradientsHasDy(const SluiceGradients* gradients, int32_t i) noexcept {
  return i >= 0 && i < gradients->context.num_outputs() && gradients->context.HasDy(i) ? 1 : 0;
}

SluiceStatus* GradientsInput(SluiceGradients* gradients, int32_t i, SluiceValue* value) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckIndex(i, gradients->context.num_inputs(), "input"));
    return Give(gradients, gradients->context.Input(i), value);
  });
}

SluiceStatus* GradientsOutput(SluiceGradients* gradients, int32_t i, SluiceValue* value) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckIndex(i, gradients->context.num_outputs(), "output"));
    return Give(gradients, gradients->context.Output(i), value);
  });
}

SluiceStatus* GradientsDy(SluiceGradients* gradients, int32_t i, SluiceValue* value) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckIndex(i, gradients->context.num_outputs(), "the gradient of output"));
    return Give(gradients, gradients->context.dy(i), value);
  });
}

SluiceStatus* GradientsAddOp(SluiceGradients* gradients, const char* op, const SluiceValue* inputs, int32_t num_inputs,
                             const SluiceNamedAttr* attrs, int32_t num_attrs, SluiceValue* value) noexcept {
  return Answer([&]() -> absl::Status {
    Exprs sources;
    for (int32_t i = 0; i < num_inputs; ++i) {
      SLUICE_ASSIGN_OR_RETURN(const Expr source, ValueOf(gradients, inputs[i]));
      sources.push_back(source);
    }
    EmitAttrs given;
    for (int32_t i = 0; i < num_attrs; ++i) {
      absl::StatusOr<AttrValue> attr = AttrFromPlugin(attrs[i].kind, attrs[i].value);
      if (!attr.ok()) return WithAttr(attr.status(), attrs[i].name);
      given.push_back({attrs[i].name, *std::move(attr)});
    }
    const Expr made = gradients->context.Op(op, sources, given);
    SLUICE_RETURN_IF_ERROR(gradients->context.emitter().status());
    if (gradients->context.graph().num_outputs(made.output().node) == 0) {
      return Error(ErrorCode::kHostKernel).Text(absl::StrCat("the gradient adds ", op, ", which has no outputs"));
    }
    return Give(gradients, made, value);
  });
}

SluiceStatus* GradientsSibling(SluiceGradients* gradients, SluiceValue value, int32_t i,
                               SluiceValue* sibling) noexcept {
  return Answer([&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const Expr of, ValueOf(gradients, value));
    SLUICE_RETURN_IF_ERROR(CheckIndex(i, gradients->context.graph().num_outputs(of.output().node), "output"));
    return Give(gradients, of.out(i), sibling);
  });
}

SluiceStatus* GradientsConstant(SluiceGradients* gradients, const SluiceTensor* tensor, SluiceValue* value) noexcept {
  return Answer([&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckIsTensor(tensor));
    return Give(gradients, gradients->context.Const(tensor->value), value);
  });
}

SluiceStatus* GradientsNumber(SluiceGradients* gradients, SluiceValue like, double number,
                              SluiceValue* value) noexcept {
  return Answer([&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const Expr of, ValueOf(gradients, like));
    return Give(gradients, Number(of, number), value);
  });
}

SluiceStatus* GradientsSet(SluiceGradients* gradients, int32_t i, SluiceValue value) noexcept {
  return Answer([&]() -> absl::Status {
    GradientContext& context = gradients->context;
    SLUICE_RETURN_IF_ERROR(CheckIndex(i, context.num_inputs(), "input"));
    SLUICE_ASSIGN_OR_RETURN(const Expr gradient, ValueOf(gradients, value));
    const DType type = context.input_type(i);
    if (gradient.type() != type && type != DType::kResource && type != DType::kVariant) {
      return Error(ErrorCode::kHostKernel)
          .Text(absl::StrCat("the gradient of input ", i, " is not of its type"))
          .Found(DTypeName(gradient.type()))
          .Expected(DTypeName(type));
    }
    context.SetInput(i, gradient);
    return context.emitter().status();
  });
}

absl::Status DifferentiateByPlugin(const SluiceGradientDef& gradient, GradientContext& context) {
  const absl::Status status = AsStatus([&] {
    const GraphNode properties(context.graph(), context.node());
    const KernelConstruction construction(properties);
    SluiceNode node(construction);
    SluiceGradients gradients{context};
    return TakeStatus(gradient.gradient(gradient.data, &node, &gradients));
  });
  return status.ok() ? status : context.graph().Locate(context.node(), status);
}

}  // namespace sluice
