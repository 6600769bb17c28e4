#include "graph/base/error_groups.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error_info_codec.h"
#include "graph/base/error_text.h"

namespace sluice {
namespace {

using Cause = std::tuple<int32_t, std::string, int32_t, std::string, std::string, std::string, std::string, std::string,
                         std::string>;

Cause CauseOf(const ErrorInfo& info) {
  const bool is_any_op = info.code == ErrorCode::kOpInternal;
  return {static_cast<int32_t>(info.code),
          info.text,
          info.input,
          info.input_name,
          info.attr,
          info.found,
          info.expected,
          info.suggestion,
          is_any_op ? std::string() : info.op};
}

void AddTo(ErrorGroup& group, const ErrorInfo& info) {
  ++group.count;
  if (group.ops.size() < ErrorGroup::kMaxOps && !info.op.empty() &&
      std::find(group.ops.begin(), group.ops.end(), info.op) == group.ops.end()) {
    group.ops.push_back(info.op);
  }
  if (group.count > 1 && group.others.size() < ErrorGroup::kMaxOthers) group.others.push_back(info);
}

// "'c' line 52", "'d' node 7".
std::string ShortPlace(const ErrorInfo& info) {
  const std::string name = info.node.empty() ? "" : absl::StrCat("'", PrintableName(info.node), "' ");
  if (info.line >= 0) return absl::StrCat(name, "line ", info.line);
  if (info.node_index >= 0) return absl::StrCat(name, "node ", GroupedDigits(info.node_index));
  return name.empty() ? "" : name.substr(0, name.size() - 1);
}

}  // namespace

int64_t CountErrors(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kErrorListUrl)) {
    const std::optional<ErrorList> list = DecodeErrorList(std::string(*payload));
    if (list.has_value()) return list->total;
  }
  return status.ok() ? 0 : 1;
}

std::vector<ErrorGroup> GroupErrors(absl::Span<const absl::Status> errors) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  struct Known {
    int64_t count = 0;
    size_t group = kNone;
  };
  std::map<Cause, Known> causes;
  std::vector<std::pair<std::optional<ErrorInfo>, Known*>> facts;
  for (const absl::Status& error : errors) {
    auto& [info, known] = facts.emplace_back(ErrorInfoOf(error), nullptr);
    if (!info.has_value()) continue;
    known = &causes[CauseOf(*info)];
    ++known->count;
  }
  std::vector<ErrorGroup> groups;
  for (size_t i = 0; i < errors.size(); ++i) {
    Known* const known = facts[i].second;
    const bool is_grouped = known != nullptr && known->count >= ErrorGroup::kMinCount;
    if (!is_grouped || known->group == kNone) {
      if (is_grouped) known->group = groups.size();
      groups.push_back({errors[i], 0, {}, {}});
    }
    AddTo(is_grouped ? groups[known->group] : groups.back(), facts[i].first.value_or(ErrorInfo()));
  }
  return groups;
}

std::string FormatErrorGroup(const ErrorGroup& group) {
  std::optional<ErrorInfo> info = ErrorInfoOf(group.first);
  if (group.count == 1 || !info.has_value()) return FormatError(group.first);
  const std::string ops = group.ops.empty() ? "" : absl::StrCat(" x ", absl::StrJoin(group.ops, "/"));
  // The sentence is about all of them; the place is that of the first.
  info->op = absl::StrCat(GroupedDigits(group.count), ops.empty() ? " times" : ops);
  const std::string first = info->node.empty() ? "" : absl::StrCat("'", PrintableName(info->node), "'");
  info->node.clear();
  std::vector<std::string> places;
  for (const ErrorInfo& other : group.others) {
    const std::string place = ShortPlace(other);
    if (!place.empty()) places.push_back(place);
  }
  std::string also = absl::StrJoin(places, ", ");
  const int64_t more = group.count - 1 - static_cast<int64_t>(group.others.size());
  if (more > 0 && !also.empty()) absl::StrAppend(&also, " and ", GroupedDigits(more), " more");
  return FormatErrorLines(MakeError(*info), first, also);
}

}  // namespace sluice
