#include "graph/ir/attr_literal.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

absl::Status LiteralError(absl::string_view what, absl::string_view text) {
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat("'", PrintableName(text), "' is not ", what));
}

// Field numbers in AttrValue and in its ListValue are those of AttrType plus one.
uint32_t FieldOf(AttrType element) { return static_cast<uint32_t>(element) + 1; }

// Cuts `text` at the commas that stand outside of quotes and brackets.
std::vector<absl::string_view> SplitElements(absl::string_view text) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  char quote = '\0';
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') ++i;
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  const absl::string_view last = absl::StripAsciiWhitespace(text.substr(begin));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

// Reads the sizes of "{ dim { size: 2 } dim { size: 3 } }".
absl::Status ParseProtoDims(absl::string_view text, std::vector<int64_t>* dims) {
  const absl::string_view whole = text;
  for (size_t at = text.find("dim"); at != absl::string_view::npos; at = text.find("dim")) {
    text.remove_prefix(at + 3);
    const size_t size = text.find("size:");
    const size_t end = text.find('}');
    int64_t value = 0;
    if (size == absl::string_view::npos || end == absl::string_view::npos || end < size ||
        !absl::SimpleAtoi(text.substr(size + 5, end - size - 5), &value)) {
      return LiteralError("a shape", whole);
    }
    dims->push_back(value);
  }
  return absl::OkStatus();
}

// Writes the shape `text` as field `field`, a TensorShapeProto.
absl::Status WriteShape(uint32_t field, absl::string_view text, WireWriter* writer) {
  const bool is_unknown = text == "?" || absl::StrContains(text, "unknown_rank");
  std::vector<int64_t> dims;
  absl::string_view inside = text;
  if (absl::StartsWith(text, "{")) {
    SLUICE_RETURN_IF_ERROR(ParseProtoDims(text, &dims));
  } else if (absl::ConsumePrefix(&inside, "[") && absl::ConsumeSuffix(&inside, "]")) {
    for (const absl::string_view part : SplitElements(inside)) {
      int64_t size = -1;
      if (part != "?" && !absl::SimpleAtoi(part, &size)) return LiteralError("a shape", text);
      dims.push_back(size);
    }
  } else if (!is_unknown) {
    return LiteralError("a shape", text);
  }
  const size_t shape = writer->BeginMessage(field);
  for (const int64_t size : dims) {
    const size_t dim = writer->BeginMessage(2);
    if (size != 0) writer->Int(1, size);
    writer->EndMessage(dim);
  }
  if (is_unknown) writer->Bool(3, true);
  writer->EndMessage(shape);
  return absl::OkStatus();
}

// Writes one value of an element type as field `field`.
absl::Status WriteScalar(AttrType type, uint32_t field, absl::string_view text, WireWriter* writer) {
  switch (type) {
    case AttrType::kString: {
      SLUICE_ASSIGN_OR_RETURN(const std::string value, ParseQuotedLiteral(text));
      writer->Bytes(field, value);
      return absl::OkStatus();
    }
    case AttrType::kInt: {
      int64_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) return LiteralError("an int", text);
      writer->Int(field, value);
      return absl::OkStatus();
    }
    case AttrType::kFloat: {
      float value = 0;
      if (!absl::SimpleAtof(text, &value)) return LiteralError("a float", text);
      writer->Float(field, value);
      return absl::OkStatus();
    }
    case AttrType::kBool:
      if (text != "true" && text != "false") return LiteralError("a bool", text);
      writer->Bool(field, text == "true");
      return absl::OkStatus();
    case AttrType::kType: {
      const absl::StatusOr<DType> value = ParseDType(text);
      if (!value.ok()) return LiteralError("a dtype", text);
      writer->Int(field, static_cast<int64_t>(*value));
      return absl::OkStatus();
    }
    case AttrType::kShape:
      return WriteShape(field, text, writer);
    default:
      return LiteralError("a literal: tensors and functions are given as hex:", text);
  }
}

// Writes the elements of a list; numbers are packed into one field, as protobuf does.
absl::Status WriteList(AttrType element, const std::vector<absl::string_view>& parts, WireWriter* writer) {
  const bool is_packed = element == AttrType::kInt || element == AttrType::kFloat || element == AttrType::kBool ||
                         element == AttrType::kType;
  std::string packed;
  for (const absl::string_view part : parts) {
    if (!is_packed) {
      SLUICE_RETURN_IF_ERROR(WriteScalar(element, FieldOf(element), part, writer));
      continue;
    }
    std::string tagged;
    WireWriter scalar(&tagged);
    SLUICE_RETURN_IF_ERROR(WriteScalar(element, FieldOf(element), part, &scalar));
    packed.append(tagged, 1, std::string::npos);  // Without the one-byte tag.
  }
  if (!packed.empty()) writer->Bytes(FieldOf(element), packed);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ParseQuotedLiteral(absl::string_view text) {
  const bool is_quoted = text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text[text.size() - 1] == text[0];
  std::string value;
  if (!is_quoted || !absl::CUnescape(text.substr(1, text.size() - 2), &value)) return LiteralError("a string", text);
  return value;
}

absl::StatusOr<std::string> EncodeAttrLiteral(AttrType type, absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  absl::string_view inside = text;
  if (absl::ConsumePrefix(&inside, "hex:")) {
    if (inside.size() % 2 != 0 || !std::all_of(inside.begin(), inside.end(), absl::ascii_isxdigit)) {
      return LiteralError("a hex text", text);
    }
    return absl::HexStringToBytes(inside);
  }
  std::string bytes;
  WireWriter writer(&bytes);
  if (!IsListType(type)) {
    SLUICE_RETURN_IF_ERROR(WriteScalar(type, FieldOf(type), text, &writer));
    return bytes;
  }
  if (!absl::ConsumePrefix(&inside, "[") || !absl::ConsumeSuffix(&inside, "]")) return LiteralError("a list", text);
  const size_t list = writer.BeginMessage(1);
  SLUICE_RETURN_IF_ERROR(WriteList(ElementType(type), SplitElements(inside), &writer));
  writer.EndMessage(list);
  return bytes;
}

}  // namespace sluice
