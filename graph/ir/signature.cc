#include "graph/ir/signature.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

absl::StatusOr<AttrView> Require(AttrFinder attrs, absl::string_view name) {
  AttrView value;
  if (!attrs(name, &value)) {
    return Error(ErrorCode::kAttrMissing).Attr(name).Text("is missing; it determines the node's types");
  }
  return value;
}

absl::Status CheckDType(absl::string_view attr, int64_t number) {
  if (DTypeFromNumber(number) != DType::kInvalid) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue).Attr(attr).Text("is not a type that tensors have").Found(absl::StrCat(number));
}

absl::StatusOr<DType> TypeOf(AttrFinder attrs, absl::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, Require(attrs, name));
  const absl::StatusOr<int64_t> number = value.AsTypeNumber();
  if (!number.ok()) return WithAttr(number.status(), name);
  SLUICE_RETURN_IF_ERROR(CheckDType(name, *number));
  return DTypeFromNumber(*number);
}

// Appends the types of one argument.
absl::Status AppendArg(const ArgSpec& arg, AttrFinder attrs, int64_t max_args, std::vector<DType>* types) {
  const auto append = [&](DType type, int64_t count) {
    types->insert(types->end(), static_cast<size_t>(count), arg.is_ref ? RefType(type) : type);
  };
  if (!arg.type_list_attr.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const AttrView value, Require(attrs, arg.type_list_attr));
    const absl::StatusOr<std::vector<DType>> list = value.AsTypeList();
    if (!list.ok()) return WithAttr(list.status(), arg.type_list_attr);
    for (DType type : *list) {
      if (type == DType::kInvalid) return CheckDType(arg.type_list_attr, 0);
      append(type, 1);
    }
    return absl::OkStatus();
  }
  DType type = arg.dtype;
  if (!arg.type_attr.empty()) {
    SLUICE_ASSIGN_OR_RETURN(type, TypeOf(attrs, arg.type_attr));
  }
  int64_t count = 1;
  if (!arg.number_attr.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const AttrView value, Require(attrs, arg.number_attr));
    const absl::StatusOr<int64_t> number = value.AsInt();
    if (!number.ok()) return WithAttr(number.status(), arg.number_attr);
    count = *number;
    if (count < 0 || count > max_args - static_cast<int64_t>(types->size())) {
      return Error(ErrorCode::kAttrValue)
          .Attr(arg.number_attr)
          .Text("is not a possible number of arguments")
          .Found(absl::StrCat(count))
          .Expected(absl::StrCat("0 to ", max_args));
    }
  }
  append(type, count);
  return absl::OkStatus();
}

absl::Status AppendArgs(const std::vector<ArgSpec>& args, AttrFinder attrs, int64_t max_args, std::vector<DType>* types,
                        std::vector<int32_t>* starts) {
  for (const ArgSpec& arg : args) {
    starts->push_back(static_cast<int32_t>(types->size()));
    SLUICE_RETURN_IF_ERROR(AppendArg(arg, attrs, max_args, types));
  }
  starts->push_back(static_cast<int32_t>(types->size()));
  return absl::OkStatus();
}

// What all signatures of a cache may hold together: few bytes of a file can ask for 65,536 outputs.
constexpr int64_t kMaxCachedTypes = int64_t{1} << 26;

// Everything that determines a signature: how each argument's type is given, and the bytes of the attrs it names. Not
// the address of the schema: a function's schema may be freed, and another one made at the same address.
std::string CacheKey(const OpSchema& op, AttrFinder attrs) {
  std::string key;
  const auto append = [&](absl::string_view kind, const std::string& name) {
    AttrView value;
    const bool found = attrs(name, &value);
    absl::StrAppend(&key, kind, found ? value.bytes().size() : 0, found ? ":" : "-", value.bytes());
  };
  for (const std::vector<ArgSpec>* args : {&op.inputs, &op.outputs}) {
    for (const ArgSpec& arg : *args) {
      key.push_back(arg.is_ref ? 'r' : 'v');
      if (!arg.type_list_attr.empty()) {
        append("l", arg.type_list_attr);
        continue;
      }
      if (arg.type_attr.empty()) {
        absl::StrAppend(&key, "d", static_cast<int>(arg.dtype));
      } else {
        append("t", arg.type_attr);
      }
      if (!arg.number_attr.empty()) append("n", arg.number_attr);
    }
    key.push_back('|');
  }
  return key;
}

}  // namespace

absl::StatusOr<Signature> ComputeSignature(const OpSchema& op, AttrFinder attrs, int64_t max_args) {
  Signature signature;
  SLUICE_RETURN_IF_ERROR(AppendArgs(op.inputs, attrs, max_args, &signature.inputs, &signature.input_starts));
  SLUICE_RETURN_IF_ERROR(AppendArgs(op.outputs, attrs, max_args, &signature.outputs, &signature.output_starts));
  return signature;
}

absl::StatusOr<const Signature*> SignatureCache::Get(const OpSchema& op, AttrFinder attrs, int64_t max_args) {
  std::string key = CacheKey(op, attrs);
  {
    MutexLock lock(&mu_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second.get();
  }
  SLUICE_ASSIGN_OR_RETURN(Signature computed, ComputeSignature(op, attrs, max_args));
  const auto num_types = static_cast<int64_t>(computed.inputs.size() + computed.outputs.size());
  auto signature = std::make_unique<const Signature>(std::move(computed));
  MutexLock lock(&mu_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second.get();  // By another thread.
  if (num_types > kMaxCachedTypes - num_types_) {
    return Error(ErrorCode::kLimitInputs)
        .Text("has inputs and outputs that, with those of all nodes of other types, are too many")
        .Limit("types of arguments", kMaxCachedTypes);
  }
  const Signature* const kept = entries_.emplace(std::move(key), std::move(signature)).first->second.get();
  num_types_ += num_types;
  return kept;
}

}  // namespace sluice
