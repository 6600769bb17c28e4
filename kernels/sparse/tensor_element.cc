#include "kernels/sparse/tensor_element.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "graph/wire/wire_writer.h"
#include "kernels/lists/tensor_value.h"

namespace sluice {
namespace {

constexpr int64_t kHeaderBytes = 32;  // Dtype, sizes and lengths.

// All lengths, then all characters: the content of a TensorProto of strings.
std::string TextContent(const Tensor& texts) {
  std::string content;
  WireWriter writer(&content);
  for (const TString& text : texts.flat<TString>()) writer.RawVarint(text.size());
  for (const TString& text : texts.flat<TString>()) content.append(text.data(), text.size());
  return content;
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

absl::StatusOr<Tensor> TakeTensor(const KernelContext& context, int input, int64_t i) {
  const Tensor& from = context.input(input);
  const size_t at = static_cast<size_t>(i);
  if (from.dtype() == DType::kVariant) {
    const Variant& value = from.flat<Variant>()[at];
    if (const TensorValue* const held = value.Get<TensorValue>()) return held->tensor();
    return Error(ErrorCode::kOpValue)
        .Input(input)
        .Found(value.has_value() ? absl::StrCat("a ", value.type_name(), " in element ", i)
                                 : absl::StrCat("no value in element ", i))
        .Expected("a tensor");
  }
  absl::StatusOr<Tensor> decoded = DecodeTensorProto(from.flat<TString>()[at].view());
  if (decoded.ok()) return decoded;
  return Error(ErrorCode::kOpValue)
      .Input(input)
      .Found(absl::StrCat("element ", i, ": ", decoded.status().message()))
      .Expected("the bytes of a tensor");
}

}  // namespace sluice
