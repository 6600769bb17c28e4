#include "graph/base/error.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/base/error_info_codec.h"
#include "graph/base/error_text.h"

namespace sluice {
namespace {

std::string Quoted(absl::string_view name, size_t max_bytes) {
  return absl::StrCat("'", PrintableName(name, max_bytes), "'");
}

// "Conv2D 'net/conv': ", as far as known.
std::string Subject(const ErrorInfo& info, size_t max_name) {
  if (info.node.empty()) return info.op.empty() ? "" : absl::StrCat(PrintableName(info.op, max_name), ": ");
  const std::string kind = info.op.empty() ? "node" : PrintableName(info.op, max_name);
  return absl::StrCat(kind, " ", Quoted(info.node, max_name), ": ");
}

// "input 1 'a:3' attr 'T'", as far as known.
std::string Part(const ErrorInfo& info, size_t max_name) {
  std::vector<std::string> parts;
  if (info.input >= 0) {
    parts.push_back(absl::StrCat("input ", info.input));
  } else if (!info.input_name.empty()) {
    parts.push_back("input");
  }
  if (!info.input_name.empty()) parts.push_back(Quoted(info.input_name, max_name));
  if (!info.attr.empty()) parts.push_back(absl::StrCat("attr ", Quoted(info.attr, max_name)));
  return absl::StrJoin(parts, " ");
}

// Says what is wrong: the part at fault and the text about it, then what was found and expected; or else the title of
// the code.
std::string Complaint(const ErrorInfo& info, size_t max_name) {
  constexpr size_t kMaxText = 1000;
  std::string out = Part(info, max_name);
  const auto add = [&out](absl::string_view gap, absl::string_view value) {
    absl::StrAppend(&out, out.empty() ? "" : gap, value);
  };
  if (!info.text.empty()) add(" ", PrintableName(info.text, kMaxText));
  if (!info.found.empty()) add(": ", absl::StrCat("found ", PrintableName(info.found, max_name)));
  if (!info.expected.empty()) {
    add(info.found.empty() ? ": " : ", ", absl::StrCat("expected ", PrintableName(info.expected, max_name)));
  }
  const ErrorCodeRow* row = FindErrorCode(static_cast<int32_t>(info.code));
  if (info.text.empty() && info.found.empty() && info.expected.empty() && row != nullptr) {
    add(": ", row->title.substr(0, row->title.size() - 1));  // Without the full stop.
  }
  return out;
}

// The line that stands alone:
//   SLC2103: <op> '<node>': input <i> '<name>': attr '<x>': <text>: found <X>, expected <Y> at <place> (1 of <n>
//   errors)
// Names are cut shorter when it would exceed 200 bytes.
std::string FirstLine(const ErrorInfo& info, int64_t num_errors) {
  constexpr size_t kMaxLine = 200;
  std::string line;
  for (const size_t max_name : {size_t{120}, size_t{60}, size_t{40}}) {
    line = absl::StrFormat("SLC%04d: ", static_cast<int32_t>(info.code));
    absl::StrAppend(&line, Subject(info, max_name), Complaint(info, max_name), PlaceText(info));
    if (num_errors > 1) absl::StrAppend(&line, " (1 of ", num_errors, " errors)");
    if (line.size() <= kMaxLine) break;
  }
  return line;
}

absl::Status Make(absl::StatusCode canonical, const ErrorInfo& info, int64_t num_errors = 1) {
  absl::Status status(canonical, FirstLine(info, num_errors));
  status.SetPayload(kErrorInfoUrl, absl::Cord(EncodeErrorInfo(info)));
  return status;
}

absl::Status CopyOtherPayloads(const absl::Status& from, absl::Status to) {
  from.ForEachPayload([&to](absl::string_view url, const absl::Cord& payload) {
    if (!to.GetPayload(url).has_value()) to.SetPayload(url, payload);
  });
  return to;
}

// Calls add(info) for the facts of `status` and, when it stands for many errors, for those of each of them.
// A status from elsewhere gets facts that hold its message.
template <typename AddFacts>
absl::Status WithFacts(const absl::Status& status, AddFacts add) {
  if (status.ok()) return status;
  const auto one = [&add](const absl::Status& error, int64_t num_errors) {
    std::optional<ErrorInfo> info = ErrorInfoOf(error);
    if (!info.has_value()) {
      info.emplace();
      info->code = ErrorCode::kForeign;
      info->text = std::string(error.message());
    }
    add(*info);
    return CopyOtherPayloads(error, Make(error.code(), *info, num_errors));
  };
  const auto payload = status.GetPayload(kErrorListUrl);
  std::optional<ErrorList> list;
  if (payload.has_value()) list = DecodeErrorList(std::string(*payload));
  if (!list.has_value()) return one(status, 1);
  for (absl::Status& error : list->errors) error = one(error, 1);
  absl::Status all = one(status, list->total);
  all.SetPayload(kErrorListUrl, absl::Cord(EncodeErrorList(*list)));
  return all;
}

void SetIfEmpty(std::string& fact, absl::string_view value) {
  if (fact.empty()) fact.assign(value.data(), value.size());
}

void SetIfAbsent(int64_t& fact, int64_t value) {
  if (fact < 0) fact = value;
}

void Set(std::string& fact, absl::string_view value) { fact.assign(value.data(), value.size()); }

}  // namespace

std::string PlaceText(const ErrorInfo& info) {
  if (info.line >= 0) {
    const std::string column = info.column >= 0 ? absl::StrCat(", column ", info.column) : "";
    return absl::StrCat(" at line ", info.line, column);
  }
  const bool says_where = !info.node.empty() || absl::StrContains(info.text, "at byte");
  return says_where || info.byte_begin < 0 ? "" : absl::StrCat(" at byte ", info.byte_begin);
}

ErrorBuilder& ErrorBuilder::Node(absl::string_view name, absl::string_view op) {
  Set(info_.node, name);
  Set(info_.op, op);
  return *this;
}
ErrorBuilder& ErrorBuilder::Input(int32_t index, absl::string_view name) {
  info_.input = index;
  Set(info_.input_name, name);
  return *this;
}
ErrorBuilder& ErrorBuilder::Attr(absl::string_view name) {
  Set(info_.attr, name);
  return *this;
}
ErrorBuilder& ErrorBuilder::Found(absl::string_view found) {
  Set(info_.found, found);
  return *this;
}
ErrorBuilder& ErrorBuilder::Expected(absl::string_view expected) {
  Set(info_.expected, expected);
  return *this;
}
ErrorBuilder& ErrorBuilder::Function(absl::string_view name) {
  Set(info_.function, name);
  return *this;
}
ErrorBuilder& ErrorBuilder::At(int64_t node_index, int64_t byte_begin, int64_t byte_end) {
  info_.node_index = node_index;
  info_.byte_begin = byte_begin;
  info_.byte_end = byte_end;
  return *this;
}
ErrorBuilder& ErrorBuilder::AtByte(int64_t offset) {
  info_.byte_begin = offset;
  return *this;
}
ErrorBuilder& ErrorBuilder::Limit(absl::string_view name, int64_t value) {
  Set(info_.limit, name);
  info_.limit_value = value;
  return *this;
}
ErrorBuilder& ErrorBuilder::Help(absl::string_view suggestion) {
  Set(info_.suggestion, suggestion);
  return *this;
}
ErrorBuilder& ErrorBuilder::Text(absl::string_view text) {
  Set(info_.text, text);
  return *this;
}

absl::Status ErrorBuilder::Build() const { return MakeError(info_); }

absl::Status MakeError(const ErrorInfo& info) {
  const ErrorCodeRow* row = FindErrorCode(static_cast<int32_t>(info.code));
  return Make(row == nullptr ? absl::StatusCode::kInternal : row->canonical, info);
}

std::optional<ErrorInfo> ErrorInfoOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrorInfoUrl);
  if (!payload.has_value()) return std::nullopt;
  return DecodeErrorInfo(std::string(*payload));
}

