// Bytes -> TensorProto -> tensor. What passes inspection decodes; what decodes encodes, and back to the same elements.

#include <string>

#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/value/tensor_proto.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;  // NOLINT: the function must stand outside.
  const absl::string_view bytes = FuzzBytes(data, size);
  const absl::StatusOr<TensorProtoInfo> info = InspectTensorProto(bytes, FuzzLimits());
  DecodeTensorOptions options;
  options.limits = FuzzLimits();
  const absl::StatusOr<Tensor> tensor = DecodeTensorProto(bytes, options);
  SLUICE_CHECK(info.ok() || !tensor.ok());
  if (!tensor.ok()) {
    const bool unknown_variant = info.ok() && info->dtype == DType::kVariant;
    SLUICE_CHECK(!info.ok() || unknown_variant);
    return 0;
  }
  SLUICE_CHECK(tensor->dtype() == info->dtype && tensor->shape() == info->shape);
  SLUICE_CHECK(!tensor->ToString().empty());
  const absl::StatusOr<std::string> encoded = EncodeTensorProto(*tensor);
  if (!encoded.ok()) return 0;
  const absl::StatusOr<Tensor> again = DecodeTensorProto(*encoded, options);
  SLUICE_CHECK(again.ok() && again->dtype() == tensor->dtype() && again->shape() == tensor->shape());
  SLUICE_CHECK(EncodeTensorProto(*again).value() == *encoded);
  return 0;
}
