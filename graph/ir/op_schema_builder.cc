#include "graph/ir/op_schema_builder.h"

#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/attr_literal.h"

namespace sluice {
namespace {

using absl::ConsumePrefix;
using absl::ConsumeSuffix;
using absl::StripAsciiWhitespace;

constexpr DType kRealNumberTypes[] = {DType::kFloat,  DType::kDouble, DType::kInt32,  DType::kUInt8,
                                      DType::kInt16,  DType::kInt8,   DType::kInt64,  DType::kBFloat16,
                                      DType::kUInt16, DType::kHalf,   DType::kUInt32, DType::kUInt64};
constexpr DType kNumberTypes[] = {DType::kFloat,  DType::kDouble,  DType::kInt32,     DType::kUInt8,
                                  DType::kInt16,  DType::kInt8,    DType::kComplex64, DType::kInt64,
                                  DType::kQInt8,  DType::kQUInt8,  DType::kQInt32,    DType::kBFloat16,
                                  DType::kQInt16, DType::kQUInt16, DType::kUInt16,    DType::kComplex128,
                                  DType::kHalf,   DType::kUInt32,  DType::kUInt64};
constexpr DType kQuantizedTypes[] = {DType::kQInt8, DType::kQUInt8, DType::kQInt32, DType::kQInt16, DType::kQUInt16};

absl::Status SpecError(absl::string_view spec, absl::string_view why) {
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat("spec '", PrintableName(spec), "': ", why));
}

// Takes letters, digits and '_' off the front of `text`.
absl::string_view TakeWord(absl::string_view* text) {
  size_t size = 0;
  while (size < text->size() && (absl::ascii_isalnum((*text)[size]) || (*text)[size] == '_')) ++size;
  const absl::string_view word = text->substr(0, size);
  *text = absl::StripLeadingAsciiWhitespace(text->substr(size));
  return word;
}

// Splits "name: rest".
absl::StatusOr<std::pair<absl::string_view, absl::string_view>> SplitName(absl::string_view spec) {
  absl::string_view rest = StripAsciiWhitespace(spec);
  const absl::string_view name = TakeWord(&rest);
  if (name.empty() || !ConsumePrefix(&rest, ":")) return SpecError(spec, "a name and a colon come first");
  return std::make_pair(name, StripAsciiWhitespace(rest));
}

// Reads one argument. A type word that is not a dtype is left in type_attr; Build() tells lists of types from types.
absl::StatusOr<ArgSpec> ParseArgSpec(absl::string_view spec) {
  SLUICE_ASSIGN_OR_RETURN(auto parts, SplitName(spec));
  absl::string_view rest = parts.second;
  ArgSpec arg;
  arg.name = std::string(parts.first);
  if (ConsumePrefix(&rest, "Ref(")) {
    if (!ConsumeSuffix(&rest, ")")) return SpecError(spec, "')' is missing");
    arg.is_ref = true;
    rest = StripAsciiWhitespace(rest);
  }
  absl::string_view word = TakeWord(&rest);
  if (!word.empty() && ConsumePrefix(&rest, "*")) {
    arg.number_attr = std::string(word);
    rest = absl::StripLeadingAsciiWhitespace(rest);
    word = TakeWord(&rest);
  }
  if (word.empty() || !rest.empty()) return SpecError(spec, "a type, an attr or N * one of these is needed");
  const absl::StatusOr<DType> dtype = ParseDType(word);
  if (dtype.ok()) {
    arg.dtype = *dtype;
  } else {
    arg.type_attr = std::string(word);
  }
  return arg;
}

// Reads the inside of "{...}" into what `attr` may be, and returns the type of its elements.
absl::StatusOr<AttrType> ParseSet(absl::string_view spec, absl::string_view inside, AttrSpec* attr) {
  AttrType type = AttrType::kInvalid;
  for (absl::string_view part : absl::StrSplit(inside, ',')) {
    part = StripAsciiWhitespace(part);
    const bool is_text = !part.empty() && (part[0] == '\'' || part[0] == '"');
    const AttrType part_type = is_text ? AttrType::kString : AttrType::kType;
    if (type != AttrType::kInvalid && type != part_type) return SpecError(spec, "the set mixes types and strings");
    type = part_type;
    if (is_text) {
      SLUICE_ASSIGN_OR_RETURN(std::string text, ParseQuotedLiteral(part));
      attr->allowed_strings.push_back(std::move(text));
    } else {
      const absl::StatusOr<DType> dtype = ParseDType(part);
      if (!dtype.ok()) return SpecError(spec, absl::StrCat("'", part, "' is not a dtype"));
      attr->allowed_types.push_back(*dtype);
    }
  }
  return type;
}

// Takes one of the named sets of types, a basic type or "{...}" off the front of `*rest`.
absl::StatusOr<AttrType> TakeElementType(absl::string_view spec, absl::string_view* rest, AttrSpec* attr) {
  if (ConsumePrefix(rest, "{")) {
    const size_t end = rest->find('}');
    if (end == absl::string_view::npos) return SpecError(spec, "'}' is missing");
    const absl::string_view inside = rest->substr(0, end);
    *rest = absl::StripLeadingAsciiWhitespace(rest->substr(end + 1));
    return ParseSet(spec, inside, attr);
  }
  const absl::string_view word = TakeWord(rest);
  auto& allowed = attr->allowed_types;
  if (word == "numbertype") allowed.assign(std::begin(kNumberTypes), std::end(kNumberTypes));
  if (word == "realnumbertype") allowed.assign(std::begin(kRealNumberTypes), std::end(kRealNumberTypes));
  if (word == "quantizedtype") allowed.assign(std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  const AttrType type = allowed.empty() ? ParseAttrType(word) : AttrType::kType;
  if (type == AttrType::kInvalid) return SpecError(spec, absl::StrCat("'", word, "' is not an attr type"));
  return type;
}

absl::StatusOr<AttrSpec> ParseAttrSpec(absl::string_view spec) {
  SLUICE_ASSIGN_OR_RETURN(auto parts, SplitName(spec));
  absl::string_view rest = parts.second;
  AttrSpec attr;
  attr.name = std::string(parts.first);
  const bool is_list = ConsumePrefix(&rest, "list(");
  SLUICE_ASSIGN_OR_RETURN(attr.type, TakeElementType(spec, &rest, &attr));
  if (is_list) {
    if (!ConsumePrefix(&rest, ")")) return SpecError(spec, "')' is missing");
    attr.type = static_cast<AttrType>(static_cast<int>(attr.type) + 16);
    rest = absl::StripLeadingAsciiWhitespace(rest);
  }
  if (ConsumePrefix(&rest, ">=")) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
    const size_t size = rest.find_first_of(" =");
    if (!absl::SimpleAtoi(rest.substr(0, size), &attr.minimum)) return SpecError(spec, "the minimum is not a number");
    attr.has_minimum = true;
    rest = size == absl::string_view::npos ? "" : absl::StripLeadingAsciiWhitespace(rest.substr(size));
  }
  if (ConsumePrefix(&rest, "=")) {
    SLUICE_ASSIGN_OR_RETURN(attr.default_value, EncodeAttrLiteral(attr.type, rest));
    attr.has_default = true;
    rest = "";
  }
  if (!rest.empty()) return SpecError(spec, absl::StrCat("'", rest, "' is not understood"));
  return attr;
}

}  // namespace

