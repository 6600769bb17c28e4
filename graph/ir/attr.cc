#include "graph/ir/attr.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// Field numbers of AttrValue and its ListValue (func is 10 in the one and 9 in the other).
constexpr uint32_t kListField = 1, kStringField = 2, kIntField = 3, kFloatField = 4, kBoolField = 5, kTypeField = 6,
                   kShapeField = 7, kTensorField = 8, kPlaceholderField = 9, kFuncField = 10, kListFuncField = 9;

AttrKind KindOfField(uint32_t tag) {
  switch (tag) {
    case WireTag(kListField, WireType::kBytes):
      return AttrKind::kList;
    case WireTag(kStringField, WireType::kBytes):
      return AttrKind::kString;
    case WireTag(kIntField, WireType::kVarint):
      return AttrKind::kInt;
    case WireTag(kFloatField, WireType::kFixed32):
      return AttrKind::kFloat;
    case WireTag(kBoolField, WireType::kVarint):
      return AttrKind::kBool;
    case WireTag(kTypeField, WireType::kVarint):
      return AttrKind::kType;
    case WireTag(kShapeField, WireType::kBytes):
      return AttrKind::kShape;
    case WireTag(kTensorField, WireType::kBytes):
      return AttrKind::kTensor;
    case WireTag(kPlaceholderField, WireType::kBytes):
      return AttrKind::kPlaceholder;
    case WireTag(kFuncField, WireType::kBytes):
      return AttrKind::kFunc;
    default:
      return AttrKind::kNone;
  }
}

// The last value field of an AttrValue: its kind and payload.
struct LastField {
  AttrKind kind = AttrKind::kNone;
  uint64_t scalar = 0;
  absl::string_view bytes;
};

LastField ReadLast(absl::string_view message) {
  LastField last;
  WireReader reader(message);
  while (reader.Next()) {
    const AttrKind kind = KindOfField(reader.tag());
    if (kind == AttrKind::kNone) continue;
    last = {kind, reader.varint(), reader.bytes()};
  }
  if (!reader.ok()) return LastField();
  return last;
}

absl::Status KindError(AttrKind found, absl::string_view wanted) {
  return Error(ErrorCode::kAttrKind).Text("has a value of the wrong kind").Found(AttrKindName(found)).Expected(wanted);
}

// The payload of `bytes` when it is of `kind`.
absl::StatusOr<LastField> Expect(absl::string_view bytes, AttrKind kind) {
  const LastField last = ReadLast(bytes);
  if (last.kind != kind) return KindError(last.kind, AttrKindName(kind));
  return last;
}

float FloatOf(uint64_t bits) {
  const uint32_t low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

// Of attrs of one name the last stays, as in a protobuf map; the order of names stays too.
void KeepLastOfEachName(std::vector<NamedAttr>& attrs) {
  HashMap<absl::string_view, size_t> places;
  size_t kept = 0;
  for (const NamedAttr& attr : attrs) {
    const auto [place, is_new] = places.try_emplace(attr.name, kept);
    if (is_new) ++kept;
    attrs[place->second] = attr;
  }
  attrs.resize(kept);
}

absl::StatusOr<FuncView> ParseFunc(absl::string_view bytes) {
  FuncView func;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes)) func.name = reader.bytes();
    if (reader.tag() != WireTag(2, WireType::kBytes)) continue;
    absl::string_view key, value;
    WireReader entry = reader.Message();
    while (entry.Next()) {
      if (entry.tag() == WireTag(1, WireType::kBytes)) key = entry.bytes();
      if (entry.tag() == WireTag(2, WireType::kBytes)) value = entry.bytes();
    }
    SLUICE_RETURN_IF_ERROR(entry.status());
    func.attrs.push_back({key, AttrView(value)});
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  KeepLastOfEachName(func.attrs);
  return func;
}

// Calls `fn(reader)` for each field `number` of the list in `bytes`; another kind of element is an error.
template <typename Fn>
absl::Status ForEachInList(absl::string_view bytes, uint32_t number, absl::string_view wanted, Fn fn) {
  const LastField last = ReadLast(bytes);
  if (last.kind != AttrKind::kList) return KindError(last.kind, absl::StrCat("list(", wanted, ")"));
  WireReader reader(last.bytes);
  while (reader.Next()) {
    if (reader.field() == number) {
      SLUICE_RETURN_IF_ERROR(fn(reader));
    } else if (reader.field() >= kStringField && reader.field() <= kListFuncField) {
      return Error(ErrorCode::kAttrKind)
          .Text("is a list of the wrong kind")
          .Found(absl::StrCat("elements in field ", reader.field()))
          .Expected(absl::StrCat("list(", wanted, ")"));
    }
  }
  return reader.status();
}

