#include "graph/ir/attr_agreement.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// The type of the real and the imaginary part; kInvalid when `type` is not complex.
DType PartType(DType type) {
  switch (BaseType(type)) {
    case DType::kComplex64:
      return DType::kFloat;
    case DType::kComplex128:
      return DType::kDouble;
    default:
      return DType::kInvalid;
  }
}

// The first output must hold the parts of the first input.
absl::Status OutputHoldsParts(const Signature& signature) {
  const DType wanted = PartType(signature.inputs[0]);
  if (signature.outputs[0] == wanted) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr("Tout")
      .Text(absl::StrCat("is not the type of the parts of ", DTypeName(BaseType(signature.inputs[0]))))
      .Found(DTypeName(signature.outputs[0]))
      .Expected(DTypeName(wanted));
}

absl::Status InputHoldsParts(const Signature& signature) {
  const DType wanted = PartType(signature.outputs[0]);
  if (BaseType(signature.inputs[0]) == wanted) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr("T")
      .Text(absl::StrCat("is not the type of the parts of ", DTypeName(signature.outputs[0])))
      .Found(DTypeName(BaseType(signature.inputs[0])))
      .Expected(DTypeName(wanted));
}

absl::Status OneTypeForEachResource(const Signature& signature) {
  if (signature.inputs.size() == signature.outputs.size()) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr("dtypes")
      .Text("does not have one type for each resource")
      .Found(absl::StrCat(signature.outputs.size(), " types"))
      .Expected(absl::StrCat(signature.inputs.size()));
}

struct Rule {
  absl::string_view op;
  size_t num_inputs;  // At least; the rule looks at them.
  absl::Status (*check)(const Signature& signature);
};

constexpr Rule kRules[] = {
    {"Angle", 1, &OutputHoldsParts}, {"Complex", 1, &InputHoldsParts}, {"ComplexAbs", 1, &OutputHoldsParts},
    {"Imag", 1, &OutputHoldsParts},  {"Real", 1, &OutputHoldsParts},   {"_ReadVariablesOp", 0, &OneTypeForEachResource},
};

}  // namespace

absl::Status CheckAttrAgreement(absl::string_view op, const Signature& signature) {
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules), [op](const Rule& row) { return row.op == op; });
  if (rule == std::end(kRules)) return absl::OkStatus();
  // An op of a host may have the name.
  if (signature.inputs.size() < rule->num_inputs || (rule->num_inputs > 0 && signature.outputs.empty())) {
    return absl::OkStatus();
  }
  return rule->check(signature);
}

}  // namespace sluice
