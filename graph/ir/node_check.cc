#include "graph/ir/node_check.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

constexpr size_t kMaxMemos = 8;

const NamedAttr* FindIn(absl::Span<const NamedAttr> attrs, absl::string_view name) {
  for (const NamedAttr& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

int32_t SpecIndex(const OpSchema& schema, absl::string_view name) {
  for (size_t i = 0; i < schema.attrs.size(); ++i) {
    if (schema.attrs[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

// Same memory or same bytes; an absent value (null data) equals only another absent one.
bool SameBytes(absl::string_view a, absl::string_view b) {
  return (a.data() == nullptr) == (b.data() == nullptr) && a == b;
}

std::unique_ptr<NodeChecker::OpEntry> MakeEntry(const OpSchema& schema) {
  auto entry = std::make_unique<NodeChecker::OpEntry>();
  entry->schema = &schema;
  entry->accepted.resize(schema.attrs.size());
  entry->is_const = schema.name == "Const";
  for (const std::vector<ArgSpec>* args : {&schema.inputs, &schema.outputs}) {
    for (const ArgSpec& arg : *args) {
      for (const std::string* name : {&arg.type_attr, &arg.number_attr, &arg.type_list_attr}) {
        const int32_t index = name->empty() ? -1 : SpecIndex(schema, *name);
        const auto& known = entry->type_attrs;
        if (index >= 0 && std::find(known.begin(), known.end(), index) == known.end()) {
          entry->type_attrs.push_back(index);
        }
      }
    }
  }
  return entry;
}

}  // namespace

bool IsCallFrameOp(absl::string_view op) {
  return op == "_Arg" || op == "_Retval" || op == "_DeviceArg" || op == "_DeviceRetval";
}

NodeChecker::OpEntry* NodeChecker::Find(absl::string_view op) {
  if (last_ != nullptr && last_->schema->name == op) return last_;
  const auto found = entries_.find(op);
  if (found != entries_.end()) return last_ = found->second.get();
  const OpSchema* const schema = ops_.FindOp(op);
  if (schema == nullptr) return nullptr;
  return last_ = (entries_[std::string(op)] = MakeEntry(*schema)).get();
}

absl::Status NodeChecker::UnknownOp(absl::string_view node, absl::string_view op) const {
  ErrorBuilder error(ErrorCode::kOpUnknown);
  error.Node(node, op).Text(op.empty() ? "names no op" : "is not an op that is known here");
  const std::vector<std::string> near = ops_.NearOps(op);
  if (!near.empty() && !op.empty()) error.Help(absl::StrCat("did you mean ", absl::StrJoin(near, " or "), "?"));
  return error;
}

absl::StatusOr<const Signature*> NodeChecker::Check(OpEntry& entry, absl::Span<const NamedAttr> attrs,
                                                    int32_t producer) {
  SLUICE_RETURN_IF_ERROR(CheckAttrs(entry, attrs));
  SLUICE_RETURN_IF_ERROR(CheckRequired(entry, attrs));
  SLUICE_ASSIGN_OR_RETURN(const Signature* const signature, FindSignature(entry, attrs));
  const OpSchema& schema = *entry.schema;
  if (schema.deprecated_at > 0 && producer >= schema.deprecated_at) {
    return Error(ErrorCode::kOpDeprecated)
        .Text(absl::StrCat("was removed at graph version ", schema.deprecated_at))
        .Found(absl::StrCat("version ", producer))
        .Help(schema.deprecation_text);
  }
  if (entry.is_const) SLUICE_RETURN_IF_ERROR(CheckConst(attrs));
  return signature;
}

absl::Status NodeChecker::CheckAttrs(OpEntry& entry, absl::Span<const NamedAttr> attrs) {
  for (const NamedAttr& attr : attrs) {
    const int32_t index = SpecIndex(*entry.schema, attr.name);
    if (index < 0) {  // Hints ("_class") and attrs of other versions are carried along.
      if (attr.value.NestsWithin(limits_.max_nesting)) continue;
      return Error(ErrorCode::kLimitDepth)
          .Attr(attr.name)
          .Text("nests messages too deeply")
          .Limit("max_nesting", limits_.max_nesting);
    }
    absl::string_view& accepted = entry.accepted[static_cast<size_t>(index)];
    if (accepted.data() != nullptr && accepted == attr.value.bytes()) continue;
    const auto& types = entry.type_attrs;
    const bool decides_arity = std::find(types.begin(), types.end(), index) != types.end();
    const absl::Status status =
        CheckAttr(entry.schema->attrs[static_cast<size_t>(index)], attr.value, limits_, !decides_arity);
    if (!status.ok()) return WithAttr(status, attr.name);
    accepted = attr.value.bytes();
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::CheckRequired(const OpEntry& entry, absl::Span<const NamedAttr> attrs) const {
  // Attrs that decide the types are looked at first, as they matter most.
  for (int32_t index : entry.type_attrs) SLUICE_RETURN_IF_ERROR(CheckPresent(entry, index, attrs));
  for (size_t i = 0; i < entry.schema->attrs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckPresent(entry, static_cast<int32_t>(i), attrs));
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::CheckPresent(const OpEntry& entry, int32_t index, absl::Span<const NamedAttr> attrs) const {
  const AttrSpec& spec = entry.schema->attrs[static_cast<size_t>(index)];
  if (spec.has_default || FindIn(attrs, spec.name) != nullptr) return absl::OkStatus();
  const auto& types = entry.type_attrs;
  const bool decides_types = std::find(types.begin(), types.end(), index) != types.end();
  ErrorBuilder error(decides_types || spec.type == AttrType::kFunc ? ErrorCode::kAttrMissing
                                                                   : ErrorCode::kAttrRequired);
  error.Attr(spec.name).Text("is missing").Expected(AttrTypeName(spec.type));
  for (const NamedAttr& attr : attrs) {  // A slip of the pen: "valu" for "value".
    if (SpecIndex(*entry.schema, attr.name) < 0 &&
        (absl::StartsWith(spec.name, attr.name) || absl::StartsWith(attr.name, spec.name)) && !attr.name.empty()) {
      error.Help(absl::StrCat("the node has an attr '", PrintableName(attr.name), "'"));
    }
  }
  return error;
}

absl::Status NodeChecker::CheckConst(absl::Span<const NamedAttr> attrs) const {
  const NamedAttr* const dtype = FindIn(attrs, "dtype");
  const NamedAttr* const value = FindIn(attrs, "value");
  if (dtype == nullptr || value == nullptr) return absl::OkStatus();  // CheckRequired has said it.
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, value->value.AsTensorBytes());
  SLUICE_ASSIGN_OR_RETURN(const TensorProtoInfo info, InspectTensorProto(bytes, limits_));
  SLUICE_ASSIGN_OR_RETURN(const DType declared, dtype->value.AsType());
  if (info.dtype == declared) return absl::OkStatus();
  return Error(ErrorCode::kTensorDType)
      .Attr("value")
      .Text("holds a tensor of another type than attr 'dtype' says")
      .Found(DTypeName(info.dtype))
      .Expected(DTypeName(declared));
}

absl::StatusOr<const Signature*> NodeChecker::FindSignature(OpEntry& entry, absl::Span<const NamedAttr> attrs) {
  absl::string_view values[8];
  const size_t count = entry.type_attrs.size();
  const bool remember = count <= 8;
  for (size_t i = 0; remember && i < count; ++i) {
    const AttrSpec& spec = entry.schema->attrs[static_cast<size_t>(entry.type_attrs[i])];
    const NamedAttr* const attr = FindIn(attrs, spec.name);
    if (attr != nullptr) values[i] = attr->value.bytes();
  }
  for (const OpEntry::Memo& memo : entry.memos) {
    if (remember && std::equal(memo.values.begin(), memo.values.end(), values, SameBytes)) return memo.signature;
  }
  const auto find = [&](absl::string_view name, AttrView* value) {
    if (const NamedAttr* const attr = FindIn(attrs, name)) {
      *value = attr->value;
      return true;
    }
    const AttrSpec* const spec = entry.schema->FindAttr(name);
    if (spec == nullptr || !spec->has_default) return false;
    *value = AttrView(spec->default_value);
    return true;
  };
  SLUICE_ASSIGN_OR_RETURN(const Signature* const signature,
                          signatures_.Get(*entry.schema, find, limits_.max_inputs_per_node));
  if (!remember) return signature;
  OpEntry::Memo memo{std::vector<absl::string_view>(values, values + count), signature};
  if (entry.memos.size() < kMaxMemos) {
    entry.memos.push_back(std::move(memo));
  } else {
    entry.memos[entry.next_memo++ % kMaxMemos] = std::move(memo);
  }
  return signature;
}

}  // namespace sluice