absl::StatusOr<std::vector<absl::string_view>> BytesList(absl::string_view bytes, uint32_t number,
                                                         absl::string_view wanted) {
  std::vector<absl::string_view> result;
  SLUICE_RETURN_IF_ERROR(ForEachInList(bytes, number, wanted, [&](const WireReader& reader) {
    if (reader.type() == WireType::kBytes) result.push_back(reader.bytes());
    return absl::OkStatus();
  }));
  return result;
}

// Varints of a list, packed or not.
template <typename T, typename Convert>
absl::StatusOr<std::vector<T>> VarintList(absl::string_view bytes, uint32_t number, absl::string_view wanted,
                                          Convert convert) {
  std::vector<T> result;
  SLUICE_RETURN_IF_ERROR(ForEachInList(bytes, number, wanted, [&](const WireReader& reader) {
    return ForEachVarint(reader, [&](uint64_t value) { result.push_back(convert(value)); });
  }));
  return result;
}

}  // namespace

absl::string_view AttrKindName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kNone:
      return "nothing";
    case AttrKind::kList:
      return "list";
    case AttrKind::kString:
      return "string";
    case AttrKind::kInt:
      return "int";
    case AttrKind::kFloat:
      return "float";
    case AttrKind::kBool:
      return "bool";
    case AttrKind::kType:
      return "type";
    case AttrKind::kShape:
      return "shape";
    case AttrKind::kTensor:
      return "tensor";
    case AttrKind::kPlaceholder:
      return "placeholder";
    case AttrKind::kFunc:
      return "func";
  }
  return "nothing";
}

AttrKind AttrView::kind() const { return ReadLast(bytes_).kind; }

absl::StatusOr<absl::string_view> AttrView::AsString() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kString));
  return field.bytes;
}

absl::StatusOr<int64_t> AttrView::AsInt() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kInt));
  return static_cast<int64_t>(field.scalar);
}

absl::StatusOr<float> AttrView::AsFloat() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kFloat));
  return FloatOf(field.scalar);
}

absl::StatusOr<bool> AttrView::AsBool() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kBool));
  return field.scalar != 0;
}

absl::StatusOr<DType> AttrView::AsType() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kType));
  return DTypeFromNumber(static_cast<int64_t>(field.scalar));
}

absl::StatusOr<int64_t> AttrView::AsTypeNumber() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kType));
  return static_cast<int64_t>(field.scalar);
}

absl::StatusOr<PartialShape> AttrView::AsShape() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kShape));
  return DecodeShapeProto(field.bytes);
}

absl::StatusOr<absl::string_view> AttrView::AsTensorBytes() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kTensor));
  return field.bytes;
}

absl::StatusOr<absl::string_view> AttrView::AsPlaceholder() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kPlaceholder));
  return field.bytes;
}

absl::StatusOr<FuncView> AttrView::AsFunc() const {
  SLUICE_ASSIGN_OR_RETURN(const LastField field, Expect(bytes_, AttrKind::kFunc));
  return ParseFunc(field.bytes);
}

bool AttrView::NestsWithin(int limit) const {
  if (static_cast<int64_t>(bytes_.size() / 2) < limit) return true;  // A message in a message takes two bytes at least.
  // What a message holds that can nest: AttrValue -> list, func, tensor; list -> func, tensor; func -> map entry ->
  // AttrValue; TensorProto -> VariantTensorDataProto -> TensorProto.
  enum class Message : uint8_t { kAttr, kList, kFunc, kEntry, kTensor, kVariant };
  const auto child = [](Message parent, uint32_t field, Message* found) {
    switch (parent) {
      case Message::kAttr:
        if (field == kListField) return *found = Message::kList, true;
        if (field == kFuncField) return *found = Message::kFunc, true;
        return *found = Message::kTensor, field == kTensorField;
      case Message::kList:
        if (field == kListFuncField) return *found = Message::kFunc, true;
        return *found = Message::kTensor, field == kTensorField;
      case Message::kFunc:
        return *found = Message::kEntry, field == 2;
      case Message::kEntry:
        return *found = Message::kAttr, field == 2;
      case Message::kTensor:
        return *found = Message::kVariant, field == 15;
      case Message::kVariant:
        return *found = Message::kTensor, field == 3;
    }
    return false;
  };
  std::vector<std::pair<Message, WireReader>> open;
  open.emplace_back(Message::kAttr, WireReader(bytes_));
  while (!open.empty()) {
    if (static_cast<int>(open.size()) > limit) return false;
    WireReader& reader = open.back().second;
    Message kind = Message::kAttr;
    bool deeper = false;
    while (!deeper && reader.Next()) {
      deeper = reader.type() == WireType::kBytes && child(open.back().first, reader.field(), &kind);
    }
    if (!deeper) {
      open.pop_back();
    } else {
      const WireReader inner = reader.Message();  // Copied first: emplace_back may move `reader`.
      open.emplace_back(kind, inner);
    }
  }
  return true;
}

