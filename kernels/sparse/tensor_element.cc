#include "kernels/sparse/tensor_element.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/value/allocator.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "graph/wire/wire_writer.h"
#include "kernels/input_error.h"
#include "kernels/lists/tensor_value.h"

namespace sluice {
namespace {

constexpr int64_t kHeaderBytes = 32;                  // Dtype, sizes and lengths.
constexpr int64_t kLittleMemory = int64_t{64} << 10;  // Bytes below which the allocator is not asked.

// All lengths, then all characters: the content of a TensorProto of strings.
std::string TextContent(const Tensor& texts) {
  std::string content;
  WireWriter writer(&content);
  for (const TString& text : texts.flat<TString>()) writer.RawVarint(text.size());
  for (const TString& text : texts.flat<TString>()) content.append(text.data(), text.size());
  return content;
}

absl::Status NoTensor(int input, int64_t i, const absl::Status& why) {
  return ValueError(input, "", absl::StrCat("element ", i, ": ", why.message()), "the bytes of a tensor");
}

}  // namespace

int64_t WrittenBytes(const Tensor& tensor) {
  int64_t bytes = kHeaderBytes + 12 * tensor.rank() + static_cast<int64_t>(tensor.total_bytes());
  if (tensor.dtype() != DType::kString) return bytes;
  for (const TString& text : tensor.flat<TString>()) bytes += static_cast<int64_t>(text.size());
  return bytes;
}

void PutTensor(const Tensor& tensor, Tensor* out, int64_t i) {
  const size_t at = static_cast<size_t>(i);
  if (out->dtype() == DType::kVariant) {
    out->flat<Variant>()[at] = Variant(MakeCounted<TensorValue>(tensor));
    return;
  }
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Int(1, static_cast<int64_t>(tensor.dtype()));
  const size_t shape = writer.BeginMessage(2);
  WriteShapeProto(tensor.shape(), &writer);
  writer.EndMessage(shape);
  if (tensor.num_elements() > 0) {
    writer.Bytes(4, tensor.dtype() == DType::kString ? absl::string_view(TextContent(tensor)) : tensor.bytes());
  }
  out->flat<TString>()[at].assign(bytes);
}

absl::Status CheckElements(const KernelContext& context, int input) {
  const Tensor& from = context.input(input);
  if (from.dtype() != DType::kString) return absl::OkStatus();
  const int64_t limit = LoadLimits().max_tensor_bytes;
  const absl::Span<const TString> texts = from.flat<TString>();
  int64_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const absl::StatusOr<TensorProtoInfo> info = InspectTensorProto(texts[i].view());
    if (!info.ok()) return NoTensor(input, static_cast<int64_t>(i), info.status());
    if (!CheckedAdd(bytes, info->memory_bytes, &bytes)) bytes = std::numeric_limits<int64_t>::max();
    if (bytes > limit) break;
  }
  if (bytes <= kLittleMemory) return absl::OkStatus();
  const size_t size = static_cast<size_t>(bytes);
  void* const trial = bytes > limit ? nullptr : context.allocator().Allocate(size, kHostStream);
  if (trial == nullptr) {
    return Error(ErrorCode::kOutOfMemory)
        .Input(input)
        .Found(absl::StrCat("tensors of ", bytes, " bytes", bytes > limit ? " or more" : ""))
        .Expected(absl::StrCat("memory for them, and at most ", limit))
        .Text("holds tensors that are too large");
  }
  context.allocator().Free(trial, size, kHostStream);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TakeTensor(const KernelContext& context, int input, int64_t i) {
  const Tensor& from = context.input(input);
  const size_t at = static_cast<size_t>(i);
  if (from.dtype() == DType::kVariant) {
    const Variant& value = from.flat<Variant>()[at];
    if (const TensorValue* const held = value.Get<TensorValue>()) return held->tensor();
    return ValueError(input, "",
                      value.has_value() ? absl::StrCat("a ", value.type_name(), " in element ", i)
                                        : absl::StrCat("no value in element ", i),
                      "a tensor");
  }
  absl::StatusOr<Tensor> decoded = DecodeTensorProto(from.flat<TString>()[at].view());
  if (decoded.ok()) return decoded;
  return NoTensor(input, i, decoded.status());
}

}  // namespace sluice