OpSchemaBuilder& OpSchemaBuilder::AddArg(absl::string_view spec, std::vector<ArgSpec>* args) {
  absl::StatusOr<ArgSpec> arg = ParseArgSpec(spec);
  if (arg.ok()) {
    args->push_back(*std::move(arg));
  } else {
    status_.Update(arg.status());
  }
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Attr(absl::string_view spec) {
  absl::StatusOr<AttrSpec> attr = ParseAttrSpec(spec);
  if (attr.ok()) {
    schema_.attrs.push_back(*std::move(attr));
  } else {
    status_.Update(attr.status());
  }
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::ControlOutput(absl::string_view name) {
  schema_.control_outputs.emplace_back(name);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Stateful() {
  schema_.is_stateful = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Commutative() {
  schema_.is_commutative = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Aggregate() {
  schema_.is_aggregate = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::AllowsUninitializedInput() {
  schema_.allows_uninitialized_input = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::DistributedCommunication() {
  schema_.is_distributed_communication = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Deprecated(int32_t version, absl::string_view text) {
  schema_.deprecated_at = version;
  schema_.deprecation_text = std::string(text);
  return *this;
}

absl::StatusOr<OpSchema> OpSchemaBuilder::Build() {
  SLUICE_RETURN_IF_ERROR(status_);
  for (std::vector<ArgSpec>* args : {&schema_.inputs, &schema_.outputs}) {
    for (ArgSpec& arg : *args) {
      const AttrSpec* const attr = schema_.FindAttr(arg.type_attr);
      if (attr != nullptr && attr->type == AttrType::kListType) arg.type_list_attr = std::exchange(arg.type_attr, "");
    }
  }
  SLUICE_RETURN_IF_ERROR(ValidateOpSchema(schema_));
  return std::move(schema_);
}

}  // namespace sluice
