// OpDef messages to OpSchema and back. Declared in op_schema.h.

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_schema.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

constexpr uint32_t Bytes(uint32_t field) { return WireTag(field, WireType::kBytes); }
constexpr uint32_t Varint(uint32_t field) { return WireTag(field, WireType::kVarint); }

std::string Text(const WireReader& field) { return std::string(field.bytes()); }

absl::StatusOr<ArgSpec> ReadArg(WireReader reader) {
  ArgSpec arg;
  uint64_t number = 0;
  while (reader.Next()) {
    switch (reader.tag()) {
      case Bytes(1):
        arg.name = Text(reader);
        break;
      case Varint(3):
        number = reader.varint();
        break;
      case Bytes(4):
        arg.type_attr = Text(reader);
        break;
      case Bytes(5):
        arg.number_attr = Text(reader);
        break;
      case Bytes(6):
        arg.type_list_attr = Text(reader);
        break;
      case Varint(16):
        arg.is_ref = reader.varint() != 0;
        break;
      default:
        break;
    }
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  arg.dtype = DTypeFromNumber(static_cast<int64_t>(number));
  if (number != 0 && arg.dtype == DType::kInvalid) {
    return Error(ErrorCode::kOpSchema)
        .Text(absl::StrCat("argument '", PrintableName(arg.name), "' has the type number ", number,
                           ", which is not a dtype"));
  }
  return arg;
}

// Refused at once: two bytes of a file must not become a hundred.
absl::Status CheckNamed(absl::string_view name, absl::string_view what) {
  if (!name.empty()) return absl::OkStatus();
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat(what, " has no name"));
}

// Reads the AttrValue that lists what an attr may be: its list holds types or strings.
absl::Status ReadAllowedValues(WireReader reader, AttrSpec* attr) {
  while (reader.Next()) {
    if (reader.tag() != Bytes(1)) continue;
    WireReader list = reader.Message();
    while (list.Next()) {
      if (list.tag() == Bytes(2)) attr->allowed_strings.push_back(Text(list));
      if (list.field() == 6) {
        SLUICE_RETURN_IF_ERROR(ForEachVarint(list, [attr](uint64_t number) {
          attr->allowed_types.push_back(DTypeFromNumber(static_cast<int64_t>(number)));
        }));
      }
    }
    SLUICE_RETURN_IF_ERROR(list.status());
  }
  return reader.status();
}

