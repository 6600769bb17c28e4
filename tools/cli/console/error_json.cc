#include "tools/cli/console/error_json.h"

#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/error_info_codec.h"

namespace sluice {

using Json = nlohmann::ordered_json;

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
  return out;
}

Json ErrorsJson(absl::Span<const absl::Status> statuses) {
  Json out = Json::array();
  for (const absl::Status& status : statuses) out.push_back(ErrorJson(status));
  return out;
}

std::string FailureDocument(absl::string_view command, absl::Span<const absl::Status> problems,
                            absl::Span<const std::string> hints) {
  std::vector<absl::Status> errors;
  int64_t count = 0;
  for (const absl::Status& problem : problems) {
    for (absl::Status& error : AllErrors(problem)) errors.push_back(std::move(error));
    const auto payload = problem.GetPayload(kErrorListUrl);
    std::optional<ErrorList> list;
    if (payload.has_value()) list = DecodeErrorList(std::string(*payload));
    count += list.has_value() ? list->total : 1;
  }
  const Json out = {{"command", std::string(command)},
                    {"num_errors", count},
                    {"errors", ErrorsJson(errors)},
                    {"hints", std::vector<std::string>(hints.begin(), hints.end())}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sluice