absl::StatusOr<std::vector<absl::string_view>> AttrView::AsStringList() const {
  return BytesList(bytes_, kStringField, "string");
}

absl::StatusOr<std::vector<absl::string_view>> AttrView::AsTensorBytesList() const {
  return BytesList(bytes_, kTensorField, "tensor");
}

absl::StatusOr<std::vector<int64_t>> AttrView::AsIntList() const {
  return VarintList<int64_t>(bytes_, kIntField, "int", [](uint64_t v) { return static_cast<int64_t>(v); });
}

absl::StatusOr<std::vector<bool>> AttrView::AsBoolList() const {
  return VarintList<bool>(bytes_, kBoolField, "bool", [](uint64_t v) { return v != 0; });
}

absl::StatusOr<std::vector<DType>> AttrView::AsTypeList() const {
  return VarintList<DType>(bytes_, kTypeField, "type",
                           [](uint64_t v) { return DTypeFromNumber(static_cast<int64_t>(v)); });
}

absl::StatusOr<std::vector<float>> AttrView::AsFloatList() const {
  std::vector<float> result;
  SLUICE_RETURN_IF_ERROR(ForEachInList(bytes_, kFloatField, "float", [&](const WireReader& reader) {
    return ForEachFixed32(reader, [&](uint32_t bits) { result.push_back(FloatOf(bits)); });
  }));
  return result;
}

absl::StatusOr<std::vector<PartialShape>> AttrView::AsShapeList() const {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> encoded, BytesList(bytes_, kShapeField, "shape"));
  std::vector<PartialShape> result;
  for (absl::string_view bytes : encoded) {
    SLUICE_ASSIGN_OR_RETURN(PartialShape shape, DecodeShapeProto(bytes));
    result.push_back(std::move(shape));
  }
  return result;
}

absl::StatusOr<std::vector<FuncView>> AttrView::AsFuncList() const {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> encoded, BytesList(bytes_, kListFuncField, "func"));
  std::vector<FuncView> result;
  for (absl::string_view bytes : encoded) {
    SLUICE_ASSIGN_OR_RETURN(FuncView func, ParseFunc(bytes));
    result.push_back(std::move(func));
  }
  return result;
}

std::vector<FuncView> AttrView::Functions() const {
  std::vector<FuncView> functions;
  if (kind() == AttrKind::kFunc) {
    absl::StatusOr<FuncView> one = AsFunc();
    if (one.ok()) functions.push_back(*std::move(one));
  } else if (kind() == AttrKind::kList) {
    absl::StatusOr<std::vector<FuncView>> several = AsFuncList();
    if (several.ok()) functions = *std::move(several);
  }
  return functions;
}

void AttrView::ForEachFunction(absl::FunctionRef<void(absl::string_view name)> visit) const {
  std::vector<AttrView> open = {*this};
  while (!open.empty()) {
    const AttrView value = open.back();
    open.pop_back();
    for (const FuncView& function : value.Functions()) {
      visit(function.name);
      for (const NamedAttr& attr : function.attrs) open.push_back(attr.value);
    }
  }
}

