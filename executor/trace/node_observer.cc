#include "executor/trace/node_observer.h"

#include "absl/time/clock.h"

namespace sluice {

int64_t NodeObserver::NowNs() { return absl::GetCurrentTimeNanos(); }

}  // namespace sluice