absl::StatusOr<AttrSpec> ReadAttr(WireReader reader) {
  AttrSpec attr;
  while (reader.Next()) {
    switch (reader.tag()) {
      case Bytes(1):
        attr.name = Text(reader);
        break;
      case Bytes(2):
        attr.type = ParseAttrType(reader.bytes());
        break;
      case Bytes(3):
        attr.has_default = true;
        attr.default_value.append(reader.bytes().data(), reader.bytes().size());  // Twice on the wire: merged.
        break;
      case Varint(5):
        attr.has_minimum = reader.varint() != 0;
        break;
      case Varint(6):
        attr.minimum = static_cast<int64_t>(reader.varint());
        break;
      case Bytes(7):
        SLUICE_RETURN_IF_ERROR(ReadAllowedValues(reader.Message(), &attr));
        break;
      default:
        break;
    }
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  return attr;
}

absl::Status ReadDeprecation(WireReader reader, OpSchema* schema) {
  while (reader.Next()) {
    if (reader.tag() == Varint(1)) schema->deprecated_at = static_cast<int32_t>(reader.varint());
    if (reader.tag() == Bytes(2)) schema->deprecation_text = Text(reader);
  }
  return reader.status();
}

// Reads the field that `reader` stands on into `schema`.
absl::Status ReadOpField(const WireReader& reader, OpSchema* schema) {
  switch (reader.tag()) {
    case Bytes(1):
      schema->name = Text(reader);
      break;
    case Bytes(2):
    case Bytes(3): {
      SLUICE_ASSIGN_OR_RETURN(ArgSpec arg, ReadArg(reader.Message()));
      SLUICE_RETURN_IF_ERROR(CheckNamed(arg.name, "an argument"));
      (reader.field() == 2 ? schema->inputs : schema->outputs).push_back(std::move(arg));
      break;
    }
    case Bytes(4): {
      SLUICE_ASSIGN_OR_RETURN(AttrSpec attr, ReadAttr(reader.Message()));
      SLUICE_RETURN_IF_ERROR(CheckNamed(attr.name, "an attr"));
      schema->attrs.push_back(std::move(attr));
      break;
    }
    case Bytes(8):
      return ReadDeprecation(reader.Message(), schema);
    case Varint(16):
      schema->is_aggregate = reader.varint() != 0;
      break;
    case Varint(17):
      schema->is_stateful = reader.varint() != 0;
      break;
    case Varint(18):
      schema->is_commutative = reader.varint() != 0;
      break;
    case Varint(19):
      schema->allows_uninitialized_input = reader.varint() != 0;
      break;
    case Bytes(20):
      schema->control_outputs.push_back(Text(reader));
      break;
    case Varint(21):
      schema->is_distributed_communication = reader.varint() != 0;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

void WriteText(uint32_t field, const std::string& text, WireWriter* writer) {
  if (!text.empty()) writer->Bytes(field, text);
}

void WriteFlag(uint32_t field, bool flag, WireWriter* writer) {
  if (flag) writer->Bool(field, true);
}

void WriteArg(uint32_t field, const ArgSpec& arg, WireWriter* writer) {
  const size_t mark = writer->BeginMessage(field);
  WriteText(1, arg.name, writer);
  if (arg.dtype != DType::kInvalid) writer->Int(3, static_cast<int64_t>(arg.dtype));
  WriteText(4, arg.type_attr, writer);
  WriteText(5, arg.number_attr, writer);
  WriteText(6, arg.type_list_attr, writer);
  WriteFlag(16, arg.is_ref, writer);
  writer->EndMessage(mark);
}

void WriteAllowedValues(const AttrSpec& attr, WireWriter* writer) {
  if (attr.allowed_strings.empty() && attr.allowed_types.empty()) return;
  const size_t value = writer->BeginMessage(7);
  const size_t list = writer->BeginMessage(1);
  for (const std::string& text : attr.allowed_strings) writer->Bytes(2, text);
  if (!attr.allowed_types.empty()) {
    const size_t packed = writer->BeginMessage(6);
    for (const DType type : attr.allowed_types) writer->RawVarint(static_cast<uint64_t>(type));
    writer->EndMessage(packed);
  }
  writer->EndMessage(list);
  writer->EndMessage(value);
}

void WriteAttr(const AttrSpec& attr, WireWriter* writer) {
  const size_t mark = writer->BeginMessage(4);
  WriteText(1, attr.name, writer);
  WriteText(2, AttrTypeName(attr.type), writer);
  if (attr.has_default) writer->Bytes(3, attr.default_value);
  WriteFlag(5, attr.has_minimum, writer);
  if (attr.minimum != 0) writer->Int(6, attr.minimum);
  WriteAllowedValues(attr, writer);
  writer->EndMessage(mark);
}

}  // namespace

absl::StatusOr<OpSchema> ParseOpDef(absl::string_view bytes, size_t base_offset) {
  OpSchema schema;
  WireReader reader(bytes, base_offset);
  while (reader.Next()) SLUICE_RETURN_IF_ERROR(ReadOpField(reader, &schema));
  SLUICE_RETURN_IF_ERROR(reader.status());
  SLUICE_RETURN_IF_ERROR(ValidateOpSchema(schema));
  return schema;
}

std::string EncodeOpDef(const OpSchema& schema) {
  std::string bytes;
  WireWriter writer(&bytes);
  WriteText(1, schema.name, &writer);
  for (const ArgSpec& arg : schema.inputs) WriteArg(2, arg, &writer);
  for (const ArgSpec& arg : schema.outputs) WriteArg(3, arg, &writer);
  for (const AttrSpec& attr : schema.attrs) WriteAttr(attr, &writer);
  if (schema.deprecated_at != 0) {
    const size_t mark = writer.BeginMessage(8);
    writer.Int(1, schema.deprecated_at);
    WriteText(2, schema.deprecation_text, &writer);
    writer.EndMessage(mark);
  }
  WriteFlag(16, schema.is_aggregate, &writer);
  WriteFlag(17, schema.is_stateful, &writer);
  WriteFlag(18, schema.is_commutative, &writer);
  WriteFlag(19, schema.allows_uninitialized_input, &writer);
  for (const std::string& name : schema.control_outputs) writer.Bytes(20, name);
  WriteFlag(21, schema.is_distributed_communication, &writer);
  return bytes;
}

}  // namespace sluice
