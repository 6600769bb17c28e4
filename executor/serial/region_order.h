#ifndef SLUICE_EXECUTOR_SERIAL_REGION_ORDER_H_
#define SLUICE_EXECUTOR_SERIAL_REGION_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/serial/structure.h"

namespace sluice {

// One unit of work in a region (the root or the body of a loop): a node, a move into a Merge, or a whole loop.
struct RegionUnit {
  enum class Kind : uint8_t { kNode, kMergeMove, kLoop };
  Kind kind = Kind::kNode;
  NodeId node;        // Of a loop: not set.
  int32_t index = 0;  // The input of a move; the frame of a loop.
  GuardId guard = kAlways;
};

// Puts the units of each frame in an order that respects all edges and keeps units of one guard together, so that a
// block that is not taken is one jump. See Note [Guards]. Linear.
class RegionOrders {
 public:
  // Returns false if a loop depends on its own results through nodes outside of it, which a program cannot express.
  static bool Create(const SerialStructure& structure, RegionOrders* orders);

  absl::Span<const RegionUnit> of(int32_t frame) const { return orders_[static_cast<size_t>(frame)]; }

 private:
  std::vector<std::vector<RegionUnit>> orders_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_REGION_ORDER_H_
