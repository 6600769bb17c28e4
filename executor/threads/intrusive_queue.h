#ifndef SLUICE_EXECUTOR_THREADS_INTRUSIVE_QUEUE_H_
#define SLUICE_EXECUTOR_THREADS_INTRUSIVE_QUEUE_H_

namespace sluice {

// A queue of objects that hold the link to the next one themselves, so that nothing in it can throw.
//
//   IntrusiveQueue<Call, &Call::next> queue;
//
// Borrows its objects, each of which is in one queue at most. Not thread-safe.
template <typename T, T* T::*kNext>
class IntrusiveQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  T* front() const { return first_; }
  void PushBack(T* object) {
    object->*kNext = nullptr;
    (first_ == nullptr ? first_ : last_->*kNext) = object;
    last_ = object;
  }
  // REQUIRES: not empty.
  T* PopFront() {
    T* const object = first_;
    first_ = object->*kNext;
    return object;
  }
  // Takes `object` out; returns false if it is not in the queue. Linear.
  bool Remove(T* object) {
    T* before = nullptr;
    for (T* at = first_; at != nullptr; before = at, at = at->*kNext) {
      if (at != object) continue;
      (before == nullptr ? first_ : before->*kNext) = at->*kNext;
      if (last_ == at) last_ = before;
      return true;
    }
    return false;
  }
  // Moves all objects to the result; leaves this empty.
  IntrusiveQueue TakeAll() {
    const IntrusiveQueue all = *this;
    first_ = nullptr;
    return all;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;  // Meaningless when first_ is null.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_INTRUSIVE_QUEUE_H_
