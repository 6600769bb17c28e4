#include "tests/testing/op_cases.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "graph/base/check.h"
#include "graph/ops/op_table.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "tests/testing/node_signature.h"

namespace sluice {
namespace {

// Ops that the propagators carry out.
constexpr absl::string_view kWithoutKernel[] = {"NoOp",  "ControlTrigger", "Switch",   "RefSwitch", "Merge",
                                                "Enter", "GradSum",        "LoopCond", "RefMerge"};

// The types of attr `spec` that have a kernel in `row`, in order of their numbers.
std::vector<DType> TypesOf(const KernelRow& row, const AttrSpec& spec) {
  const DTypeSet wanted = row.TypesOf(spec.name);
  std::vector<DType> types;
  for (int number = 1; number <= 23; ++number) {
    const DType type = static_cast<DType>(number);
    const auto& allowed = spec.allowed_types;
    const bool is_allowed = allowed.empty() || std::count(allowed.begin(), allowed.end(), type) > 0;
    if (is_allowed && wanted.Contains(type)) types.push_back(type);
  }
  return types;
}

// A value for an attr that has no default.
proto::AttrValue PlainAttr(const OpSchema& op, const AttrSpec& spec) {
  proto::AttrValue value;
  const int64_t least = spec.has_minimum ? spec.minimum : 1;
  const int64_t count = std::max<int64_t>(least, 2);
  switch (spec.type) {
    case AttrType::kInt:
      value.set_i(count);
      break;
    case AttrType::kFloat:
      value.set_f(1);
      break;
    case AttrType::kBool:
      value.set_b(false);
      break;
    case AttrType::kString:
      value.set_s(spec.name == "equation" ? (op.name == "Einsum" ? "ab,bc->ac" : "x") : "frame");
      if (!spec.allowed_strings.empty()) value.set_s(spec.allowed_strings[0]);
      break;
    case AttrType::kShape:
      value.mutable_shape()->add_dim()->set_size(2);
      break;
    case AttrType::kTensor:
      *value.mutable_tensor() = ConstNodeDef("c", Tensor::Scalar(1.0f)).attr().at("value").tensor();
      break;
    case AttrType::kListInt:
      for (int64_t i = 0; i < (spec.name == "strides" ? 4 : count); ++i) value.mutable_list()->add_i(1);
      break;
    case AttrType::kListFloat:
      for (int64_t i = 0; i < count; ++i) value.mutable_list()->add_f(static_cast<float>(i));
      break;
    case AttrType::kListType:
      for (int64_t i = 0; i < count; ++i) value.mutable_list()->add_type(proto::DT_FLOAT);
      break;
    case AttrType::kListShape:
      for (int64_t i = 0; i < count; ++i) value.mutable_list()->add_shape()->add_dim()->set_size(2);
      break;
    case AttrType::kListString:
      for (int64_t i = 0; i < count; ++i) value.mutable_list()->add_s("s");
      break;
    default:
      value.mutable_list();
      break;
  }
  return value;
}

// The cases of one row: each type attr through all its types while the others keep their first.
void AddCases(const KernelRow& row, std::set<std::string>* seen, std::vector<OpCase>* cases) {
  const OpSchema* const schema = BuiltinOps().Find(row.op());
  if (schema == nullptr || absl::StartsWith(row.op(), "_")) return;
  OpCase plain;
  plain.schema = schema;
  plain.node.set_name("op");
  plain.node.set_op(schema->name);
  std::vector<std::pair<std::string, std::vector<DType>>> choices;
  for (const AttrSpec& spec : schema->attrs) {
    if (spec.type == AttrType::kType) {
      choices.emplace_back(spec.name, TypesOf(row, spec));
      if (choices.back().second.empty()) return;
      (*plain.node.mutable_attr())[spec.name] = TypeAttrValue(choices.back().second[0]);
    } else if (!spec.has_default || spec.type == AttrType::kInt) {
      (*plain.node.mutable_attr())[spec.name] = PlainAttr(*schema, spec);
      if (spec.has_default) {
        SLUICE_CHECK((*plain.node.mutable_attr())[spec.name].ParseFromString(spec.default_value));
      }
    }
  }
  if (choices.empty()) choices.emplace_back("", std::vector<DType>{DType::kInvalid});
  for (const auto& [attr, types] : choices) {
    for (const DType type : types) {
      OpCase made = plain;
      if (!attr.empty()) (*made.node.mutable_attr())[attr] = TypeAttrValue(type);
      // Of Const the value goes with the type.
      if (schema->op_class == OpClass::kConst && IsTrivial(type)) {
        *made.node.mutable_attr() = ConstNodeDef("c", *Tensor::MakeZeros(type, Shape::Of({2}))).attr();
      }
      absl::StatusOr<Signature> signature = SignatureOf(made.node);
      if (!signature.ok() || !seen->insert(made.node.DebugString()).second) continue;
      made.signature = *std::move(signature);
      cases->push_back(std::move(made));
    }
  }
}

}  // namespace

std::vector<OpCase> AllOpCases() {
  std::vector<OpCase> cases;
  std::set<std::string> seen;
  for (const absl::Span<const KernelRow> table : BuiltinKernels().Tables()) {
    for (const KernelRow& row : table) {
      if (row.device() == DeviceKind::kCpu) AddCases(row, &seen, &cases);
    }
  }
  for (const absl::string_view op : kWithoutKernel) AddCases(KernelRow(op, KernelFactory()), &seen, &cases);
  return cases;
}

}  // namespace sluice
