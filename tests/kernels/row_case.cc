#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "tests/kernels/row_trial.h"

namespace sluice {
namespace {

using Attrs = PreparedKernel::Attrs;

// Windows that overlap. Padding is what GuessAttr gives: SAME.
const Attrs& PoolAttrs() {
  static const Attrs& attrs =
      *new Attrs{{"ksize", std::vector<int64_t>{1, 2, 2, 1}}, {"strides", std::vector<int64_t>{1, 1, 1, 1}}};
  return attrs;
}
const Attrs& PoolAttrs3D() {
  static const Attrs& attrs =
      *new Attrs{{"ksize", std::vector<int64_t>{1, 2, 2, 2, 1}}, {"strides", std::vector<int64_t>{1, 1, 1, 1, 1}}};
  return attrs;
}
// Windows and strides are inputs.
bool IsPoolV2(const std::string& op) { return op.compare(op.size() - 2, 2, "V2") == 0; }
// Of queues that must know the shapes of their components.
Attrs QueueAttrs() {
  return {{"component_types", std::vector<DType>{DType::kFloat}},
          {"shapes", std::vector<PartialShape>{PartialShape::Scalar()}}};
}

// Attrs of ops that look through windows.
const std::map<std::string, Attrs>& WindowAttrs() {
  static const std::map<std::string, Attrs>& all = *new std::map<std::string, Attrs>{
      {"Conv2D", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"Conv2DBackpropFilter", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"Conv2DBackpropInput", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"Conv3D", {{"strides", std::vector<int64_t>{1, 1, 1, 1, 1}}}},
      {"Conv3DBackpropFilterV2", {{"strides", std::vector<int64_t>{1, 1, 1, 1, 1}}}},
      {"Conv3DBackpropInputV2", {{"strides", std::vector<int64_t>{1, 1, 1, 1, 1}}}},
      {"DepthwiseConv2dNative", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"DepthwiseConv2dNativeBackpropFilter", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"DepthwiseConv2dNativeBackpropInput", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"Dilation2D", {{"strides", std::vector<int64_t>{1, 2, 1, 1}}, {"rates", std::vector<int64_t>{1, 1, 2, 1}}}},
      {"Dilation2DBackpropFilter",
       {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"rates", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"Dilation2DBackpropInput",
       {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"rates", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"FractionalAvgPool",
       {{"pooling_ratio", std::vector<float>{1, 1.5f, 1.5f, 1}}, {"deterministic", true}, {"seed", 1}, {"seed2", 2}}},
      {"FractionalMaxPool",
       {{"pooling_ratio", std::vector<float>{1, 1.5f, 1.5f, 1}}, {"deterministic", true}, {"seed", 1}, {"seed2", 2}}},
      {"ExtractImagePatches",
       {{"ksizes", std::vector<int64_t>{1, 2, 2, 1}},
        {"strides", std::vector<int64_t>{1, 1, 2, 1}},
        {"rates", std::vector<int64_t>{1, 1, 2, 1}}}},
      {"ExtractVolumePatches",
       {{"ksizes", std::vector<int64_t>{1, 2, 1, 2, 1}}, {"strides", std::vector<int64_t>{1, 1, 2, 1, 1}}}},
      {"_FusedConv2D",
       {{"fused_ops", std::vector<std::string>{"BiasAdd", "Tanh"}},
        {"num_args", 1},
        {"num_host_args", 0},
        {"TArgs", std::vector<DType>{DType::kFloat}},
        {"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"_FusedDepthwiseConv2dNative",
       {{"fused_ops", std::vector<std::string>{"BiasAdd", "Tanh"}},
        {"num_args", 1},
        {"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"_FusedMatMul", {{"fused_ops", std::vector<std::string>{"BiasAdd", "Tanh"}}, {"num_args", 1}}},
  };
  return all;
}

// Attrs of ops on ragged tensors: one ragged axis.
const std::map<std::string, Attrs>& RaggedAttrs() {
  static const std::map<std::string, Attrs>& all = *new std::map<std::string, Attrs>{
      {"RaggedCross",
       {{"input_order", "R"},
        {"Nsparse", 0},
        {"hashed_output", true},
        {"ragged_values_types", std::vector<DType>{DType::kInt64}},
        {"ragged_splits_types", std::vector<DType>{DType::kInt64}},
        {"sparse_values_types", std::vector<DType>()},
        {"dense_types", std::vector<DType>()}}},
      {"RaggedGather", {{"PARAMS_RAGGED_RANK", 1}, {"OUTPUT_RAGGED_RANK", 1}}},
      {"RaggedTensorToSparse", {{"RAGGED_RANK", 1}}},
      {"RaggedTensorToVariant", {{"RAGGED_RANK", 1}}},
      {"RaggedTensorToTensor",
       {{"num_row_partition_tensors", 1}, {"row_partition_types", std::vector<std::string>{"ROW_SPLITS"}}}},
  };
  return all;
}

// Attrs without which no inputs would do.
const Attrs& SpecialAttrs(const std::string& op) {
  static const std::map<std::string, Attrs>& others = *new std::map<std::string, Attrs>{
      {"AnonymousMutableDenseHashTable", {{"initial_num_buckets", 8}}},
      {"AnonymousMutableHashTableOfTensors", {{"value_shape", PartialShape::Of({2})}}},
      {"BatchToSpace", {{"block_size", 2}}},
      {"Bucketize", {{"boundaries", std::vector<float>{-1.0f, 0.0f, 1.5f}}}},
      {"CountUpTo", {{"limit", 5}}},
      {"DepthToSpace", {{"block_size", 2}}},
      {"DenseToDenseSetOperation", {{"set_operation", "union"}}},
      {"DenseToSparseSetOperation", {{"set_operation", "a-b"}}},
      {"DynamicPartition", {{"num_partitions", 3}}},
      {"Einsum", {{"equation", "ij,jk->ik"}, {"N", 2}}},
      {"Empty", {{"init", true}}},  // Unset elements differ each time.
      {"EnsureShape", {{"shape", PartialShape()}}},
      {"ImageProjectiveTransformV2", {{"interpolation", "BILINEAR"}}},
      {"ImageProjectiveTransformV3", {{"interpolation", "BILINEAR"}}},
      {"MutableDenseHashTableV2", {{"initial_num_buckets", 8}}},
      {"MutableHashTableOfTensors", {{"value_shape", PartialShape::Of({2})}}},
      {"MutableHashTableOfTensorsV2", {{"value_shape", PartialShape::Of({2})}}},
      {"PaddingFIFOQueue", QueueAttrs()},
      {"PaddingFIFOQueueV2", QueueAttrs()},
      {"PriorityQueue", QueueAttrs()},
      {"PriorityQueueV2", QueueAttrs()},
      {"ResourceCountUpTo", {{"limit", 5}}},
      {"ReverseSequence", {{"seq_dim", 1}}},
      {"SpaceToBatch", {{"block_size", 2}}},
      {"SpaceToDepth", {{"block_size", 2}}},
      {"SparseConcat", {{"concat_dim", 0}, {"N", 2}}},
      {"SparseCross",
       {{"N", 1},
        {"sparse_types", std::vector<DType>{DType::kInt64}},
        {"dense_types", AttrValue::EmptyList()},
        {"internal_type", DType::kInt64}}},
      {"SparseCrossHashed",
       {{"N", 1}, {"sparse_types", std::vector<DType>{DType::kInt64}}, {"dense_types", AttrValue::EmptyList()}}},
      {"SparseCrossV2",
       {{"N", 1}, {"sparse_types", std::vector<DType>{DType::kString}}, {"dense_types", AttrValue::EmptyList()}}},
      {"SparseToSparseSetOperation", {{"set_operation", "intersection"}}},
      {"StringToHashBucketStrong", {{"key", std::vector<int64_t>{1, 2}}}},
      {"StringFormat", {{"template", "%s and %s"}}},
      {"UnicodeDecode", {{"input_encoding", "UTF-8"}}},
      {"UnicodeDecodeWithOffsets", {{"input_encoding", "UTF-8"}}},
      {"UnicodeTranscode", {{"input_encoding", "UTF-8"}}},
      {"_FusedBatchNormEx", {{"num_side_inputs", 1}, {"activation_mode", "Relu"}}},
      {"_ReadVariablesOp", {{"N", 2}, {"dtypes", std::vector<DType>{DType::kFloat, DType::kFloat}}}},
  };
  static const Attrs& none = *new Attrs();
  if (op.find("Pool") != std::string::npos && op.find("Fractional") == std::string::npos && !IsPoolV2(op)) {
    return op.find("3D") != std::string::npos ? PoolAttrs3D() : PoolAttrs();
  }
  for (const std::map<std::string, Attrs>* const attrs : {&WindowAttrs(), &RaggedAttrs(), &others}) {
    const auto found = attrs->find(op);
    if (found != attrs->end()) return found->second;
  }
  return none;
}

// Shapes of inputs that belong together in a way of the op's own.
const std::vector<Shape>& SpecialShapes(const std::string& op) {
  using Shapes = std::vector<Shape>;
  const auto shape = [](std::initializer_list<int64_t> dims) { return Shape::Of(dims); };
  const auto join = [](Shapes first, const Shapes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  static const std::map<std::string, Shapes>& all = *new std::map<std::string, Shapes>([&] {
    const Shape scalar, two = shape({2}), square = shape({2, 2}), images = shape({2, 4, 4, 1}), boxes = shape({2, 4});
    const Shape steps = shape({3, 2, 2});
    const Shapes lstm = {square, square, square, shape({4, 8}), two, two, two, shape({8})};
    Shapes block = join({scalar, steps}, Shapes(lstm.begin() + 1, lstm.end()));
    const Shapes gru = {square, square, shape({4, 4}), shape({4, 2}), shape({4}), two};
    const Shapes scored = {shape({4, 4}), shape({4}), scalar, scalar};
    std::map<std::string, Shapes> made = {
        {"AdjustHue", {shape({2, 4, 3}), scalar}},
        {"BlockLSTM", block},
        {"BlockLSTMGrad", join(block, Shapes(9, steps))},
        {"CombinedNonMaxSuppression", {shape({1, 4, 1, 4}), shape({1, 4, 2}), scalar, scalar, scalar, scalar}},
        {"CropAndResize", {images, boxes, two, two}},
        {"CropAndResizeGradBoxes", {shape({2, 2, 2, 1}), images, boxes, two}},
        {"CropAndResizeGradImage", {shape({2, 2, 2, 1}), boxes, two, shape({4})}},
        {"CTCBeamSearchDecoder", {steps, two}},
        {"CTCGreedyDecoder", {steps, two}},
        {"CTCLoss", {shape({3, 1, 2}), shape({1, 2}), shape({1}), shape({1})}},
        {"Cross", {shape({2, 3}), shape({2, 3})}},
        {"EditDistance", {square, two, two, square, two, two}},
        {"DrawBoundingBoxes", {shape({2, 4, 4, 3}), shape({2, 2, 4})}},
        {"DrawBoundingBoxesV2", {shape({2, 4, 4, 3}), shape({2, 2, 4}), boxes}},
        {"ExtractGlimpse", {images, two, square}},
        {"GRUBlockCell", gru},
        {"GRUBlockCellGrad", join(gru, Shapes(4, square))},
        {"ImageProjectiveTransformV2", {images, shape({1, 8}), two}},
        {"ImageProjectiveTransformV3", {images, shape({1, 8}), two, scalar}},
        {"LSTMBlockCell", lstm},
        {"LSTMBlockCellGrad", join(lstm, Shapes(8, square))},
        {"NonMaxSuppression", {shape({4, 4}), shape({4}), scalar}},
        {"NonMaxSuppressionV2", scored},
        {"NonMaxSuppressionV3", join(scored, {scalar})},
        {"NonMaxSuppressionV5", join(scored, {scalar, scalar})},
        {"ScaleAndTranslate", {images, two, two, two}},
        {"ScaleAndTranslateGrad", {images, images, two, two}},
        {"StatelessSampleDistortedBoundingBox", {shape({3}), shape({1, 2, 4}), scalar, two}},
    };
    made["AdjustSaturation"] = made["AdjustHue"];
    made["BlockLSTMV2"] = block;
    made["BlockLSTMGradV2"] = made["BlockLSTMGrad"];
    made["ExtractGlimpseV2"] = made["ExtractGlimpse"];
    made["NonMaxSuppressionV4"] = made["NonMaxSuppressionWithOverlaps"] = made["NonMaxSuppressionV3"];
    return made;
  }());
  static const Shapes& none = *new Shapes();
  const auto found = all.find(op);
  return found == all.end() ? none : found->second;
}

// The dtypes that both the row and the op allow for type attr `attr`.
std::vector<DType> TypesOf(const KernelRow& row, const AttrSpec& attr) {
  const DTypeSet in_row = row.TypesOf(attr.name);
  std::vector<DType> types;
  for (int number = 1; IsSupported(static_cast<DType>(number)); ++number) {
    const DType type = static_cast<DType>(number);
    const std::vector<DType>& allowed = attr.allowed_types;
    const bool is_allowed = allowed.empty() || std::find(allowed.begin(), allowed.end(), type) != allowed.end();
    if (is_allowed && in_row.Contains(type)) types.push_back(type);
  }
  return types;
}

// A value for an attr that has no default and is not a type.
AttrValue GuessAttr(const AttrSpec& attr) {
  switch (attr.type) {
    case AttrType::kInt:
      return std::max<int64_t>(attr.has_minimum ? attr.minimum : 1, 2);
    case AttrType::kBool:
      return false;
    case AttrType::kFloat:
      return 0.5f;
    case AttrType::kString:
      return attr.allowed_strings.empty() ? std::string("name") : attr.allowed_strings[0];
    case AttrType::kShape:
      return PartialShape::Of({2});
    case AttrType::kListType:
      return std::vector<DType>{DType::kFloat, DType::kInt32};
    default:
      return AttrValue::EmptyList();
  }
}

const AttrValue* FindIn(const Attrs& attrs, const std::string& name) {
  for (const auto& attr : attrs) {
    if (attr.first == name) return &attr.second;
  }
  return nullptr;
}

// What int attr `name` is: given in `attrs`, else its default.
int64_t NumberIn(const Attrs& attrs, const OpSchema& schema, const std::string& name) {
  const AttrValue* const given = FindIn(attrs, name);
  if (given != nullptr) return given->view().AsInt().value();
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.name == name && attr.has_default) return AttrView(attr.default_value).AsInt().value();
  }
  return 1;
}

// The roles of the inputs of [Resource][Sparse]Apply... ops.
std::vector<InputRole> RolesIn(const OpSchema& schema) {
  const auto has = [&schema](const char* part) { return schema.name.find(part) != std::string::npos; };
  if (!has("Apply") || has("Accumulator")) return {};
  std::vector<InputRole> roles;
  for (const ArgSpec& arg : schema.inputs) {
    if (arg.is_ref || arg.dtype == DType::kResource) {
      roles.push_back(InputRole::kSlot);
    } else if (arg.name == "grad" || arg.name == "delta") {
      roles.push_back(has("SparseApply") ? InputRole::kGradientRows : InputRole::kGradient);
    } else {
      roles.push_back(arg.name == "indices" ? InputRole::kIndices : InputRole::kScalar);
    }
  }
  return roles;
}

// Fills `row_case` for the dtypes that are number `choice` of what each type attr may be.
void FillCase(const KernelRow& row, const OpSchema& schema, size_t choice, CallCase* row_case) {
  row_case->op = schema.name;
  row_case->attrs = SpecialAttrs(schema.name);
  row_case->roles = RolesIn(schema);
  row_case->shapes = SpecialShapes(schema.name);
  std::map<std::string, DType> types;
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.type != AttrType::kType) continue;
    const std::vector<DType> allowed = TypesOf(row, attr);
    if (allowed.empty()) continue;
    types[attr.name] = allowed[choice % allowed.size()];
    row_case->attrs.emplace_back(attr.name, types[attr.name]);
    if (row_case->resource_type == DType::kFloat) row_case->resource_type = types[attr.name];
  }
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.type == AttrType::kTensor) {
      const absl::StatusOr<Tensor> zeros = Tensor::MakeZeros(types["dtype"], Shape::Of({2}));
      if (zeros.ok()) row_case->attrs.emplace_back(attr.name, *zeros);
    } else if (attr.type != AttrType::kType && !attr.has_default && FindIn(row_case->attrs, attr.name) == nullptr) {
      row_case->attrs.emplace_back(attr.name, GuessAttr(attr));
    }
  }
  for (const ArgSpec& arg : schema.inputs) {
    if (!arg.type_list_attr.empty()) {
      const AttrValue* const list = FindIn(row_case->attrs, arg.type_list_attr);
      const std::vector<DType> listed = list != nullptr ? list->view().AsTypeList().value() : std::vector<DType>();
      row_case->inputs.insert(row_case->inputs.end(), listed.begin(), listed.end());
      continue;
    }
    const int64_t count = arg.number_attr.empty() ? 1 : NumberIn(row_case->attrs, schema, arg.number_attr);
    const DType type = arg.dtype != DType::kInvalid ? arg.dtype : types[arg.type_attr];
    for (int64_t i = 0; i < count; ++i) row_case->inputs.push_back(arg.is_ref ? RefType(type) : type);
  }
}

}  // namespace

std::string CallCase::Name() const {
  std::string name = op;
  for (const DType type : inputs) absl::StrAppend(&name, " ", DTypeName(type));
  return name;
}

std::vector<CallCase> CasesOf(const KernelRow& row, const OpSchema& schema) {
  size_t num_choices = 1;
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.type == AttrType::kType) num_choices = std::max(num_choices, TypesOf(row, attr).size());
  }
  std::vector<CallCase> cases(num_choices);
  for (size_t i = 0; i < num_choices; ++i) FillCase(row, schema, i, &cases[i]);
  return cases;
}

}  // namespace sluice
