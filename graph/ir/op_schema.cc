#include "graph/ir/op_schema.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

constexpr absl::string_view kTypeNames[] = {"invalid", "string", "int",    "float", "bool",
                                            "type",    "shape",  "tensor", "func",  "any"};

// Field numbers of AttrValue and of its ListValue; see attr.h for the reader of whole values.
constexpr uint32_t kListField = 1;

absl::Status SchemaError(const OpSchema& schema, absl::string_view text) {
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat("op '", PrintableName(schema.name), "': ", text));
}

// Whether `field` of AttrValue (of ListValue when `in_list`) is the one that holds values of `type`.
bool IsValueField(AttrType type, uint32_t field, bool in_list) {
  switch (type) {
    case AttrType::kString:
      return field == 2;
    case AttrType::kInt:
      return field == 3;
    case AttrType::kFloat:
      return field == 4;
    case AttrType::kBool:
      return field == 5;
    case AttrType::kType:
      return field == 6;
    case AttrType::kShape:
      return field == 7;
    case AttrType::kTensor:
      return field == 8;
    case AttrType::kFunc:
      return field == (in_list ? 9u : 10u);
    default:
      return true;
  }
}

// Whether the AttrValue in `bytes` can be a value of an attr of `type`, judged by which fields are set.
bool DefaultHasType(AttrType type, absl::string_view bytes) {
  WireReader value(bytes);
  while (value.Next()) {
    if (!IsListType(type)) {
      if (!IsValueField(type, value.field(), /*in_list=*/false)) return false;
      continue;
    }
    if (value.tag() != WireTag(kListField, WireType::kBytes)) return false;
    WireReader list = value.Message();
    while (list.Next()) {
      if (!IsValueField(ElementType(type), list.field(), /*in_list=*/true)) return false;
    }
    if (!list.ok()) return false;
  }
  return value.ok();
}

absl::Status ValidateAttrs(const OpSchema& schema) {
  HashSet<absl::string_view> names;
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.name.empty()) return SchemaError(schema, "an attr has no name");
    const std::string shown = absl::StrCat("attr '", PrintableName(attr.name), "' ");
    if (!names.insert(attr.name).second) return SchemaError(schema, shown + "is declared twice");
    if (attr.type == AttrType::kInvalid) return SchemaError(schema, shown + "has a type that does not exist");
    if (attr.has_default && !DefaultHasType(attr.type, attr.default_value)) {
      return SchemaError(schema, absl::StrCat(shown, "has a default that is not of type ", AttrTypeName(attr.type)));
    }
  }
  return absl::OkStatus();
}

// Checks that `attr_name`, used by an argument, is declared with `type`. An empty name is fine.
absl::Status CheckReference(const OpSchema& schema, const std::string& shown, const std::string& attr_name,
                            AttrType type) {
  if (attr_name.empty()) return absl::OkStatus();
  const AttrSpec* const attr = schema.FindAttr(attr_name);
  if (attr == nullptr) {
    return SchemaError(schema,
                       absl::StrCat(shown, "uses the attr '", PrintableName(attr_name), "', which is not declared"));
  }
  if (attr->type == type) return absl::OkStatus();
  return SchemaError(schema, absl::StrCat(shown, "uses the attr '", PrintableName(attr_name), "' as ",
                                          AttrTypeName(type), ", but it is declared as ", AttrTypeName(attr->type)));
}

absl::Status ValidateArgs(const OpSchema& schema, const std::vector<ArgSpec>& args, absl::string_view kind) {
  HashSet<absl::string_view> names;
  for (const ArgSpec& arg : args) {
    if (arg.name.empty()) return SchemaError(schema, absl::StrCat("an ", kind, " has no name"));
    const std::string shown = absl::StrCat(kind, " '", PrintableName(arg.name), "' ");
    if (!names.insert(arg.name).second) return SchemaError(schema, shown + "is declared twice");
    const int sources =
        int{arg.dtype != DType::kInvalid} + int{!arg.type_attr.empty()} + int{!arg.type_list_attr.empty()};
    if (sources != 1) return SchemaError(schema, shown + (sources == 0 ? "has no type" : "has more than one type"));
    if (!arg.number_attr.empty() && !arg.type_list_attr.empty()) {
      return SchemaError(schema, shown + "has both a number attr and a list of types");
    }
    SLUICE_RETURN_IF_ERROR(CheckReference(schema, shown, arg.type_attr, AttrType::kType));
    SLUICE_RETURN_IF_ERROR(CheckReference(schema, shown, arg.number_attr, AttrType::kInt));
    SLUICE_RETURN_IF_ERROR(CheckReference(schema, shown, arg.type_list_attr, AttrType::kListType));
  }
  return absl::OkStatus();
}

}  // namespace

std::string AttrTypeName(AttrType type) {
  const size_t element = static_cast<size_t>(ElementType(type));
  const absl::string_view name = element < std::size(kTypeNames) ? kTypeNames[element] : kTypeNames[0];
  return IsListType(type) ? absl::StrCat("list(", name, ")") : std::string(name);
}

AttrType ParseAttrType(absl::string_view text) {
  const bool is_list = absl::ConsumePrefix(&text, "list(");
  if (is_list && !absl::ConsumeSuffix(&text, ")")) return AttrType::kInvalid;
  const auto found = std::find(std::begin(kTypeNames) + 1, std::end(kTypeNames), text);
  if (found == std::end(kTypeNames)) return AttrType::kInvalid;
  return static_cast<AttrType>(found - std::begin(kTypeNames) + (is_list ? 16 : 0));
}

const AttrSpec* OpSchema::FindAttr(absl::string_view attr_name) const {
  for (const AttrSpec& attr : attrs) {
    if (attr.name == attr_name) return &attr;
  }
  return nullptr;
}

absl::Status ValidateOpSchema(const OpSchema& schema) {
  if (schema.name.empty()) return SchemaError(schema, "the op has no name");
  SLUICE_RETURN_IF_ERROR(ValidateAttrs(schema));
  SLUICE_RETURN_IF_ERROR(ValidateArgs(schema, schema.inputs, "input"));
  SLUICE_RETURN_IF_ERROR(ValidateArgs(schema, schema.outputs, "output"));
  HashSet<absl::string_view> names;
  for (const std::string& name : schema.control_outputs) {
    if (name.empty() || !names.insert(name).second) {
      return SchemaError(schema, absl::StrCat("control output '", PrintableName(name), "' is empty or stands twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice
