#ifndef SLUICE_FRAMES_TAGGED_NODE_H_
#define SLUICE_FRAMES_TAGGED_NODE_H_

#include <cstdint>

#include "frames/graph_view.h"

namespace sluice {

struct IterationState;

// A node in an iteration of a frame, and whether it is dead: the unit of scheduling. A value type of 16 bytes.
class TaggedNode {
 public:
  TaggedNode() = default;
  TaggedNode(const NodeItem& item, IterationState* iteration, bool is_dead)
      : item_and_dead_(reinterpret_cast<uintptr_t>(&item) | (is_dead ? 1u : 0u)), iteration_(iteration) {}

  const NodeItem& item() const { return *reinterpret_cast<const NodeItem*>(item_and_dead_ & ~uintptr_t{1}); }
  // Where the item lies; null for a node that was never set.
  const void* item_address() const { return reinterpret_cast<const void*>(item_and_dead_ & ~uintptr_t{1}); }
  bool is_dead() const { return (item_and_dead_ & 1) != 0; }
  IterationState& iteration() const { return *iteration_; }

 private:
  uintptr_t item_and_dead_ = 0;
  IterationState* iteration_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_TAGGED_NODE_H_
