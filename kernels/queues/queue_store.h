#ifndef SLUICE_KERNELS_QUEUES_QUEUE_STORE_H_
#define SLUICE_KERNELS_QUEUES_QUEUE_STORE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "graph/value/tensor.h"

namespace sluice {

// The components of one element of a queue.
using QueueElement = std::vector<Tensor>;

// The elements of a queue, and which of them comes next. Not thread-safe.
class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual int64_t size() const = 0;
  // How many may be taken now: a store that shuffles keeps some back until the queue is closed.
  virtual int64_t NumReady(bool is_closed) const;
  virtual void Put(QueueElement element) = 0;
  // REQUIRES: size() > 0.
  virtual QueueElement Take() = 0;
  // Moves `count` elements to the end of `taken`; if there is no memory for that, moves none.
  // REQUIRES: size() >= count.
  void TakeTo(int64_t count, std::vector<QueueElement>& taken);
  // Puts back what was taken last and not put back yet.
  virtual void PutBack(QueueElement element) { Put(std::move(element)); }
};

// First in, first out.
std::unique_ptr<QueueStore> NewFifoStore();
// Takes random elements, in TensorFlow's sequence for these seeds; keeps `min_left` back.
std::unique_ptr<QueueStore> NewShuffleStore(uint64_t seed, uint64_t seed2, int64_t min_left);
// Takes the element with the smallest component 0, a scalar of int64; among equal ones in TensorFlow's order.
std::unique_ptr<QueueStore> NewPriorityStore();

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_QUEUE_STORE_H_
