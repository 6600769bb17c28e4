#ifndef SLUICE_KERNELS_QUEUES_QUEUE_SPEC_H_
#define SLUICE_KERNELS_QUEUES_QUEUE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// The attrs of the node of a queue or a barrier. A value type.
struct QueueSpec {
  static constexpr int64_t kUnlimited = int64_t{1} << 31;

  // From the attrs of the node. kOpAttr where they contradict each other.
  static absl::StatusOr<QueueSpec> Make(const KernelConstruction& construction);

  std::string kind;                  // The op that makes it, without "V2".
  int64_t capacity = kUnlimited;     // Elements.
  std::vector<DType> types;          // Of the components; the keys of a PriorityQueue are the first of them.
  std::vector<PartialShape> shapes;  // Of the components; empty: any.
  int64_t min_after_dequeue = 0;
  int64_t seed = 0, seed2 = 0;  // Of a RandomShuffleQueue; if both are 0, the seed is random.

  // Whether elements taken together are padded to one shape.
  bool pads() const { return kind == "PaddingFIFOQueue"; }
  // kOpShape unless several elements may be taken together: all shapes are known, or are padded.
  absl::Status CheckStackable() const;
  // kResourceType unless a node that says `other` may share this queue.
  absl::Status CheckSame(const QueueSpec& other) const;
  // kResourceType unless these are the dtypes of the components.
  absl::Status CheckTypes(absl::Span<const DType> found) const;
  // kOpShapes unless `components` make an element, or with `has_rows` one element for each row. REQUIRES: as many as
  // there are types. `first_input`: of the node, which the first component is.
  absl::Status CheckShapes(absl::Span<const Tensor> components, bool has_rows, int first_input = 1) const;
  std::string ToString() const;
};

// Returns kOpAttr if attr timeout_ms requests a timeout: these are not implemented, as in TensorFlow.
absl::Status CheckNoTimeout(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_QUEUE_SPEC_H_
