#ifndef SLUICE_GRAPH_VALUE_TENSOR_PROTO_H_
#define SLUICE_GRAPH_VALUE_TENSOR_PROTO_H_

// Tensors to and from the bytes of a TensorProto, without protobuf objects. Encodings of values:
// - `tensor_content`, the elements' bytes, wins where it is present and must then have exactly the right size. For
//   strings and variants it holds all lengths as varints, then all bytes.
// - Else the typed field of the dtype counts (`int_val` for all integers of up to 32 bits but uint32, `half_val` for
//   both 16-bit floats, two numbers for each complex one); others are ignored. Too few values are padded with the last
//   one, none at all means zeros, surplus ones are ignored (but for resource handles).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/limits.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "graph/value/variant.h"

namespace sluice {

// The facts of a TensorProto.
struct TensorProtoInfo {
  DType dtype = DType::kInvalid;
  Shape shape;
  // Bytes of the unpacked tensor, nested tensors and long strings included.
  int64_t memory_bytes = 0;
  // At most one value is encoded: all elements equal it (or zero).
  bool is_splat = false;
};

// Checks everything about the TensorProto in `bytes` without making the tensor: wire format, dtype, shape, numbers of
// values and bytes, handles, nesting of variants, and the memory that it would take. If it passes, it can be decoded,
// unless it holds a variant of a type unknown to the decoder. INVALID_ARGUMENT errors name the fact (kTensorDType,
// kTensorShape, kTensorContent, kTensorValue, kTensorKind, kTensorTooLarge, kLimitDepth); node and op are added by the
// caller. `base_offset` is the offset of `bytes` in its file, for errors.
absl::StatusOr<TensorProtoInfo> InspectTensorProto(absl::string_view bytes, const LoadLimits& limits = LoadLimits(),
                                                   size_t base_offset = 0);

struct DecodeTensorOptions {
  LoadLimits limits;
  // The known variant types; others are refused by name.
  absl::Span<const VariantCodec> variant_codecs;
  // Keeps the bytes alive. If set, large well-aligned `tensor_content` is shared, not copied, and read-only.
  std::shared_ptr<const void> owner;
  size_t base_offset = 0;
};

// The tensor in `bytes`. Everything is checked before memory is taken. Errors as above, and RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> DecodeTensorProto(absl::string_view bytes,
                                         const DecodeTensorOptions& options = DecodeTensorOptions());

struct EncodeTensorOptions {
  // Writes tensors whose elements are all equal as one value, and all-zero ones as none. -0 is not zero.
  bool compress_splats = true;
};

// The bytes of a TensorProto that decodes to `tensor`: single values in their typed field, others as tensor_content.
// UNIMPLEMENTED for variants that cannot be encoded. REQUIRES: tensor.has_value(), elements in host memory.
absl::StatusOr<std::string> EncodeTensorProto(const Tensor& tensor,
                                              const EncodeTensorOptions& options = EncodeTensorOptions());

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_TENSOR_PROTO_H_