absl::Status WithNode(const absl::Status& status, absl::string_view name, absl::string_view op) {
  return WithFacts(status, [&](ErrorInfo& info) {
    if (!info.node.empty()) return;  // The op belongs to the node: both or neither.
    Set(info.node, name);
    Set(info.op, op);
  });
}

absl::Status WithFunction(const absl::Status& status, absl::string_view function) {
  return WithFacts(status, [&](ErrorInfo& info) { SetIfEmpty(info.function, function); });
}

absl::Status WithAttr(const absl::Status& status, absl::string_view attr) {
  return WithFacts(status, [&](ErrorInfo& info) { SetIfEmpty(info.attr, attr); });
}

absl::Status WithPlace(const absl::Status& status, int64_t node_index, int64_t byte_begin, int64_t byte_end) {
  return WithFacts(status, [&](ErrorInfo& info) {
    SetIfAbsent(info.node_index, node_index);
    if (info.byte_begin >= 0) return;  // A place within the node says more than the node's range.
    info.byte_begin = byte_begin;
    info.byte_end = byte_end;
  });
}

absl::Status WithFile(const absl::Status& status, absl::string_view file) {
  return WithFacts(status, [&](ErrorInfo& info) { SetIfEmpty(info.file, file); });
}

absl::Status WithLine(const absl::Status& status, int64_t line, int64_t column) {
  return WithFacts(status, [&](ErrorInfo& info) {
    if (info.line >= 0) return;
    info.line = line;
    info.column = column;
  });
}

absl::Status WithChangedFacts(const absl::Status& status, absl::FunctionRef<void(ErrorInfo&)> change) {
  return ErrorInfoOf(status).has_value() ? WithFacts(status, change) : status;
}

std::vector<absl::Status> AllErrors(const absl::Status& status) {
  if (status.ok()) return {};
  if (const auto payload = status.GetPayload(kErrorListUrl)) {
    if (auto list = DecodeErrorList(std::string(*payload)); list.has_value() && !list->errors.empty()) {
      return std::move(list->errors);
    }
  }
  return {status};
}

}  // namespace sluice
