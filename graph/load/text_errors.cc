#include "graph/load/text_errors.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"

namespace sluice {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// A message that is open at some place of the text.
struct OpenMessage {
  const Descriptor* type;  // Null within fields that do not exist.
  size_t begin;            // Where its field's name stands.
};

// What surrounds a place of the text.
struct TextContext {
  std::vector<OpenMessage> open;  // From the outside in; the first is the file.
  absl::string_view field;        // The last field named in the innermost message.
};

// Where the parser's `line` and `column` lead, at most to the end.
size_t OffsetOf(absl::string_view text, int line, int column) {
  size_t at = 0;
  for (; line > 0 && at < text.size(); --line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  for (int seen = 0; seen < column && at < text.size() && text[at] != '\n'; ++at) {
    seen += text[at] == '\t' ? 8 - seen % 8 : 1;
  }
  return at;
}

// Line and column, from 1, of `offset`.
std::pair<int64_t, int64_t> PlaceOf(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line_begin = before.rfind('\n') == absl::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {1 + std::count(before.begin(), before.end(), '\n'), static_cast<int64_t>(offset - line_begin) + 1};
}

bool IsNameChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Where the string that begins at `at` ends.
size_t EndOfString(absl::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Reads tokens up to `end` without judging them.
TextContext ContextAt(const Descriptor& root, absl::string_view text, size_t end) {
  TextContext context;
  context.open.push_back({&root, 0});
  std::vector<absl::string_view> outer_fields;
  size_t field_begin = 0;
  bool is_value = false;  // After a colon names are values.
  for (size_t at = 0; at < std::min(end, text.size());) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      at = EndOfString(text, at);
      is_value = false;
    } else if (IsNameChar(c)) {
      const size_t begin = at;
      while (at < text.size() && IsNameChar(text[at])) ++at;
      if (!is_value) context.field = text.substr(begin, at - begin), field_begin = begin;
      is_value = false;
    } else {
      ++at;
      if (c == ':' || c == '[') is_value = true;
      if (c == '{' || c == '<') {
        const Descriptor* const outer = context.open.back().type;
        const FieldDescriptor* const field =
            outer == nullptr ? nullptr : outer->FindFieldByName(std::string(context.field));
        context.open.push_back({field == nullptr ? nullptr : field->message_type(), field_begin});
        outer_fields.push_back(context.field);
        context.field = absl::string_view();
        is_value = false;
      } else if ((c == '}' || c == '>') && !outer_fields.empty()) {
        context.open.pop_back();
        context.field = outer_fields.back();
        outer_fields.pop_back();
      }
    }
  }
  return context;
}

// "NodeDef", or "an entry of 'attr'" for the messages that protobuf makes of maps.
std::string TypeName(const Descriptor* type) {
  if (type == nullptr) return "an unknown message";
  const bool is_entry = type->map_key() != nullptr;  // Of a map field.
  if (!is_entry) return type->name();
  std::string name = type->name();
  name.resize(name.size() - std::min(name.size(), size_t{5}));  // "AttrEntry".
  return absl::StrCat("an entry of '", absl::AsciiStrToLower(name), "'");
}

std::vector<absl::string_view> FieldNames(const Descriptor& type) {
  std::vector<absl::string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

std::string FieldList(const Descriptor& type) {
  constexpr size_t kMaxListed = 12;
  std::vector<absl::string_view> names = FieldNames(type);
  const size_t count = names.size();
  names.resize(std::min(count, kMaxListed));
  return absl::StrCat(absl::StrJoin(names, ", "), count > kMaxListed ? ", …" : "");
}

std::string DidYouMean(absl::string_view name, absl::Span<const absl::string_view> names) {
  const std::vector<std::string> near = NearestNames(name, names, 1);
  return near.empty() ? "" : absl::StrCat("did you mean '", near[0], "'?");
}

std::string Shown(absl::string_view token) {
  return token.empty() ? "the end of the text" : absl::StrCat("'", PrintableName(token), "'");
}

// The parts of `message` between double quotes.
std::vector<std::string> QuotedParts(absl::string_view message) {
  std::vector<std::string> parts;
  const std::vector<absl::string_view> cut = absl::StrSplit(message, '"');
  for (size_t i = 1; i < cut.size(); i += 2) parts.emplace_back(cut[i]);
  return parts;
}

// Builds the error for one complaint. Lives for one call.
class Description {
 public:
  Description(const Descriptor& root, absl::string_view text, size_t offset)
      : text_(text), offset_(offset), context_(ContextAt(root, text, offset)) {
    info_.code = ErrorCode::kFileText;
  }

  absl::Status Describe(absl::string_view message) {
    const std::vector<std::string> quoted = QuotedParts(message);
    const auto has = [message](absl::string_view part) { return absl::StrContains(message, part); };
    if (has("has no field named") && quoted.size() >= 2) {
      NoSuchField(quoted.back());
    } else if (has("Expected identifier")) {
      FieldExpected(AfterGot(message));
    } else if (has("nknown enumeration value") && quoted.size() >= 2) {
      NoSuchValue(quoted[0], quoted[1]);
    } else if (has("specified multiple times") && !quoted.empty()) {
      info_.text = absl::StrCat("field '", PrintableName(quoted[0]), "' of ", TypeName(Type()), " is given twice");
      info_.suggestion = "keep one of them";
    } else if (has("cannot cross line boundaries") || has("nexpected end of string")) {
      info_.text = "a string has no closing quote on its line";
    } else if (has(", found ") && !quoted.empty()) {
      info_.text = "something else is needed here";
      info_.found = Shown(quoted.size() > 1 ? quoted[1] : "");
      info_.expected = absl::StrCat("'", quoted[0], "'");
      if (quoted.size() < 2 || quoted[1].empty()) Unclosed();
    } else if (has("Expected ") && has(", got: ")) {
      const size_t begin = message.find("Expected ") + 9;
      info_.text = absl::StrCat("field '", PrintableName(context_.field), "' has a value of the wrong kind");
      info_.found = Shown(AfterGot(message));
      info_.expected = KindOf(message.substr(begin, message.find(", got: ") - begin));
    } else {
      info_.text = absl::StrReplaceAll(message, {{"sluice.proto.", ""}});
      if (absl::EndsWith(info_.text, ".")) info_.text.pop_back();
    }
    std::tie(info_.line, info_.column) = PlaceOf(text_, offset_);
    return MakeError(info_);
  }

 private:
  const Descriptor* Type() const { return context_.open.back().type; }

  static absl::string_view AfterGot(absl::string_view message) {
    const size_t got = message.find("got: ");
    return got == absl::string_view::npos ? "" : absl::StripSuffix(message.substr(got + 5), ".");
  }

  static std::string KindOf(absl::string_view kind) {
    if (kind == "string") return "a text in quotes";
    if (kind == "double") return "a number";
    return absl::StrCat(absl::StartsWith(kind, "i") ? "an " : "a ", kind);
  }

  // The parser complains at the token after the word that is wrong.
  void MoveTo(absl::string_view word) {
    const size_t begin = text_.substr(0, offset_).rfind(word);
    if (begin != absl::string_view::npos) offset_ = begin;
  }

  void NoSuchField(absl::string_view name) {
    MoveTo(name);
    info_.text = absl::StrCat("'", PrintableName(name), "' is not a field of ", TypeName(Type()));
    if (Type() == nullptr) return;
    info_.expected = absl::StrCat("one of ", FieldList(*Type()));
    info_.suggestion = DidYouMean(name, FieldNames(*Type()));
    for (int i = 0; info_.suggestion.empty() && i < Type()->field_count(); ++i) {
      const Descriptor* const inner = Type()->field(i)->message_type();
      if (inner == nullptr || inner->FindFieldByName(std::string(name)) == nullptr) continue;
      info_.suggestion = absl::StrCat("it belongs inside of ", Type()->field(i)->name(), " { … }");
    }
  }

  void FieldExpected(absl::string_view token) {
    info_.found = Shown(token);
    if (token.empty()) return Unclosed();
    if ((token == "}" || token == ">") && context_.open.size() == 1) {
      info_.text = "this brace closes nothing";
      info_.expected = "the name of a field, or the end of the text";
      return;
    }
    info_.text = "something else is needed here";
    const std::string names = Type() == nullptr ? "" : absl::StrCat(" (", FieldList(*Type()), ")");
    info_.expected =
        absl::StrCat("the name of a field of ", TypeName(Type()), names, context_.open.size() > 1 ? " or '}'" : "");
  }

  void NoSuchValue(absl::string_view value, absl::string_view field_name) {
    MoveTo(value);
    info_.text = absl::StrCat("'", PrintableName(value), "' is not a value of field '", PrintableName(field_name), "'");
    const FieldDescriptor* const field = Type() == nullptr ? nullptr : Type()->FindFieldByName(std::string(field_name));
    if (field == nullptr || field->enum_type() == nullptr) return;
    std::vector<absl::string_view> names;
    for (int i = 0; i < field->enum_type()->value_count(); ++i) names.push_back(field->enum_type()->value(i)->name());
    info_.suggestion = DidYouMean(value, names);
    names.resize(std::min(names.size(), size_t{6}));
    info_.expected = absl::StrCat("one of ", absl::StrJoin(names, ", "), ", …");
  }

  // The text ends too early: says what is still open.
  void Unclosed() {
    if (context_.open.size() < 2) return;
    const auto [line, column] = PlaceOf(text_, context_.open.back().begin);
    info_.text = absl::StrCat("the text ends inside of ", TypeName(Type()), ", which begins at line ", line,
                              ", column ", column);
    info_.found.clear();
    info_.expected = "'}'";
  }

  absl::string_view text_;
  size_t offset_;
  TextContext context_;
  ErrorInfo info_;
};

}  // namespace

absl::Status DescribeTextError(const Descriptor& root, absl::string_view text, int line, int column,
                               absl::string_view message) {
  const size_t offset = line < 0 ? text.size() : OffsetOf(text, line, std::max(column, 0));
  return Description(root, text, offset).Describe(message);
}

}  // namespace sluice
