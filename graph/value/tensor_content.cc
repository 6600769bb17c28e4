#include "graph/value/tensor_content.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "graph/value/tensor_proto_fields.h"

namespace sluice {

absl::StatusOr<TensorContent> FindTensorContent(absl::string_view proto, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(tensor_proto::Parsed parsed, tensor_proto::ParseTensor(proto, 0, limits));
  TensorContent content;
  content.dtype = parsed.dtype;
  content.shape = std::move(parsed.shape);
  if (parsed.has_content && IsTrivial(parsed.dtype)) content.bytes = parsed.content;
  return content;
}

}  // namespace sluice
