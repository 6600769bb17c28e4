#include "graph/load/format.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// How much of a file is looked at to tell text from binary.
constexpr size_t kTextProbe = 4096;

absl::string_view SkipBlanksAndComments(absl::string_view text) {
  while (!text.empty()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text[0]))) {
      text.remove_prefix(1);
    } else if (text[0] == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else {
      break;
    }
  }
  return text;
}

// The name of the first field of a protobuf text, or empty when `bytes` do not look like one.
absl::string_view FirstTextField(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\xef\xbb\xbf")) bytes.remove_prefix(3);
  if (!LooksLikeText(bytes)) return "";
  absl::string_view rest = SkipBlanksAndComments(bytes);
  size_t size = 0;
  while (size < rest.size() && (absl::ascii_isalnum(static_cast<unsigned char>(rest[size])) || rest[size] == '_')) {
    ++size;
  }
  const absl::string_view name = rest.substr(0, size);
  rest = SkipBlanksAndComments(rest.substr(size));
  const bool is_field = size > 0 && !rest.empty() && (rest[0] == '{' || rest[0] == ':' || rest[0] == '<');
  return is_field ? name : "";
}

constexpr absl::string_view kMetaGraphFields[] = {
    "meta_info_def", "graph_def", "saver_def", "collection_def", "signature_def", "asset_file_def", "object_graph_def"};

GraphFormat TextFormatOf(absl::string_view field) {
  if (field == "saved_model_schema_version" || field == "meta_graphs") return GraphFormat::kSavedModelText;
  const bool is_meta =
      std::find(std::begin(kMetaGraphFields), std::end(kMetaGraphFields), field) != std::end(kMetaGraphFields);
  return is_meta ? GraphFormat::kMetaGraphText : GraphFormat::kGraphDefText;
}

// Whether the message `bytes` has in field `field` something that begins like a name: a letter, digit or one of "._". A
// message there begins with a tag, which for the messages in question is none of these characters.
bool HasNameIn(absl::string_view bytes, uint32_t field) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() != WireTag(field, WireType::kBytes)) continue;
    const absl::string_view value = reader.bytes();
    if (value.empty()) continue;
    const auto c = static_cast<unsigned char>(value[0]);
    return absl::ascii_isalnum(c) || c == '.' || c == '_';
  }
  return false;
}

// Field 2 of a MetaGraphDef is a GraphDef, whose field 1 is a NodeDef and begins with a name. Field 2 of a GraphDef is
// a library, whose field 1 is a function and begins with a signature.
bool IsGraphNotLibrary(absl::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes)) return HasNameIn(reader.bytes(), 1);
    if (reader.tag() == WireTag(4, WireType::kBytes)) return true;  // Versions; a library has no field 4.
  }
  return false;
}

GraphFormat FromName(absl::string_view file_name) {
  if (absl::EndsWith(file_name, ".meta")) return GraphFormat::kMetaGraph;
  if (file_name == "saved_model.pb" || absl::EndsWith(file_name, "/saved_model.pb")) return GraphFormat::kSavedModel;
  return GraphFormat::kGraphDef;
}

// Note [Telling messages apart]
// The three messages have fields of the same numbers, so numbers alone do not tell. Distinguishing fields: a SavedModel
// has a varint in field 1; a GraphDef repeats field 1 or has a varint in field 3; only a MetaGraphDef has fields 6 and
// 7 or a message in field 3. With fields 1, 2, 4 and 5 alone, we look into fields 1 (a node has an op, meta_info_def
// has an op list there) and 2 (see IsGraphNotLibrary).
GraphFormat BinaryFormatOf(absl::string_view bytes, absl::string_view file_name) {
  WireReader reader(bytes);
  absl::string_view first;
  bool has_first = false;
  while (reader.Next()) {
    switch (reader.tag()) {
      case WireTag(1, WireType::kVarint):
        return GraphFormat::kSavedModel;
      case WireTag(1, WireType::kBytes):
        if (has_first || HasNameIn(reader.bytes(), 2)) return GraphFormat::kGraphDef;
        first = reader.bytes();
        has_first = true;
        break;
      case WireTag(2, WireType::kBytes):
        if (IsGraphNotLibrary(reader.bytes())) return GraphFormat::kMetaGraph;
        break;
      case WireTag(3, WireType::kVarint):
        return GraphFormat::kGraphDef;
      case WireTag(3, WireType::kBytes):
      case WireTag(6, WireType::kBytes):
      case WireTag(7, WireType::kBytes):
        return GraphFormat::kMetaGraph;
      default:
        break;
    }
  }
  return FromName(file_name);
}

}  // namespace

absl::string_view GraphFormatName(GraphFormat format) {
  switch (format) {
    case GraphFormat::kGraphDef:
      return "GraphDef";
    case GraphFormat::kGraphDefText:
      return "GraphDef text";
    case GraphFormat::kMetaGraph:
      return "MetaGraphDef";
    case GraphFormat::kMetaGraphText:
      return "MetaGraphDef text";
    case GraphFormat::kSavedModel:
      return "SavedModel";
    case GraphFormat::kSavedModelText:
      return "SavedModel text";
  }
  return "";
}

bool LooksLikeText(absl::string_view bytes) {
  const absl::string_view probe = bytes.substr(0, kTextProbe);
  const auto is_binary = [](char c) {
    return (c >= 0 && c < 0x20 && !absl::ascii_isspace(static_cast<unsigned char>(c))) || c == 0x7f;
  };
  return std::none_of(probe.begin(), probe.end(), is_binary);
}

bool IsOtherText(absl::string_view bytes) {
  return LooksLikeText(bytes) && !SkipBlanksAndComments(bytes).empty() && FirstTextField(bytes).empty();
}

GraphFormat DetectGraphFormat(absl::string_view bytes, absl::string_view file_name) {
  if (const absl::string_view field = FirstTextField(bytes); !field.empty()) return TextFormatOf(field);
  const bool named_text = absl::EndsWith(file_name, ".pbtxt") || absl::EndsWith(file_name, ".prototxt");
  const bool looks_like_text = !bytes.empty() && absl::ascii_isprint(static_cast<unsigned char>(bytes[0]));
  if (named_text && looks_like_text) return GraphFormat::kGraphDefText;
  return BinaryFormatOf(bytes, file_name);
}

}  // namespace sluice
