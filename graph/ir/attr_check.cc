// CheckAttr: whether an attr's value is one that its spec allows.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/signature.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

absl::Status TypeAllowed(const AttrSpec& spec, int64_t number) {
  const DType type = DTypeFromNumber(number);
  if (type == DType::kInvalid && number != 0) {
    return Error(ErrorCode::kAttrValue).Text("is not a type that tensors have").Found(absl::StrCat(number));
  }
  if (spec.allowed_types.empty() ||
      std::find(spec.allowed_types.begin(), spec.allowed_types.end(), BaseType(type)) != spec.allowed_types.end()) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kAttrValue)
      .Text("is not a type that the op takes")
      .Found(DTypeName(type))
      .Expected(absl::StrJoin(spec.allowed_types, ", ",
                              [](std::string* out, DType t) { absl::StrAppend(out, DTypeName(t)); }));
}

absl::Status StringAllowed(const AttrSpec& spec, absl::string_view value) {
  if (spec.allowed_strings.empty() ||
      std::find(spec.allowed_strings.begin(), spec.allowed_strings.end(), value) != spec.allowed_strings.end()) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kAttrValue)
      .Text("is not a value that the op takes")
      .Found(absl::StrCat("\"", PrintableName(value), "\""))
      .Expected(absl::StrCat("one of ", absl::StrJoin(spec.allowed_strings, ", ")));
}

absl::Status AtLeast(const AttrSpec& spec, int64_t value, absl::string_view what) {
  if (!spec.has_minimum || value >= spec.minimum) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Text(absl::StrCat(what, " is too small"))
      .Found(absl::StrCat(value))
      .Expected(absl::StrCat("at least ", spec.minimum));
}

absl::Status NestingAllowed(AttrView value, const LoadLimits& limits) {
  if (value.NestsWithin(limits.max_nesting)) return absl::OkStatus();
  return Error(ErrorCode::kLimitDepth)
      .Text("nests messages too deeply")
      .Limit("max_nesting", limits.max_nesting)
      .Expected(absl::StrCat("at most ", limits.max_nesting, " levels"));
}

// Checks each element of a list with `check`, then its length.
template <typename List, typename Check>
absl::Status CheckList(const AttrSpec& spec, const List& list, Check check) {
  SLUICE_RETURN_IF_ERROR(list.status());
  for (const auto& element : *list) SLUICE_RETURN_IF_ERROR(check(element));
  return AtLeast(spec, static_cast<int64_t>(list->size()), "length of the list");
}

absl::Status CheckTensor(absl::string_view bytes, const LoadLimits& limits) {
  return InspectTensorProto(bytes, limits).status();
}

absl::Status CheckScalar(const AttrSpec& spec, AttrView value, const LoadLimits& limits) {
  switch (spec.type) {
    case AttrType::kString: {
      SLUICE_ASSIGN_OR_RETURN(const absl::string_view text, value.AsString());
      return StringAllowed(spec, text);
    }
    case AttrType::kInt: {
      SLUICE_ASSIGN_OR_RETURN(const int64_t number, value.AsInt());
      return AtLeast(spec, number, "value");
    }
    case AttrType::kFloat:
      return value.AsFloat().status();
    case AttrType::kBool:
      return value.AsBool().status();
    case AttrType::kType: {
      SLUICE_ASSIGN_OR_RETURN(const int64_t number, value.AsTypeNumber());
      return TypeAllowed(spec, number);
    }
    case AttrType::kShape:
      return value.AsShape().status();
    case AttrType::kTensor: {
      SLUICE_RETURN_IF_ERROR(NestingAllowed(value, limits));
      SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, value.AsTensorBytes());
      return CheckTensor(bytes, limits);
    }
    case AttrType::kFunc: {
      SLUICE_RETURN_IF_ERROR(NestingAllowed(value, limits));
      return value.AsFunc().status();
    }
    default:
      return NestingAllowed(value, limits);
  }
}

}  // namespace

absl::Status CheckAttr(const AttrSpec& full_spec, AttrView value, const LoadLimits& limits, bool check_minimum) {
  if (!check_minimum && full_spec.has_minimum) {
    AttrSpec spec = full_spec;  // Rare: only if the attr determines the arity, and NodeChecker remembers it.
    spec.has_minimum = false;
    return CheckAttr(spec, value, limits);
  }
  const AttrSpec& spec = full_spec;
  const auto fine = [](const auto&) { return absl::OkStatus(); };
  switch (spec.type) {
    case AttrType::kListString:
      return CheckList(spec, value.AsStringList(), [&](absl::string_view text) { return StringAllowed(spec, text); });
    case AttrType::kListInt:
      return CheckList(spec, value.AsIntList(), fine);
    case AttrType::kListFloat:
      return CheckList(spec, value.AsFloatList(), fine);
    case AttrType::kListBool:
      return CheckList(spec, value.AsBoolList(), fine);
    case AttrType::kListShape:
      return CheckList(spec, value.AsShapeList(), fine);
    case AttrType::kListType:
      return CheckList(spec, value.AsTypeList(),
                       [&](DType type) { return TypeAllowed(spec, static_cast<int64_t>(type)); });
    case AttrType::kListTensor:
      SLUICE_RETURN_IF_ERROR(NestingAllowed(value, limits));
      return CheckList(spec, value.AsTensorBytesList(),
                       [&](absl::string_view bytes) { return CheckTensor(bytes, limits); });
    case AttrType::kListFunc:
      SLUICE_RETURN_IF_ERROR(NestingAllowed(value, limits));
      return CheckList(spec, value.AsFuncList(), fine);
    default:
      return CheckScalar(spec, value, limits);
  }
}

}  // namespace sluice
