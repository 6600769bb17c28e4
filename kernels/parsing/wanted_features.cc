#include "kernels/parsing/wanted_features.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/parsing/proto_cursor.h"

namespace sluice {

absl::StatusOr<WantedFeatures> WantedFeatures::Make(const ExampleNames& names, absl::string_view what, bool may_share) {
  WantedFeatures wanted;
  size_t begin = 0;  // Slots from here on are of the kind at hand.
  const auto add = [&](const std::vector<absl::string_view>& from, std::vector<size_t>* slots) -> absl::Status {
    for (const absl::string_view name : from) {
      const auto [slot, is_new] = wanted.slots_.try_emplace(name, wanted.found_.size());
      if (is_new) wanted.found_.emplace_back();
      if (slot->second < begin && !may_share) {
        return Error(ErrorCode::kOpValue)
            .Text(absl::StrCat(what, " '", PrintableName(name), "' is wanted in two forms"));
      }
      slots->push_back(slot->second);
    }
    begin = wanted.found_.size();
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(add(names.dense, &wanted.dense_));
  SLUICE_RETURN_IF_ERROR(add(names.sparse, &wanted.sparse_));
  SLUICE_RETURN_IF_ERROR(add(names.ragged, &wanted.ragged_));
  return wanted;
}

void WantedFeatures::Clear() { found_.assign(found_.size(), FoundFeature()); }

void WantedFeatures::Note(absl::string_view name, absl::string_view bytes) {
  const auto slot = slots_.find(name);
  if (slot != slots_.end()) found_[slot->second] = {true, bytes};
}

bool FindSequenceFeatures(absl::string_view example, WantedFeatures* context, WantedFeatures* lists) {
  ProtoCursor cursor(example);
  while (!cursor.AtEnd()) {
    WantedFeatures* const wanted = cursor.StandsAt(ProtoCursor::BytesTag(1))   ? context
                                   : cursor.StandsAt(ProtoCursor::BytesTag(2)) ? lists
                                                                               : nullptr;
    if (wanted == nullptr) {
      if (!cursor.SkipField()) return false;
      continue;
    }
    absl::string_view message, entry, name, value;
    if (!cursor.TakeTag(ProtoCursor::BytesTag(wanted == context ? 1 : 2)) || !cursor.TakeMessage(&message))
      return false;
    ProtoCursor entries(message);
    while (!entries.AtEnd()) {
      if (!entries.TakeTag(ProtoCursor::BytesTag(1)) || !entries.TakeMessage(&entry)) return false;
      ProtoCursor fields(entry);  // Key and value, in this order.
      if (!fields.TakeTag(ProtoCursor::BytesTag(1)) || !fields.TakeBytes(&name)) return false;
      if (!fields.TakeTag(ProtoCursor::BytesTag(2)) || !fields.TakeBytes(&value) || !fields.AtEnd()) return false;
      wanted->Note(name, value);
    }
  }
  return true;
}

}  // namespace sluice
