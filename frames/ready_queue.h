#ifndef SLUICE_FRAMES_READY_QUEUE_H_
#define SLUICE_FRAMES_READY_QUEUE_H_

#include <cstddef>
#include <memory>

#include "frames/tagged_node.h"

namespace sluice {

// Nodes that may run, first come first served: a ring that grows. Propagators fill it, the run loop empties it.
// Not thread-safe.
class TaggedNodeReadyQueue {
 public:
  TaggedNodeReadyQueue() : nodes_(std::make_unique<TaggedNode[]>(kFirstCapacity)), mask_(kFirstCapacity - 1) {}

  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  void Push(const TaggedNode& node) {
    if (size() > mask_) Grow();
    nodes_[tail_++ & mask_] = node;
  }
  // REQUIRES: !empty().
  TaggedNode Pop() {
    // The node after the next is on its way from memory while this one runs.
    __builtin_prefetch(nodes_[(head_ + 2) & mask_].item_address());
    return nodes_[head_++ & mask_];
  }
  void Clear() { head_ = tail_ = 0; }

 private:
  static constexpr size_t kFirstCapacity = 64;

  void Grow() {
    const size_t capacity = 2 * (mask_ + 1);
    auto nodes = std::make_unique<TaggedNode[]>(capacity);
    for (size_t i = head_; i != tail_; ++i) nodes[i & (capacity - 1)] = nodes_[i & mask_];
    nodes_ = std::move(nodes);
    mask_ = capacity - 1;
  }

  std::unique_ptr<TaggedNode[]> nodes_;  // A power of two of them.
  size_t mask_;
  size_t head_ = 0, tail_ = 0;  // Only grow; taken modulo the capacity.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_READY_QUEUE_H_
