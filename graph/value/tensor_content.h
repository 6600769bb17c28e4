#ifndef SLUICE_GRAPH_VALUE_TENSOR_CONTENT_H_
#define SLUICE_GRAPH_VALUE_TENSOR_CONTENT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// The plain elements of a tensor, as encoded in its TensorProto.
struct TensorContent {
  DType dtype = DType::kInvalid;
  Shape shape;
  absl::string_view bytes;  // Of all elements, perhaps misaligned; empty if encoded in another way.
};

// Errors as of InspectTensorProto (tensor_proto.h).
absl::StatusOr<TensorContent> FindTensorContent(absl::string_view proto, const LoadLimits& limits = LoadLimits());

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_TENSOR_CONTENT_H_
