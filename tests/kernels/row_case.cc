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

// Attrs without which no inputs would do.
const Attrs& SpecialAttrs(const std::string& op) {
  static const std::map<std::string, Attrs>& all = *new std::map<std::string, Attrs>{
      {"BatchToSpace", {{"block_size", 2}}},
      {"Conv2D", {{"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"Bucketize", {{"boundaries", std::vector<float>{-1.0f, 0.0f, 1.5f}}}},
      {"CountUpTo", {{"limit", 5}}},
      {"DepthToSpace", {{"block_size", 2}}},
      {"DynamicPartition", {{"num_partitions", 3}}},
      {"Einsum", {{"equation", "ij,jk->ik"}, {"N", 2}}},
      {"Empty", {{"init", true}}},  // What nobody has set differs each time.
      {"EnsureShape", {{"shape", PartialShape()}}},
      {"ResourceCountUpTo", {{"limit", 5}}},
      {"ReverseSequence", {{"seq_dim", 1}}},
      {"SpaceToBatch", {{"block_size", 2}}},
      {"SpaceToDepth", {{"block_size", 2}}},
      {"StringToHashBucketStrong", {{"key", std::vector<int64_t>{1, 2}}}},
      {"_ReadVariablesOp", {{"N", 2}, {"dtypes", std::vector<DType>{DType::kFloat, DType::kFloat}}}},
      {"_FusedConv2D",
       {{"fused_ops", std::vector<std::string>{"BiasAdd", "Tanh"}},
        {"num_args", 1},
        {"num_host_args", 0},
        {"TArgs", std::vector<DType>{DType::kFloat}},
        {"strides", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"_FusedMatMul", {{"fused_ops", std::vector<std::string>{"BiasAdd", "Tanh"}}, {"num_args", 1}}},
  };
  static const Attrs& none = *new Attrs();
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

// A value for an attr that has no default and is no type.
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

// Fills `row_case` for the dtypes that are number `choice` of what each type attr may be.
void FillCase(const KernelRow& row, const OpSchema& schema, size_t choice, RowCase* row_case) {
  row_case->op = schema.name;
  row_case->attrs = SpecialAttrs(schema.name);
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
    const AttrValue* const number = FindIn(row_case->attrs, arg.number_attr);
    const int64_t count = number != nullptr ? number->view().AsInt().value() : 1;
    const DType type = arg.dtype != DType::kInvalid ? arg.dtype : types[arg.type_attr];
    for (int64_t i = 0; i < count; ++i) row_case->inputs.push_back(arg.is_ref ? RefType(type) : type);
  }
}

}  // namespace

std::string RowCase::Name() const {
  std::string name = op;
  for (const DType type : inputs) absl::StrAppend(&name, " ", DTypeName(type));
  return name;
}

std::vector<RowCase> CasesOf(const KernelRow& row, const OpSchema& schema) {
  size_t num_choices = 1;
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.type == AttrType::kType) num_choices = std::max(num_choices, TypesOf(row, attr).size());
  }
  std::vector<RowCase> cases(num_choices);
  for (size_t i = 0; i < num_choices; ++i) FillCase(row, schema, i, &cases[i]);
  return cases;
}

}  // namespace sluice
