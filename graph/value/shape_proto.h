#ifndef SLUICE_GRAPH_VALUE_SHAPE_PROTO_H_
#define SLUICE_GRAPH_VALUE_SHAPE_PROTO_H_

// Shapes to and from the bytes of a TensorShapeProto.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/shape.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {

// The fields of a TensorShapeProto, unchecked.
struct RawShape {
  absl::InlinedVector<int64_t, 8> dims;
  bool unknown_rank = false;
};

// Adds the fields of `reader`'s message to `out`: a message given in parts is their concatenation. Stops with
// kTensorShape beyond kMaxRank dimensions, and with the wire's errors at damaged bytes.
absl::Status ReadShapeProto(WireReader reader, RawShape* out);

// The shape in `bytes`. INVALID_ARGUMENT for sizes below -1, more than 254 dimensions, overflow, and dimensions beside
// an unknown rank. `base_offset` is the offset of `bytes` in its file, for errors.
absl::StatusOr<PartialShape> DecodeShapeProto(absl::string_view bytes, size_t base_offset = 0);

// The bytes of `shape`; -1 stands for unknown sizes.
std::string EncodeShapeProto(const PartialShape& shape);
// Appends the fields of a known shape to a message that the caller has opened.
void WriteShapeProto(const Shape& shape, WireWriter* writer);

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_SHAPE_PROTO_H_
