#include "graph/shapes/inference_context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/shapes/const_value.h"

namespace sluice {
namespace {

const PartialShape& UnknownShape() {
  static const PartialShape unknown;
  return unknown;
}

// The attr read by `read`, or `otherwise`.
template <typename T, typename Read>
T Or(bool found, const AttrView& value, T otherwise, Read read) {
  if (!found) return otherwise;
  auto result = read(value);
  return result.ok() ? *std::move(result) : otherwise;
}

}  // namespace

InferenceContext::InferenceContext(const Graph& graph, ShapeMap& map, NodeId node)
    : graph_(graph), map_(map), node_(node), inputs_(graph.inputs(node)) {}

const PartialShape& InferenceContext::input(int i) const {
  if (i < 0 || i >= num_inputs()) return UnknownShape();
  const Output& source = inputs_[static_cast<size_t>(i)];
  return source.is_set() && !source.is_control() ? map_.shape(source) : UnknownShape();
}

DType InferenceContext::input_type(int i) const {
  return i >= 0 && i < num_inputs() ? BaseType(graph_.input_type(node_, i)) : DType::kInvalid;
}

int64_t InferenceContext::dim(int i, int axis) const {
  const PartialShape& shape = input(i);
  if (axis < 0) axis += shape.rank();
  return shape.has_rank() && axis >= 0 && axis < shape.rank() ? shape.dim(axis) : kUnknownDim;
}

const ShapeValue* InferenceContext::value(int i) const {
  if (i < 0 || i >= num_inputs()) return nullptr;
  const Output& source = inputs_[static_cast<size_t>(i)];
  const DType type = input_type(i);
  if (!source.is_set() || source.is_control() || (type != DType::kInt32 && type != DType::kInt64)) return nullptr;
  // Constants are read when somebody wants to know, and once.
  if (graph_.Is(source.node, "Const") && map_.values_.count(source) == 0) {
    AttrView attr;
    std::optional<ShapeValue> value;
    if (graph_.FindAttr(source.node, "value", &attr)) value = ConstIntegers(attr);
    map_.values_[source].value = value.has_value() ? *std::move(value) : ShapeValue{true, {}, {}};
  }
  return map_.value(source);
}

int64_t InferenceContext::scalar(int i) const {
  const ShapeValue* found = value(i);
  return found != nullptr && found->size() == 1 ? (*found)[0] : kUnknownValue;
}

int64_t InferenceContext::scalar_size(int i) const {
  const ShapeValue* found = value(i);
  return found != nullptr && found->size() == 1 ? found->SizeAt(0) : kUnknownDim;
}

bool InferenceContext::FindConst(int i, AttrView* attr) const {
  if (i < 0 || i >= num_inputs()) return false;
  const Output& source = inputs_[static_cast<size_t>(i)];
  if (!source.is_set() || !graph_.Is(source.node, "Const")) return false;
  const auto known = map_.values_.find(source);
  const bool is_fed = known != map_.values_.end() && known->second.value == FedConstant();
  return !is_fed && graph_.FindAttr(source.node, "value", attr);
}

std::optional<double> InferenceContext::const_number(int i) const {
  AttrView attr;
  return FindConst(i, &attr) ? ConstNumber(attr) : std::nullopt;
}

std::vector<int64_t> InferenceContext::const_matrix(int i) const {
  AttrView attr;
  return FindConst(i, &attr) ? ConstMatrix(attr) : std::vector<int64_t>();
}

const HandleData* InferenceContext::handle(int i) const {
  return i >= 0 && i < num_inputs() ? map_.handle(inputs_[static_cast<size_t>(i)]) : nullptr;
}

PartialShape InferenceContext::handle_shape(int i) const {
  const HandleData* const parts = handle(i);
  return parts != nullptr && !parts->empty() ? parts->front().shape : PartialShape();
}

absl::Status InferenceContext::ShapeFromValue(int i, bool minus_one_is_unknown, PartialShape* out) const {
  const ShapeValue* sizes = value(i);
  if (sizes == nullptr) {
    const int64_t length = rank(i) == 1 ? dim(i, 0) : kUnknownDim;
    *out = length >= 0 && length <= kMaxRank ? PartialShape::OfRank(static_cast<int>(length)) : PartialShape();
    return absl::OkStatus();
  }
  Dims dims;
  for (size_t k = 0; k < sizes->size(); ++k) {
    const int64_t size = (*sizes)[k];
    const bool unknown = size == kUnknownValue || (minus_one_is_unknown && size == -1);
    if (!unknown && size < 0) return ValueError(i, absl::StrCat("the size ", size, " is negative"));
    dims.push_back(sizes->SizeAt(k));
  }
  *out = ShapeOf(dims);
  return absl::OkStatus();
}

void InferenceContext::Set(int i, const PartialShape& shape) {
  if (i < 0 || i >= num_outputs()) return;
  map_.SetShape({node_, i}, shape);
}

void InferenceContext::Set(int i, const Dims& dims) { Set(i, ShapeOf(dims)); }

void InferenceContext::SetAll(const PartialShape& shape) {
  for (int i = 0; i < num_outputs(); ++i) Set(i, shape);
}

void InferenceContext::SetValue(int i, ShapeValue value) {
  if (i < 0 || i >= num_outputs()) return;
  const DType type = BaseType(graph_.output_type(node_, i));
  if (type != DType::kInt32 && type != DType::kInt64) return;
  for (int64_t& element : value.elements) {
    if (type == DType::kInt32 && element != static_cast<int32_t>(element)) element = kUnknownValue;
  }
  map_.SetValue({node_, i}, std::move(value));
}

void InferenceContext::Pass(int in, int out) {
  Set(out, input(in));
  if (in >= num_inputs() || out >= num_outputs()) return;
  const DType type = input_type(in);
  if (type == DType::kInt32 || type == DType::kInt64) {
    const ShapeValue* known = value(in);
    if (known != nullptr) SetValue(out, ShapeValue(*known));
  } else if (type == DType::kResource || type == DType::kVariant || type == DType::kString) {
    const HandleData* referred = handle(in);
    if (referred != nullptr) SetHandle(out, HandleData(*referred));
  }
}

int64_t InferenceContext::Int(absl::string_view name, int64_t otherwise) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, otherwise, [](const AttrView& v) { return v.AsInt(); });
}

bool InferenceContext::Bool(absl::string_view name, bool otherwise) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, otherwise, [](const AttrView& v) { return v.AsBool(); });
}

absl::string_view InferenceContext::String(absl::string_view name, absl::string_view otherwise) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, otherwise, [](const AttrView& v) { return v.AsString(); });
}

DType InferenceContext::Type(absl::string_view name) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, DType::kInvalid, [](const AttrView& v) { return v.AsType(); });
}

PartialShape InferenceContext::ShapeAttr(absl::string_view name) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, PartialShape(), [](const AttrView& v) { return v.AsShape(); });
}

std::vector<int64_t> InferenceContext::Ints(absl::string_view name) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, std::vector<int64_t>(), [](const AttrView& v) { return v.AsIntList(); });
}

std::vector<PartialShape> InferenceContext::Shapes(absl::string_view name) const {
  AttrView value;
  const bool found = FindAttr(name, &value);
  return Or(found, value, std::vector<PartialShape>(), [](const AttrView& v) { return v.AsShapeList(); });
}

}  // namespace sluice
