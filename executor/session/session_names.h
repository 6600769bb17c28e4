#ifndef SLUICE_EXECUTOR_SESSION_SESSION_NAMES_H_
#define SLUICE_EXECUTOR_SESSION_SESSION_NAMES_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "graph/base/mutex.h"

namespace sluice {

// The host's name for the model that a session runs. No two open sessions of a process have the same name and version.
// An empty name may be shared.
struct SessionMetadata {
  std::string name;
  int64_t version = 0;  // Not negative.
};

// Holds the name and version of one open session, which other sessions cannot claim meanwhile. Thread-safe.
class SessionNameClaim {
 public:
  SessionNameClaim() = default;
  SessionNameClaim(const SessionNameClaim&) = delete;
  SessionNameClaim& operator=(const SessionNameClaim&) = delete;
  ~SessionNameClaim() { Release(); }

  // kWrongUse when an open session has them, or the version is negative. To be called once.
  absl::Status Claim(const SessionMetadata& metadata) ABSL_LOCKS_EXCLUDED(mu_);
  // Idempotent.
  void Release() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<std::string, int64_t>;
  // All that are held in this process.
  struct Held {
    Mutex mu;
    std::set<Key> keys ABSL_GUARDED_BY(mu);
  };
  static Held& AllHeld();

  Mutex mu_;
  Key key_ ABSL_GUARDED_BY(mu_);
  bool is_held_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SESSION_NAMES_H_
