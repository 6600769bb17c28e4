#ifndef SLUICE_EXECUTOR_DATAFLOW_PROPAGATOR_POOL_H_
#define SLUICE_EXECUTOR_DATAFLOW_PROPAGATOR_POOL_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "executor/node_calls.h"
#include "executor/threads/kept_pool.h"
#include "frames/flat_propagator.h"
#include "frames/graph_view.h"

namespace sluice {

// Keeps propagators and kernel calls, with their memory, for later runs of one plan. Thread-safe.
template <typename Propagator>
class PropagatorPool {
 public:
  struct Kept {
    std::unique_ptr<Propagator> propagator;
    NodeCalls calls;
  };

  PropagatorPool(const GraphView& view, FrameIdHash hash) : view_(view), hash_(hash) {}

  // A propagator at its beginning.
  Kept Take() {
    std::optional<Kept> kept = kept_.Take();
    if (kept.has_value()) return *std::move(kept);
    return {std::make_unique<Propagator>(view_, hash_), NodeCalls()};
  }
  // REQUIRES: the propagator was reset, and no call is under way.
  void Put(Kept kept) {
    if (!kept.calls.is_small()) kept.calls = NodeCalls();
    const size_t bytes = kept.propagator->kept_bytes();
    kept_.Put(std::move(kept), bytes);
  }
  // The number that are kept.
  size_t num_kept() const { return kept_.num_kept(); }

 private:
  static constexpr size_t kMaxKept = 16;

  const GraphView& view_;
  const FrameIdHash hash_;
  KeptPool<Kept> kept_{kMaxKept};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DATAFLOW_PROPAGATOR_POOL_H_
