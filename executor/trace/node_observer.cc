#include "executor/trace/node_observer.h"

#include "absl/time/clock.h"

namespace sluice {

int64_t NodeObserver::NowNs() { return absl::GetCurrentTimeNanos(); }

int64_t NodeObserver::BeginOf(NodeObserver& observer, NodeId node) {
  const int64_t now_ns = NowNs();
  observer.OnStart(node, now_ns);
  return now_ns;
}

}  // namespace sluice
