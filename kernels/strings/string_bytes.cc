// Bytes in strings: DecodeRaw, ParseTensor, SerializeTensor.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"
#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/byte_order.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

constexpr DTypeSet kPlainTypes = kNumberTypes | kQuantizedTypes | DTypeSet{DType::kBool};
constexpr DTypeSet kRawTypes =
    kFloatTypes | kComplexTypes | kSignedTypes | DTypeSet{DType::kUInt8, DType::kUInt16, DType::kBool};

// The numbers whose bytes the strings are, along a new last axis.
class DecodeRawKernel : public Kernel {
 public:
  explicit DecodeRawKernel(bool little_endian) : little_endian_(little_endian) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const absl::Span<const TString> texts = input.flat<TString>();
    const size_t bytes = texts.empty() ? 0 : texts[0].size();
    const size_t size = DTypeSize(context.output_type(0));
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].size() == bytes) continue;
      return ValueError(0, "", absl::StrCat(texts[i].size(), " bytes in element ", i),
                        absl::StrCat(bytes, ", as in the first one"));
    }
    if (bytes % size != 0) {
      return ValueError(0, "", absl::StrCat("strings of ", bytes, " bytes"), absl::StrCat("a multiple of ", size));
    }
    std::vector<int64_t> dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.push_back(static_cast<int64_t>(bytes / size));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    char* const to = static_cast<char*>(out->mutable_raw_data());
    for (size_t i = 0; i < texts.size() && bytes > 0; ++i) std::memcpy(to + i * bytes, texts[i].data(), bytes);
    if (!little_endian_) SwapByteOrder(out->dtype(), to, out->total_bytes());
    if (out->dtype() == DType::kBool) {
      for (size_t i = 0; i < out->total_bytes(); ++i) to[i] = to[i] != 0 ? 1 : 0;
    }
    return absl::OkStatus();
  }

 private:
  const bool little_endian_;
};

absl::Status ParseTensor(KernelContext& context) {
  const Tensor& input = context.input(0);
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, ""));
  absl::StatusOr<Tensor> parsed = DecodeTensorProto(input.flat<TString>()[0].view());
  if (!parsed.ok()) return parsed.status();
  if (parsed->dtype() != context.output_type(0)) {
    return ValueError(0, "", absl::StrCat("a tensor of ", DTypeName(parsed->dtype())),
                      DTypeName(context.output_type(0)));
  }
  context.SetOutput(0, *std::move(parsed));
  return absl::OkStatus();
}

// The bytes of a TensorProto that holds the tensor: those that TensorFlow writes.
absl::Status SerializeTensor(KernelContext& context) {
  const Tensor& input = context.input(0);
  const bool is_text = input.dtype() == DType::kString;
  const int64_t size = static_cast<int64_t>(input.total_bytes()) + (is_text ? TotalBytes(input) : 0);
  SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, size));
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Int(1, static_cast<int64_t>(input.dtype()));
  const size_t shape = writer.BeginMessage(2);
  WriteShapeProto(input.shape(), &writer);
  writer.EndMessage(shape);
  if (is_text) {
    for (const TString& text : input.flat<TString>()) writer.Bytes(8, text.view());
  } else if (input.num_elements() > 0) {
    writer.Bytes(4, input.bytes());
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape()));
  out->flat<TString>()[0].assign(bytes);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("DecodeRaw", FromAttr<DecodeRawKernel, bool>("little_endian")).Types("out_type", kRawTypes),
    KernelRow("ParseTensor", &Call<ParseTensor>).Types("out_type", kPlainTypes | DTypeSet{DType::kString}),
    KernelRow("SerializeTensor", &Call<SerializeTensor>).Types("T", kPlainTypes | DTypeSet{DType::kString}),
};

}  // namespace

absl::Span<const KernelRow> StringBytesKernels() { return kRows; }

}  // namespace sluice
