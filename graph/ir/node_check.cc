#include "graph/ir/node_check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor_proto.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

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

// A copy of a short text, or nothing. Lies in one piece with its neighbours: comparing costs no look elsewhere.
class ShortText {
 public:
  ShortText() = default;
  // Nothing for null data and for long texts.
  explicit ShortText(absl::string_view text) {
    if (text.data() == nullptr || text.size() > sizeof(bytes_)) return;
    size_ = static_cast<int8_t>(text.size());
    std::copy(text.begin(), text.end(), bytes_);
  }

  bool is_set() const { return size_ >= 0; }
  bool Is(absl::string_view text) const {
    return text.data() != nullptr && static_cast<size_t>(size_) == text.size() &&
           std::equal(text.begin(), text.end(), bytes_);
  }

 private:
  int8_t size_ = -1;
  char bytes_[31];
};

// A copy of a text of any length: a short one in place, others elsewhere.
class KeptText {
 public:
  KeptText() = default;
  explicit KeptText(absl::string_view text) : short_(text) {
    if (text.data() != nullptr && !short_.is_set()) long_ = std::string(text);
  }

  // False for the copy of null data.
  bool is_set() const { return short_.is_set() || !long_.empty(); }
  bool Is(absl::string_view text) const { return short_.is_set() || long_.empty() ? short_.Is(text) : long_ == text; }

 private:
  ShortText short_;
  std::string long_;  // Empty: none.
};

// What nodes of one op state: attrs of these names in this order, the required ones among them.
struct Layout {
  std::vector<std::string> names;
  std::vector<int32_t> specs;           // By attr: its spec; -1 for hints and attrs of other versions.
  std::vector<int32_t> type_positions;  // By attr that decides types: which of the node's it is; -1: the default holds.

  bool Is(absl::Span<const NamedAttr> attrs) const {
    return std::equal(names.begin(), names.end(), attrs.begin(), attrs.end(),
                      [](const std::string& name, const NamedAttr& attr) { return attr.name == name; });
  }
};

// The latest few of something.
template <typename T, size_t kCount>
class Recent {
 public:
  template <typename Fits>
  const T* Find(const Fits& fits) const {
    const auto found = std::find_if(items_.begin(), items_.end(), fits);
    return found == items_.end() ? nullptr : &*found;
  }
  void Add(T item) {
    if (items_.size() < kCount) {
      items_.push_back(std::move(item));
    } else {
      items_[next_++ % kCount] = std::move(item);
    }
  }

 private:
  std::vector<T> items_;
  size_t next_ = 0;
};

// The dtype that a TensorProto states; its form was checked.
DType StatedDType(absl::string_view tensor) {
  uint64_t number = 0;
  WireReader reader(tensor);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kVarint)) number = reader.varint();
  }
  return DTypeFromNumber(static_cast<int32_t>(number));
}

// Whether the tensor in an attr is at fault, and not that there is one.
bool IsAboutTensor(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() && info->code >= ErrorCode::kTensorDType && info->code <= ErrorCode::kTensorTooLarge;
}

}  // namespace

class NodeChecker::OpEntry {
 public:
  explicit OpEntry(const OpSchema& schema);

  const OpSchema& schema() const { return schema_; }
  absl::StatusOr<const Signature*> Check(absl::Span<const NamedAttr> attrs, int32_t producer, const LoadLimits& limits,
                                         SignatureCache& signatures, absl::Status* value_error);

 private:
  // The remembered facts of one attr of the op.
  struct AttrFacts {
    bool decides_types = false;
    ShortText accepted[2];      // Values that were right, the latest first.
    std::string long_accepted;  // The latest one that is longer, if the attr decides types: most nodes are alike then.
  };
  // Values of the attrs that decide types, as far as nodes state them, and what follows from them.
  struct Memo {
    std::vector<KeptText> values;
    const Signature* signature;
  };

