// FormatError: an error for people, in the form
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
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/error_info_codec.h"

namespace sluice {
namespace {

// Facts on lines of their own may be longer than on the first line.
constexpr size_t kMaxFact = 1000;

std::string Quoted(absl::string_view name) { return absl::StrCat("'", PrintableName(name, kMaxFact), "'"); }

// 1849022 as "1,849,022".
std::string Grouped(int64_t value) {
  std::string digits = absl::StrCat(value);
  for (auto pos = static_cast<int64_t>(digits.size()) - 3; pos > (value < 0 ? 1 : 0); pos -= 3) {
    digits.insert(static_cast<size_t>(pos), ",");
  }
  return digits;
}

std::string CodeName(ErrorCode code) { return absl::StrFormat("SLC%04d", static_cast<int32_t>(code)); }

void AddLine(absl::string_view word, absl::string_view rest, std::string* out) {
  if (!rest.empty()) absl::StrAppendFormat(out, "\n  %-5s %s", word, rest);
}

std::string PlaceInFile(const ErrorInfo& info) {
  std::vector<std::string> parts;
  if (!info.file.empty()) parts.push_back(Quoted(info.file));
  if (info.node_index >= 0) parts.push_back(absl::StrCat("node ", Grouped(info.node_index)));
  if (info.byte_begin >= 0 && info.byte_end > info.byte_begin) {
    parts.push_back(absl::StrCat("bytes ", Grouped(info.byte_begin), "-", Grouped(info.byte_end)));
  } else if (info.byte_begin >= 0) {
    parts.push_back(absl::StrCat("byte ", Grouped(info.byte_begin)));
  }
  if (info.line >= 0) parts.push_back(absl::StrCat("line ", Grouped(info.line)));
  if (info.line >= 0 && info.column >= 0) parts.push_back(absl::StrCat("column ", Grouped(info.column)));
  return absl::StrJoin(parts, ", ");
}

std::string PlaceInGraph(const ErrorInfo& info) {
  std::vector<std::string> parts;
  if (!info.function.empty()) parts.push_back(absl::StrCat("function ", Quoted(info.function)));
  if (!info.frame.empty()) parts.push_back(absl::StrCat("frame ", Quoted(info.frame)));
  return absl::StrJoin(parts, ", ");
}

// The lines behind the first one: what is known, whole where the first line cut it.
void AddFacts(const ErrorInfo& info, std::string* out) {
  AddLine("at", PlaceInFile(info), out);
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
    const std::string value = info.limit_value < 0 ? "" : absl::StrCat(" = ", Grouped(info.limit_value));
    AddLine("limit", absl::StrCat(PrintableName(info.limit), value), out);
  }
  if (info.derived) AddLine("note", "a consequence of another error of this run", out);
  AddLine("help", PrintableName(info.suggestion, kMaxFact), out);
  AddLine("see", absl::StrCat("sluice explain ", CodeName(info.code)), out);
}

std::string FormatOne(const absl::Status& status, bool one_line) {
  const std::string canonical = absl::StatusCodeToString(status.code());
  const std::string message = PrintableName(status.message(), 2000);
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return absl::StrCat(canonical, ": ", message);
  const std::string code = CodeName(info->code);
  const bool has_code = absl::StartsWith(message, code + ": ");
  std::string out = absl::StrCat(code, " ", canonical, ": ", has_code ? message.substr(code.size() + 2) : message);
  if (!one_line) AddFacts(*info, &out);
  return out;
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
  std::string out = absl::StrCat(Grouped(list.total), " errors: ");
  absl::StrAppend(&out, absl::StrJoin(order, ", ", [](std::string* text, const std::pair<int64_t, int32_t>& entry) {
    absl::StrAppend(text, -entry.first, " ", CodeName(static_cast<ErrorCode>(entry.second)));
  }));
  const int64_t hidden = list.total - static_cast<int64_t>(list.errors.size());
  if (hidden > 0) absl::StrAppend(&out, "; ", Grouped(hidden), " more not shown");
  return out;
}

}  // namespace

std::string FormatError(const absl::Status& status, bool one_line) {
  if (status.ok()) return "OK";
  const auto payload = status.GetPayload(kErrorListUrl);
  std::optional<ErrorList> list;
  if (payload.has_value()) list = DecodeErrorList(std::string(*payload));
  if (one_line || !list.has_value() || list->errors.empty()) return FormatOne(status, one_line);
  std::string out;
  for (const absl::Status& error : list->errors) absl::StrAppend(&out, FormatOne(error, false), "\n");
  return absl::StrCat(out, Summary(*list));
}

}  // namespace sluice
