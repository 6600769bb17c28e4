#include "tools/cli/console/error_json.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "tools/cli/console/json_document.h"

namespace sluice {

using Json = nlohmann::ordered_json;

namespace {

// The facts by which the errors of a group differ.
Json PlaceJson(const ErrorInfo& info) {
  Json out = Json::object();
  if (!info.node.empty()) out["node"] = info.node;
  if (!info.op.empty()) out["op"] = info.op;
  if (!info.function.empty()) out["function"] = info.function;
  if (info.node_index >= 0) out["node_index"] = info.node_index;
  if (info.byte_begin >= 0) out["byte_begin"] = info.byte_begin;
  if (info.line >= 0) out["line"] = info.line;
  if (info.column >= 0) out["column"] = info.column;
  return out;
}

}  // namespace

Json ErrorJson(const absl::Status& status) {
  Json out = {{"canonical", absl::StatusCodeToString(status.code())}, {"message", std::string(status.message())}};
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return out;
  out["code"] = absl::StrFormat("SLC%04d", static_cast<int>(info->code));
  const auto add_text = [&out](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  const auto add_number = [&out](const char* key, int64_t value) {
    if (value >= 0) out[key] = value;
  };
  add_text("node", info->node);
  add_text("op", info->op);
  add_number("input", info->input);
  add_text("input_name", info->input_name);
  add_text("attr", info->attr);
  add_text("found", info->found);
  add_text("expected", info->expected);
  add_text("function", info->function);
  add_text("frame", info->frame);
  add_text("file", info->file);
  add_number("node_index", info->node_index);
  add_number("byte_begin", info->byte_begin);
  add_number("byte_end", info->byte_end);
  add_number("line", info->line);
  add_number("column", info->column);
  add_text("limit", info->limit);
  add_number("limit_value", info->limit_value);
  add_text("suggestion", info->suggestion);
  if (info->derived) out["derived"] = true;
  return out;
}

Json ErrorsJson(absl::Span<const absl::Status> errors, bool all) {
  Json out = Json::array();
  if (all) {
    for (const absl::Status& error : errors) out.push_back(ErrorJson(error));
    for (Json& entry : out) entry["count"] = 1;
    return out;
  }
  for (const ErrorGroup& group : GroupErrors(errors)) {
    Json entry = ErrorJson(group.first);
    entry["count"] = group.count;
    if (group.count > 1) {
      entry["ops"] = group.ops;
      entry["also"] = Json::array();
      for (const ErrorInfo& other : group.others) entry["also"].push_back(PlaceJson(other));
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::string FailureDocument(absl::string_view command, absl::Span<const absl::Status> problems,
                            absl::Span<const std::string> hints) {
  std::vector<absl::Status> errors;
  int64_t count = 0;
  for (const absl::Status& problem : problems) {
    for (absl::Status& error : AllErrors(problem)) errors.push_back(std::move(error));
    count += CountErrors(problem);
  }
  const Json out = {{"command", std::string(command)},
                    {"num_errors", count},
                    {"errors", ErrorsJson(errors)},
                    {"hints", std::vector<std::string>(hints.begin(), hints.end())}};
  return JsonDocument(out);
}

}  // namespace sluice
