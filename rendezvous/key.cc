#include "rendezvous/key.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr size_t kParts = 5;

absl::Status Malformed(absl::string_view text, absl::string_view what) {
  return Error(ErrorCode::kKeySyntax).Text(absl::StrCat("key '", PrintableName(text, 200), "': ", what));
}

}  // namespace

std::string EdgeText(absl::string_view src_device, uint64_t src_incarnation, absl::string_view dst_device,
                     absl::string_view edge_name) {
  return absl::StrCat(src_device, ";", absl::Hex(src_incarnation, absl::kZeroPad16), ";", dst_device, ";", edge_name);
}

std::string WireKeyText(absl::string_view edge_text, uint64_t frame, int64_t iteration) {
  return absl::StrCat(edge_text, ";", frame, ":", iteration);
}

absl::StatusOr<WireKey> ParseWireKey(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';');
  if (parts.size() != kParts) return Malformed(text, "does not have five parts");
  for (absl::string_view part : parts) {
    if (part.empty()) return Malformed(text, "has an empty part");
  }
  WireKey key;
  key.src_device = std::string(parts[0]);
  key.dst_device = std::string(parts[2]);
  key.edge_name = std::string(parts[3]);
  if (!ParseDeviceName(parts[0], &key.src) || !key.src.IsFull()) return Malformed(text, "the sender is not a device");
  if (!ParseDeviceName(parts[2], &key.dst) || !key.dst.IsFull()) return Malformed(text, "the receiver is not a device");
  if (parts[1].size() > 16 || !absl::SimpleHexAtoi(parts[1], &key.src_incarnation)) {
    return Malformed(text, "the incarnation is not a hexadecimal number");
  }
  const std::pair<absl::string_view, absl::string_view> tag = absl::StrSplit(parts[4], absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(tag.first, &key.frame) || !absl::SimpleAtoi(tag.second, &key.iteration)) {
    return Malformed(text, "frame and iteration are not numbers");
  }
  return key;
}

EdgeNumber EdgeTable::Number(absl::string_view edge_text) {
  MutexLock lock(&mu_);
  const auto found = numbers_.find(edge_text);
  if (found != numbers_.end()) return found->second;
  const EdgeNumber number(static_cast<int32_t>(texts_.size()));
  texts_.push_back(std::make_unique<const std::string>(edge_text));
  numbers_.emplace(*texts_.back(), number);
  return number;
}

EdgeNumber EdgeTable::Find(absl::string_view edge_text) const {
  MutexLock lock(&mu_);
  const auto found = numbers_.find(edge_text);
  return found != numbers_.end() ? found->second : EdgeNumber();
}

absl::string_view EdgeTable::Text(EdgeNumber edge) const {
  MutexLock lock(&mu_);
  return *texts_[static_cast<size_t>(edge.value())];
}

absl::StatusOr<RendezvousKey> EdgeTable::FromWire(absl::string_view text) const {
  SLUICE_ASSIGN_OR_RETURN(const WireKey key, ParseWireKey(text));
  const EdgeNumber edge = Find(text.substr(0, text.rfind(';')));
  if (!edge.valid()) return Malformed(text, "names an edge that the graph does not have");
  return RendezvousKey{edge, key.frame, key.iteration};
}

}  // namespace sluice