  Layout LayoutOf(absl::Span<const NamedAttr> attrs) const;
  absl::Status CheckAttrs(const Layout& layout, absl::Span<const NamedAttr> attrs, const LoadLimits& limits,
                          absl::Status* value_error);
  absl::Status CheckRequired(absl::Span<const NamedAttr> attrs) const;
  absl::Status CheckPresent(int32_t index, absl::Span<const NamedAttr> attrs) const;
  absl::Status CheckConst(absl::Span<const NamedAttr> attrs, const LoadLimits& limits);
  absl::StatusOr<const Signature*> FindSignature(const Layout& layout, absl::Span<const NamedAttr> attrs,
                                                 const LoadLimits& limits, SignatureCache& signatures);

  const OpSchema& schema_;
  std::vector<AttrFacts> attrs_;     // By spec.
  std::vector<int32_t> type_attrs_;  // Specs that decide the signature.
  Recent<Layout, 6> layouts_;
  Recent<Memo, 8> memos_;
  const bool is_const_;
  bool inspects_value_ = false;          // Of a Const: checking its attrs looks through the tensor.
  ShortText const_value_, const_dtype_;  // The last pair that was found to agree.
};

NodeChecker::OpEntry::OpEntry(const OpSchema& schema)
    : schema_(schema), attrs_(schema.attrs.size()), is_const_(schema.name == "Const") {
  for (const std::vector<ArgSpec>* args : {&schema.inputs, &schema.outputs}) {
    for (const ArgSpec& arg : *args) {
      for (const std::string* name : {&arg.type_attr, &arg.number_attr, &arg.type_list_attr}) {
        const int32_t index = name->empty() ? -1 : SpecIndex(schema, *name);
        if (index < 0 || attrs_[static_cast<size_t>(index)].decides_types) continue;
        attrs_[static_cast<size_t>(index)].decides_types = true;
        type_attrs_.push_back(index);
      }
    }
  }
  const AttrSpec* const value = schema.FindAttr("value");
  inspects_value_ = value != nullptr && value->type == AttrType::kTensor;
}

absl::StatusOr<const Signature*> NodeChecker::OpEntry::Check(absl::Span<const NamedAttr> attrs, int32_t producer,
                                                             const LoadLimits& limits, SignatureCache& signatures,
                                                             absl::Status* value_error) {
  const Layout* const known = layouts_.Find([&](const Layout& layout) { return layout.Is(attrs); });
  Layout made;
  if (known == nullptr) made = LayoutOf(attrs);
  const Layout& layout = known != nullptr ? *known : made;
  SLUICE_RETURN_IF_ERROR(CheckAttrs(layout, attrs, limits, value_error));
  if (known == nullptr) SLUICE_RETURN_IF_ERROR(CheckRequired(attrs));
  SLUICE_ASSIGN_OR_RETURN(const Signature* const signature, FindSignature(layout, attrs, limits, signatures));
  if (schema_.deprecated_at > 0 && producer >= schema_.deprecated_at) {
    return Error(ErrorCode::kOpDeprecated)
        .Text(absl::StrCat("was removed at graph version ", schema_.deprecated_at))
        .Found(absl::StrCat("version ", producer))
        .Help(schema_.deprecation_text);
  }
  if (is_const_ && (value_error == nullptr || value_error->ok())) {
    const absl::Status agrees = CheckConst(attrs, limits);
    if (!agrees.ok() && (value_error == nullptr || !IsAboutTensor(agrees))) return agrees;
    if (!agrees.ok()) *value_error = agrees;
  }
  if (known == nullptr) layouts_.Add(std::move(made));
  return signature;
}

Layout NodeChecker::OpEntry::LayoutOf(absl::Span<const NamedAttr> attrs) const {
  Layout layout;
  for (const NamedAttr& attr : attrs) {
    layout.names.emplace_back(attr.name);
    layout.specs.push_back(SpecIndex(schema_, attr.name));
  }
  for (const int32_t index : type_attrs_) {
    const auto stated = std::find(layout.specs.begin(), layout.specs.end(), index);
    const bool is_stated = stated != layout.specs.end();
    layout.type_positions.push_back(is_stated ? static_cast<int32_t>(stated - layout.specs.begin()) : -1);
  }
  return layout;
}

