#include "graph/shapes/const_value.h"

#include <cstddef>

#include "graph/value/dtype.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor.h"
#include "graph/value/tensor_proto.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// Fields of TensorProto.
constexpr uint32_t kDType = 1, kTensorShape = 2;

// A scalar or matrix in more bytes than this is some oddity that is not worth walking for each reader.
constexpr size_t kMaxBytes = 16384;

// Dtype and shape of a TensorProto; its contents are not read.
struct TensorHeader {
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

TensorHeader ReadHeader(absl::string_view bytes) {
  TensorHeader header;
  RawShape raw;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(kDType, WireType::kVarint)) {
      header.dtype = DTypeFromNumber(static_cast<int64_t>(reader.varint()));
    } else if (reader.tag() == WireTag(kTensorShape, WireType::kBytes)) {
      if (!ReadShapeProto(reader.Message(), &raw).ok()) return {};
    }
  }
  absl::StatusOr<PartialShape> shape = PartialShape::Make(raw.dims);
  if (shape.ok() && !raw.unknown_rank) header.shape = *std::move(shape);
  return header;
}

// The tensor in `bytes` when it is small and of one of the dtypes from which anybody reads; else one without a value.
Tensor SmallTensor(absl::string_view bytes, int max_rank) {
  const TensorHeader header = ReadHeader(bytes);
  const int64_t count = header.shape.num_elements();
  const bool useful = header.dtype == DType::kInt32 || header.dtype == DType::kInt64 || header.dtype == DType::kFloat ||
                      header.dtype == DType::kDouble;
  if (!useful || count < 0 || count > static_cast<int64_t>(kMaxValueElements) || header.shape.rank() > max_rank) {
    return Tensor();
  }
  absl::StatusOr<Tensor> tensor = DecodeTensorProto(bytes);
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

// False for tensors that hold no integers.
bool ReadIntegers(const Tensor& tensor, std::vector<int64_t>* elements) {
  if (tensor.dtype() == DType::kInt32) {
    elements->assign(tensor.flat<int32_t>().begin(), tensor.flat<int32_t>().end());
  } else if (tensor.dtype() == DType::kInt64) {
    elements->assign(tensor.flat<int64_t>().begin(), tensor.flat<int64_t>().end());
  } else {
    return false;
  }
  return true;
}

}  // namespace

PartialShape ConstShape(AttrView attr) {
  const absl::StatusOr<absl::string_view> bytes = attr.AsTensorBytes();
  return bytes.ok() ? ReadHeader(*bytes).shape : PartialShape();
}

std::optional<ShapeValue> ConstIntegers(AttrView attr) {
  const absl::StatusOr<absl::string_view> bytes = attr.AsTensorBytes();
  if (!bytes.ok()) return std::nullopt;
  const Tensor tensor = SmallTensor(*bytes, 1);
  ShapeValue value;
  if (!ReadIntegers(tensor, &value.elements)) return std::nullopt;
  value.is_scalar = tensor.rank() == 0;
  return value;
}

std::vector<int64_t> ConstMatrix(AttrView attr) {
  const absl::StatusOr<absl::string_view> bytes = attr.AsTensorBytes();
  std::vector<int64_t> elements;
  if (!bytes.ok() || bytes->size() > kMaxBytes || !ReadIntegers(SmallTensor(*bytes, kMaxRank), &elements)) return {};
  return elements;
}

std::optional<double> ConstNumber(AttrView attr) {
  const absl::StatusOr<absl::string_view> bytes = attr.AsTensorBytes();
  if (!bytes.ok() || bytes->size() > kMaxBytes) return std::nullopt;
  const Tensor tensor = SmallTensor(*bytes, kMaxRank);
  if (!tensor.has_value() || tensor.num_elements() != 1) return std::nullopt;
  switch (tensor.dtype()) {
    case DType::kFloat:
      return tensor.flat<float>()[0];
    case DType::kDouble:
      return tensor.flat<double>()[0];
    case DType::kInt32:
      return tensor.flat<int32_t>()[0];
    case DType::kInt64:
      return static_cast<double>(tensor.flat<int64_t>()[0]);
    default:
      return std::nullopt;
  }
}

}  // namespace sluice
