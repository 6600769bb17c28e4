#ifndef SLUICE_GRAPH_SHAPES_STRIDED_SLICE_H_
#define SLUICE_GRAPH_SHAPES_STRIDED_SLICE_H_

#include <vector>

#include "graph/shapes/inference_context.h"

namespace sluice {

// One dimension of a strided slice's input, or (axis -1) a new dimension of size 1.
struct SliceAxis {
  int axis = -1;
  bool shrunk = false;            // Leaves the output.
  int64_t begin = kUnknownValue;  // First element taken, once clamped; unknown if only the run decides it.
  int64_t stride = kUnknownValue;
  int64_t size = kUnknownDim;  // Elements taken.
};

// What StridedSlice and its relatives take of a tensor of shape `shape`: begin, end and strides come from inputs
// `first`, `first` + 1 and `first` + 2, masks from the attrs. Leaves *axes empty, and *known false, when the rank or
// the number of specs is unknown. kShapeValue for what the kernel refuses.
absl::Status ResolveStridedSlice(const InferenceContext& c, const PartialShape& shape, int first,
                                 std::vector<SliceAxis>* axes, bool* known);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_STRIDED_SLICE_H_
