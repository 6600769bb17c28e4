#ifndef SLUICE_GRAPH_VALUE_REF_CELL_H_
#define SLUICE_GRAPH_VALUE_REF_CELL_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// What a reference (DT_FLOAT_REF and its kin) refers to: a variable's tensor and the lock that guards it.
// Counted: the resource manager owns it, kernels and steps that hand out references hold it. Thread-safe under `mu`.
class RefCell : public Counted {
 public:
  explicit RefCell(DType dtype, PartialShape shape = PartialShape()) : dtype_(dtype), shape_(std::move(shape)) {}

  DType dtype() const { return dtype_; }
  // The shape that the variable's node declares; the value may have another.
  const PartialShape& shape() const { return shape_; }
  // The present value; kInvalid before the first assignment. Shares the buffer.
  Tensor Read() const ABSL_LOCKS_EXCLUDED(mu) {
    MutexLock lock(&mu);
    return tensor;
  }

  mutable Mutex mu;
  Tensor tensor ABSL_GUARDED_BY(mu);

 private:
  const DType dtype_;
  const PartialShape shape_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_REF_CELL_H_
