// FormatError: an error as users read it, in the form
//
//   SLC2103 INVALID_ARGUMENT: Conv2D 'net/conv': input 1 'net/relu:3': found slot 3, expected a slot below 1
//     at    'detector.pb', node 417, bytes 1,849,022-1,849,310
//     in    function 'while_body_12', frame 'while/ctx'
//     input 1 'net/relu:3'   found slot 3
//     rule  expected a slot below 1
//     limit max_inputs_per_node = 65,536
//     help  net/relu has 1 output
//     see   sluice explain SLC2103

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/base/error_info_codec.h"
#include "graph/base/error_text.h"

namespace sluice {
namespace {

// Facts on lines of their own may be longer than on the first line.
constexpr size_t kMaxFact = 1000;

std::string Quoted(absl::string_view name) { return absl::StrCat("'", PrintableName(name, kMaxFact), "'"); }

std::string CodeName(ErrorCode code) { return absl::StrFormat("SLC%04d", static_cast<int32_t>(code)); }

void AddLine(absl::string_view word, absl::string_view rest, std::string* out) {
  if (!rest.empty()) absl::StrAppendFormat(out, "\n  %-5s %s", word, rest);
}

std::string PlaceInFile(const ErrorInfo& info) {
  std::vector<std::string> parts;
  if (!info.file.empty()) parts.push_back(Quoted(info.file));
  if (info.node_index >= 0) parts.push_back(absl::StrCat("node ", GroupedDigits(info.node_index)));
  if (info.byte_begin >= 0 && info.byte_end > info.byte_begin) {
    parts.push_back(absl::StrCat("bytes ", GroupedDigits(info.byte_begin), "-", GroupedDigits(info.byte_end)));
  } else if (info.byte_begin >= 0) {
    parts.push_back(absl::StrCat("byte ", GroupedDigits(info.byte_begin)));
  }
  if (info.line >= 0) parts.push_back(absl::StrCat("line ", info.line));  // As editors show it: not grouped.
  if (info.line >= 0 && info.column >= 0) parts.push_back(absl::StrCat("column ", info.column));
  return absl::StrJoin(parts, ", ");
}

std::string PlaceInGraph(const ErrorInfo& info) {
  std::vector<std::string> parts;
  if (!info.function.empty()) parts.push_back(absl::StrCat("function ", Quoted(info.function)));
  if (!info.frame.empty()) parts.push_back(absl::StrCat("frame ", Quoted(info.frame)));
  return absl::StrJoin(parts, ", ");
}

// Adds the lines after the first one: known facts, in full if the first line cut them.
void AddFacts(const ErrorInfo& info, absl::string_view first, absl::string_view also, std::string* out) {
  const std::string place = PlaceInFile(info);
  AddLine("at", absl::StrCat(place, place.empty() || first.empty() ? "" : ": ", first), out);
  AddLine("also", also, out);
  AddLine("in", PlaceInGraph(info), out);
  const std::string found = info.found.empty() ? "" : absl::StrCat("found ", PrintableName(info.found, kMaxFact));
  const std::string gap = found.empty() ? "" : "   ";
  const bool has_input = info.input >= 0 || !info.input_name.empty();
  if (has_input) {
    const std::string name = info.input_name.empty() ? "" : Quoted(info.input_name);
    const std::string index = info.input < 0 ? "" : absl::StrCat(info.input, name.empty() ? "" : " ");
    AddLine("input", absl::StrCat(index, name, info.attr.empty() ? gap + found : ""), out);
  }
  if (!info.attr.empty()) AddLine("attr", absl::StrCat(Quoted(info.attr), gap, found), out);
  if (!info.expected.empty()) AddLine("rule", absl::StrCat("expected ", PrintableName(info.expected, kMaxFact)), out);
  if (!info.limit.empty()) {
    const std::string value = info.limit_value < 0 ? "" : absl::StrCat(" = ", GroupedDigits(info.limit_value));
    AddLine("limit", absl::StrCat(PrintableName(info.limit), value), out);
  }
  if (info.derived) AddLine("note", "a consequence of another error of this run", out);
  AddLine("help", PrintableName(info.suggestion, kMaxFact), out);
  AddLine("see", absl::StrCat("sluice explain ", CodeName(info.code)), out);
}

// "SLC2103 INVALID_ARGUMENT: ..." of a message that says "SLC2103: ...".
std::string FirstLine(absl::StatusCode canonical, absl::string_view message, ErrorCode code) {
  absl::ConsumePrefix(&message, absl::StrCat(CodeName(code), ": "));
  return absl::StrCat(CodeName(code), " ", absl::StatusCodeToString(canonical), ": ", PrintableName(message, 2000));
}

std::string FormatOne(const absl::Status& status, bool one_line) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) {
    return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", PrintableName(status.message(), 2000));
  }
  return one_line ? FirstLine(status.code(), status.message(), info->code) : FormatErrorLines(status);
}

// "57 errors: 40 SLC2003, 17 SLC2201; 7 of them are not shown", most frequent first.
std::string Summary(const ErrorList& list) {
  std::map<int32_t, int64_t> counts;
  for (const absl::Status& error : list.errors) {
    const std::optional<ErrorInfo> info = ErrorInfoOf(error);
    ++counts[static_cast<int32_t>(info.has_value() ? info->code : ErrorCode::kForeign)];
  }
  std::vector<std::pair<int64_t, int32_t>> order;
  for (const auto& [code, count] : counts) order.emplace_back(-count, code);
  std::sort(order.begin(), order.end());
  std::string out = absl::StrCat(GroupedDigits(list.total), " errors: ");
  absl::StrAppend(&out, absl::StrJoin(order, ", ", [](std::string* text, const std::pair<int64_t, int32_t>& entry) {
    absl::StrAppend(text, -entry.first, " ", CodeName(static_cast<ErrorCode>(entry.second)));
  }));
  const int64_t hidden = list.total - static_cast<int64_t>(list.errors.size());
  if (hidden > 0) absl::StrAppend(&out, "; ", GroupedDigits(hidden), " more not shown");
  return out;
}

}  // namespace

std::string GroupedDigits(int64_t value) {
  std::string digits = absl::StrCat(value);
  for (auto pos = static_cast<int64_t>(digits.size()) - 3; pos > (value < 0 ? 1 : 0); pos -= 3) {
    digits.insert(static_cast<size_t>(pos), ",");
  }
  return digits;
}

std::string FormatErrorLines(const absl::Status& error, absl::string_view first, absl::string_view also) {
  const ErrorInfo info = ErrorInfoOf(error).value_or(ErrorInfo());
  absl::string_view sentence = error.message();
  absl::ConsumeSuffix(&sentence, PlaceText(info));  // It has a line of its own.
  std::string out = FirstLine(error.code(), sentence, info.code);
  AddFacts(info, first, also, &out);
  return out;
}

std::string FormatError(const absl::Status& status, bool one_line) {
  if (status.ok()) return "OK";
  const auto payload = status.GetPayload(kErrorListUrl);
  std::optional<ErrorList> list;
  if (payload.has_value()) list = DecodeErrorList(std::string(*payload));
  if (one_line || !list.has_value() || list->errors.empty()) return FormatOne(status, one_line);
  std::string out;
  for (const ErrorGroup& group : GroupErrors(list->errors)) absl::StrAppend(&out, FormatErrorGroup(group), "\n");
  return absl::StrCat(out, Summary(*list));
}

}  // namespace sluice
