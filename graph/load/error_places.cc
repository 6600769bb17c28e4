#include "graph/load/error_places.h"

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "graph/base/error.h"
#include "graph/base/error_info_codec.h"

namespace sluice {
namespace {

absl::Status PlaceOne(const absl::Status& error, const FilePlaces& places) {
  std::optional<ErrorInfo> info = ErrorInfoOf(error);
  if (!info.has_value()) return error;
  if (info->byte_begin >= 0) {
    const bool in_file = places.base_offset >= 0;
    info->byte_begin = in_file ? info->byte_begin + places.base_offset : -1;
    info->byte_end = in_file && info->byte_end >= 0 ? info->byte_end + places.base_offset : -1;
  }
  // Nodes of functions count from the start of their body.
  const bool is_known = info->node_index >= 0 && info->node_index < static_cast<int64_t>(places.nodes.size());
  if (is_known && info->function.empty() && info->line < 0) {
    info->line = places.nodes[static_cast<size_t>(info->node_index)].first;
    info->column = places.nodes[static_cast<size_t>(info->node_index)].second;
  }
  const absl::Status made = MakeError(*info);
  absl::Status placed(error.code(), made.message());
  made.ForEachPayload([&placed](absl::string_view url, const absl::Cord& payload) { placed.SetPayload(url, payload); });
  return placed;
}

}  // namespace

absl::Status PlaceInFile(const absl::Status& status, const FilePlaces& places) {
  if (status.ok() || (places.base_offset == 0 && places.nodes.empty())) return status;
  const auto payload = status.GetPayload(kErrorListUrl);
  std::optional<ErrorList> list;
  if (payload.has_value()) list = DecodeErrorList(std::string(*payload));
  if (!list.has_value()) return PlaceOne(status, places);
  ErrorCollector errors(list->errors.size());
  for (const absl::Status& error : list->errors) errors.Add(PlaceOne(error, places));
  absl::Status all = errors.Finish();
  // Those not kept still count.
  std::optional<ErrorList> moved;
  if (const auto moved_payload = all.GetPayload(kErrorListUrl)) moved = DecodeErrorList(std::string(*moved_payload));
  if (!moved.has_value()) return all;
  moved->total = list->total;
  all.SetPayload(kErrorListUrl, absl::Cord(EncodeErrorList(*moved)));
  return all;
}

}  // namespace sluice
