#ifndef SLUICE_KERNELS_RANDOM_BATCH_PARAMETERS_H_
#define SLUICE_KERNELS_RANDOM_BATCH_PARAMETERS_H_

#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/shape.h"

namespace sluice {

// Up to four tensors of parameters, broadcast to one shape: a batch of samples for each of its elements. Looked up once
// per batch, and not walked. A value type, made for one call.
class BatchParameters {
 public:
  static constexpr size_t kMaxTensors = 4;

  // kOpShapes when two sizes differ and neither is 1; kOpTooLarge when there are too many batches. REQUIRES: at most
  // kMaxTensors shapes.
  static absl::StatusOr<BatchParameters> Make(absl::Span<const Shape* const> shapes);

  const Shape& shape() const { return shape_; }
  int64_t num_batches() const { return shape_.num_elements(); }
  // The element of tensor `tensor` that batch `batch` takes.
  int64_t IndexOf(size_t tensor, int64_t batch) const;

 private:
  struct Axis {
    int64_t size = 1;
    std::array<int64_t, kMaxTensors> strides = {};  // 0 where the tensor is repeated.
  };

  Shape shape_;
  absl::InlinedVector<Axis, 4> axes_;  // The last runs fastest.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_BATCH_PARAMETERS_H_
