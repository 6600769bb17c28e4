#ifndef SLUICE_KERNELS_STATE_STACK_H_
#define SLUICE_KERNELS_STATE_STACK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"
#include "kernels/state/step_resource.h"
#include "kernels/state/value_pile.h"

namespace sluice {

// A stack of the values that a loop keeps for its gradient.
// Owned by its handle or the step container. Thread-safe.
class Stack final : public StepResource {
 public:
  static constexpr absl::string_view kTypeName = "Stack";
  // Takes any number of values when `max_size` is negative.
  Stack(std::string name, DType dtype, int64_t max_size)
      : StepResource(kTypeName, std::move(name)), dtype_(dtype), max_size_(max_size) {}

  DType dtype() const { return dtype_; }
  // kStackEmpty when the stack is full, closed or of another dtype; kOutOfMemory when `allocator` has no more.
  absl::Status Push(const Tensor& value, Allocator& allocator) ABSL_LOCKS_EXCLUDED(mu_);
  // kStackEmpty when there is nothing, or the stack is closed; kOutOfMemory as above.
  absl::StatusOr<Tensor> Pop(Allocator& allocator) ABSL_LOCKS_EXCLUDED(mu_);
  // The short way to pop a scalar of this plain dtype, of `bytes` bytes, to `value`. Returns false if the top is not
  // such a scalar: Pop takes it, or reports the error.
  bool PopScalar(DType dtype, size_t bytes, void* value) ABSL_LOCKS_EXCLUDED(mu_);
  // Drops all values; afterwards Push and Pop fail.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);
  // At the end of the step.
  void CloseForGood() { Close(); }
  std::string DebugString() const override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const DType dtype_;
  const int64_t max_size_;
  mutable Mutex mu_;
  ValuePile values_ ABSL_GUARDED_BY(mu_);
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_STACK_H_