AttrValue::AttrValue(int value) : AttrValue(static_cast<int64_t>(value)) {}
AttrValue::AttrValue(int64_t value) { WireWriter(&bytes_).Int(kIntField, value); }
AttrValue::AttrValue(float value) { WireWriter(&bytes_).Float(kFloatField, value); }
AttrValue::AttrValue(bool value) { WireWriter(&bytes_).Bool(kBoolField, value); }
AttrValue::AttrValue(DType value) { WireWriter(&bytes_).Int(kTypeField, static_cast<int64_t>(value)); }
AttrValue::AttrValue(const char* value) : AttrValue(absl::string_view(value)) {}
AttrValue::AttrValue(const std::string& value) : AttrValue(absl::string_view(value)) {}
AttrValue::AttrValue(absl::string_view value) { WireWriter(&bytes_).Bytes(kStringField, value); }
AttrValue::AttrValue(const Shape& value) : AttrValue(PartialShape::From(value)) {}
AttrValue::AttrValue(const PartialShape& value) { WireWriter(&bytes_).Bytes(kShapeField, EncodeShapeProto(value)); }
AttrValue::AttrValue(const Tensor& value) {
  const absl::StatusOr<std::string> encoded = EncodeTensorProto(value);
  SLUICE_CHECK(encoded.ok());  // Constants of our own code: no variants.
  WireWriter(&bytes_).Bytes(kTensorField, *encoded);
}
AttrValue::AttrValue(const std::vector<int64_t>& list) : AttrValue(absl::MakeConstSpan(list)) {}
AttrValue::AttrValue(const std::vector<DType>& list) : AttrValue(absl::MakeConstSpan(list)) {}

namespace {

// An AttrValue that holds a list with one packed field of `values`.
template <typename Values, typename Append>
std::string PackedList(uint32_t field, const Values& values, Append append) {
  std::string packed, bytes;
  for (const auto& value : values) append(packed, value);
  WireWriter writer(&bytes);
  const size_t mark = writer.BeginMessage(kListField);
  if (!packed.empty()) writer.Bytes(field, packed);
  writer.EndMessage(mark);
  return bytes;
}

// An AttrValue that holds a list of byte fields.
template <typename Values, typename Encode>
std::string BytesListOf(uint32_t field, const Values& values, Encode encode) {
  std::string bytes;
  WireWriter writer(&bytes);
  const size_t mark = writer.BeginMessage(kListField);
  for (const auto& value : values) writer.Bytes(field, encode(value));
  writer.EndMessage(mark);
  return bytes;
}

void AppendVarint(std::string& out, uint64_t value) { WireWriter(&out).RawVarint(value); }

}  // namespace

AttrValue::AttrValue(absl::Span<const int64_t> list)
    : bytes_(PackedList(kIntField, list,
                        [](std::string& out, int64_t v) { AppendVarint(out, static_cast<uint64_t>(v)); })) {}
AttrValue::AttrValue(const std::vector<bool>& list)
    : bytes_(PackedList(kBoolField, list, [](std::string& out, bool v) { AppendVarint(out, v ? 1 : 0); })) {}
AttrValue::AttrValue(absl::Span<const DType> list)
    : bytes_(PackedList(kTypeField, list,
                        [](std::string& out, DType v) { AppendVarint(out, static_cast<uint64_t>(v)); })) {}
AttrValue::AttrValue(const std::vector<float>& list)
    : bytes_(PackedList(kFloatField, list,
                        [](std::string& out, float v) { out.append(reinterpret_cast<const char*>(&v), sizeof(v)); })) {}
AttrValue::AttrValue(const std::vector<std::string>& list)
    : bytes_(BytesListOf(kStringField, list, [](const std::string& v) { return absl::string_view(v); })) {}
AttrValue::AttrValue(const std::vector<PartialShape>& list)
    : bytes_(BytesListOf(kShapeField, list, [](const PartialShape& v) { return EncodeShapeProto(v); })) {}

AttrValue AttrValue::EmptyList() { return AttrValue(absl::Span<const int64_t>()); }

AttrValue AttrValue::Func(absl::string_view name, absl::Span<const std::pair<std::string, AttrValue>> attrs) {
  AttrValue value;
  WireWriter writer(&value.bytes_);
  const size_t mark = writer.BeginMessage(kFuncField);
  writer.Bytes(1, name);
  for (const auto& attr : attrs) {
    const size_t entry = writer.BeginMessage(2);
    writer.Bytes(1, attr.first);
    writer.Bytes(2, attr.second.bytes());
    writer.EndMessage(entry);
  }
  writer.EndMessage(mark);
  return value;
}

AttrValue AttrValue::Placeholder(absl::string_view name) {
  AttrValue value;
  WireWriter(&value.bytes_).Bytes(kPlaceholderField, name);
  return value;
}

AttrValue AttrValue::FromBytes(absl::string_view bytes) {
  AttrValue value;
  value.bytes_ = std::string(bytes);
  return value;
}

}  // namespace sluice