absl::Status NodeChecker::OpEntry::CheckAttrs(const Layout& layout, absl::Span<const NamedAttr> attrs,
                                              const LoadLimits& limits, absl::Status* value_error) {
  for (size_t i = 0; i < attrs.size(); ++i) {
    const NamedAttr& attr = attrs[i];
    if (layout.specs[i] < 0) {  // Hints ("_class") and attrs of other versions are carried along.
      if (attr.value.NestsWithin(limits.max_nesting)) continue;
      return Error(ErrorCode::kLimitDepth)
          .Attr(attr.name)
          .Text("nests messages too deeply")
          .Limit("max_nesting", limits.max_nesting);
    }
    const size_t spec = static_cast<size_t>(layout.specs[i]);
    AttrFacts& facts = attrs_[spec];
    const absl::string_view bytes = attr.value.bytes();
    if (facts.accepted[0].Is(bytes) || facts.accepted[1].Is(bytes)) continue;
    if (!facts.long_accepted.empty() && facts.long_accepted == bytes) continue;
    const absl::Status status = CheckAttr(schema_.attrs[spec], attr.value, limits, !facts.decides_types);
    if (!status.ok() && value_error != nullptr && is_const_ && IsAboutTensor(status)) {
      *value_error = WithAttr(status, attr.name);
      continue;
    }
    if (!status.ok()) return WithAttr(status, attr.name);
    if (const ShortText copy(bytes); copy.is_set()) {
      facts.accepted[1] = std::exchange(facts.accepted[0], copy);
    } else if (facts.decides_types) {
      facts.long_accepted = std::string(bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::OpEntry::CheckRequired(absl::Span<const NamedAttr> attrs) const {
  // Attrs that decide the types are looked at first, as they matter most.
  for (const int32_t index : type_attrs_) SLUICE_RETURN_IF_ERROR(CheckPresent(index, attrs));
  for (size_t i = 0; i < attrs_.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckPresent(static_cast<int32_t>(i), attrs));
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::OpEntry::CheckPresent(int32_t index, absl::Span<const NamedAttr> attrs) const {
  const AttrSpec& spec = schema_.attrs[static_cast<size_t>(index)];
  if (spec.has_default || FindIn(attrs, spec.name) != nullptr) return absl::OkStatus();
  const bool decides_types = attrs_[static_cast<size_t>(index)].decides_types;
  ErrorBuilder error(decides_types || spec.type == AttrType::kFunc ? ErrorCode::kAttrMissing
                                                                   : ErrorCode::kAttrRequired);
  error.Attr(spec.name).Text("is missing").Expected(AttrTypeName(spec.type));
  for (const NamedAttr& attr : attrs) {  // A slip of the pen: "valu" for "value".
    if (SpecIndex(schema_, attr.name) < 0 &&
        (absl::StartsWith(spec.name, attr.name) || absl::StartsWith(attr.name, spec.name)) && !attr.name.empty()) {
      error.Help(absl::StrCat("the node has an attr '", PrintableName(attr.name), "'"));
    }
  }
  return error;
}

absl::Status NodeChecker::OpEntry::CheckConst(absl::Span<const NamedAttr> attrs, const LoadLimits& limits) {
  const NamedAttr* const dtype = FindIn(attrs, "dtype");
  const NamedAttr* const value = FindIn(attrs, "value");
  if (dtype == nullptr || value == nullptr) return absl::OkStatus();  // CheckRequired has said it.
  if (const_value_.Is(value->value.bytes()) && const_dtype_.Is(dtype->value.bytes())) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, value->value.AsTensorBytes());
  if (!inspects_value_) SLUICE_RETURN_IF_ERROR(InspectTensorProto(bytes, limits).status());
  SLUICE_ASSIGN_OR_RETURN(const DType declared, dtype->value.AsType());
  const DType stated = StatedDType(bytes);
  if (stated != declared) {
    return Error(ErrorCode::kTensorDType)
        .Attr("value")
        .Text("holds a tensor of another type than attr 'dtype' says")
        .Found(DTypeName(stated))
        .Expected(DTypeName(declared));
  }
  const_value_ = ShortText(value->value.bytes());
  const_dtype_ = ShortText(dtype->value.bytes());
  return absl::OkStatus();
}

absl::StatusOr<const Signature*> NodeChecker::OpEntry::FindSignature(const Layout& layout,
                                                                     absl::Span<const NamedAttr> attrs,
                                                                     const LoadLimits& limits,
                                                                     SignatureCache& signatures) {
  const auto fits = [&](const Memo& memo) {
    for (size_t i = 0; i < memo.values.size(); ++i) {
      const int32_t at = layout.type_positions[i];
      const bool is_same =
          at < 0 ? !memo.values[i].is_set() : memo.values[i].Is(attrs[static_cast<size_t>(at)].value.bytes());
      if (!is_same) return false;
    }
    return true;
  };
  if (const Memo* const memo = memos_.Find(fits)) return memo->signature;
  const auto find = [&](absl::string_view name, AttrView* value) {
    if (const NamedAttr* const attr = FindIn(attrs, name)) {
      *value = attr->value;
      return true;
    }
    const AttrSpec* const spec = schema_.FindAttr(name);
    if (spec == nullptr || !spec->has_default) return false;
    *value = AttrView(spec->default_value);
    return true;
  };
  SLUICE_ASSIGN_OR_RETURN(const Signature* const signature, signatures.Get(schema_, find, limits.max_inputs_per_node));
  Memo memo{{}, signature};
  for (const int32_t at : layout.type_positions) {
    memo.values.emplace_back(at < 0 ? absl::string_view() : attrs[static_cast<size_t>(at)].value.bytes());
  }
  memos_.Add(std::move(memo));
  return signature;
}

bool IsCallFrameOp(absl::string_view op) {
  return op == "_Arg" || op == "_Retval" || op == "_DeviceArg" || op == "_DeviceRetval";
}

NodeChecker::NodeChecker(const Ops& ops, SignatureCache& signatures, const LoadLimits& limits)
    : ops_(ops), signatures_(signatures), limits_(limits) {}

NodeChecker::~NodeChecker() = default;

NodeChecker::OpEntry* NodeChecker::Find(absl::string_view op) {
  const size_t guess = op.empty() ? 0
                                  : op.size() * 7 + static_cast<unsigned char>(op[0]) * 3 +
                                        static_cast<unsigned char>(op[op.size() / 2]);
  OpEntry*& recent = recent_[guess % recent_.size()];
  if (recent != nullptr && recent->schema().name == op) return recent;
  std::string name(op);
  const auto found = entries_.find(name);
  if (found != entries_.end()) return recent = found->second.get();
  const OpSchema* const schema = ops_.FindOp(op);
  if (schema == nullptr) return nullptr;
  auto entry = std::make_unique<OpEntry>(*schema);
  return recent = (entries_[std::move(name)] = std::move(entry)).get();
}

absl::Status NodeChecker::UnknownOp(absl::string_view node, absl::string_view op) const {
  ErrorBuilder error(ErrorCode::kOpUnknown);
  error.Node(node, op).Text(op.empty() ? "names no op" : "is not an op that is known here");
  const std::vector<std::string> near = ops_.NearOps(op);
  if (!near.empty() && !op.empty()) error.Help(absl::StrCat("did you mean ", absl::StrJoin(near, " or "), "?"));
  return error;
}

absl::StatusOr<const Signature*> NodeChecker::Check(OpEntry& entry, absl::Span<const NamedAttr> attrs, int32_t producer,
                                                    absl::Status* value_error) {
  return entry.Check(attrs, producer, limits_, signatures_, value_error);
}

const OpSchema& NodeChecker::SchemaOf(const OpEntry& entry) { return entry.schema(); }

}  // namespace sluice
