#include "graph/load/error_places.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "graph/base/error.h"
#include "graph/base/error_info_codec.h"

namespace sluice {
namespace {

absl::Status MoveOne(const absl::Status& error, int64_t base_offset) {
  std::optional<ErrorInfo> info = ErrorInfoOf(error);
  if (!info.has_value() || info->byte_begin < 0) return error;
  info->byte_begin = base_offset < 0 ? -1 : info->byte_begin + base_offset;
  info->byte_end = base_offset < 0 || info->byte_end < 0 ? -1 : info->byte_end + base_offset;
  const absl::Status made = MakeError(*info);
  absl::Status moved(error.code(), made.message());
  made.ForEachPayload([&moved](absl::string_view url, const absl::Cord& payload) { moved.SetPayload(url, payload); });
  return moved;
}

}  // namespace

absl::Status CountFromFileStart(const absl::Status& status, int64_t base_offset) {
  if (status.ok() || base_offset == 0) return status;
  const auto payload = status.GetPayload(kErrorListUrl);
  std::optional<ErrorList> list;
  if (payload.has_value()) list = DecodeErrorList(std::string(*payload));
  if (!list.has_value()) return MoveOne(status, base_offset);
  ErrorCollector errors(list->errors.size());
  for (const absl::Status& error : list->errors) errors.Add(MoveOne(error, base_offset));
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
