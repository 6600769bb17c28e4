#include "executor/session/session_names.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

SessionNameClaim::Held& SessionNameClaim::AllHeld() {
  static Held& held = *std::make_unique<Held>().release();
  return held;
}

absl::Status SessionNameClaim::Claim(const SessionMetadata& metadata) {
  if (metadata.version < 0) {
    return Error(ErrorCode::kWrongUse)
        .Found(absl::StrCat(metadata.version))
        .Expected("0 or more")
        .Text("the version of a session is negative");
  }
  if (metadata.name.empty()) return absl::OkStatus();
  MutexLock lock(&mu_);
  key_ = {metadata.name, metadata.version};
  Held& all = AllHeld();
  MutexLock all_lock(&all.mu);
  is_held_ = all.keys.insert(key_).second;
  if (is_held_) return absl::OkStatus();
  return Error(ErrorCode::kWrongUse)
      .Text(absl::StrCat("a session called '", metadata.name, "' of version ", metadata.version, " is open already"));
}

void SessionNameClaim::Release() {
  MutexLock lock(&mu_);
  if (!is_held_) return;
  is_held_ = false;
  Held& all = AllHeld();
  MutexLock all_lock(&all.mu);
  all.keys.erase(key_);
}

}  // namespace sluice
