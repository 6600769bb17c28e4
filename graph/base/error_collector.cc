// ErrorCollector: the errors of one load, put in order.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/error_info_codec.h"

namespace sluice {
namespace {

// Orders the list: errors of the file as a whole, then of the graph's nodes, then of nodes in function bodies; each by
// position.
struct Rank {
  int group = 0;
  int64_t node_index = -1;
  bool operator<(const Rank& other) const {
    return std::tie(group, node_index) < std::tie(other.group, other.node_index);
  }
};

Rank RankOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || (info->node.empty() && info->node_index < 0)) return {};
  const int64_t index = info->node_index < 0 ? std::numeric_limits<int64_t>::max() : info->node_index;
  return {info->function.empty() ? 1 : 2, index};
}

}  // namespace

void ErrorCollector::Add(absl::Status status) {
  if (status.ok()) return;
  // Take all errors of a nested list.
  if (const auto payload = status.GetPayload(kErrorListUrl)) {
    if (std::optional<ErrorList> list = DecodeErrorList(std::string(*payload)); list.has_value()) {
      for (absl::Status& error : list->errors) Add(std::move(error));
      total_ += static_cast<size_t>(std::max<int64_t>(0, list->total - static_cast<int64_t>(list->errors.size())));
      return;
    }
  }
  ++total_;
  if (!full()) errors_.push_back(std::move(status));
}

absl::Status ErrorCollector::Finish() {
  if (empty()) return absl::OkStatus();
  std::stable_sort(errors_.begin(), errors_.end(),
                   [](const absl::Status& a, const absl::Status& b) { return RankOf(a) < RankOf(b); });
  if (total_ == 1) return errors_.front();
  const absl::Status& first = errors_.front();
  absl::Status all(first.code(), absl::StrCat(first.message(), " (1 of ", total_, " errors)"));
  first.ForEachPayload([&all](absl::string_view url, const absl::Cord& payload) { all.SetPayload(url, payload); });
  all.SetPayload(kErrorListUrl, absl::Cord(EncodeErrorList({errors_, static_cast<int64_t>(total_)})));
  return all;
}

}  // namespace sluice
