#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/parsing/families.h"
#include "kernels/parsing/inflate.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// --- DecodeCompressed --------------------------------------------------------------------------------------------

// Unpacks strings, or hands them on where they are not compressed.
class DecodeCompressedKernel : public Kernel {
 public:
  DecodeCompressedKernel(bool is_plain, Compression compression) : is_plain_(is_plain), compression_(compression) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const std::string type, construction.Get<std::string>("compression_type"));
    if (type != "" && type != "ZLIB" && type != "GZIP") {
      return AttrError("compression_type", PrintableName(type), "ZLIB, GZIP or nothing");
    }
    return std::make_unique<DecodeCompressedKernel>(type.empty(),
                                                    type == "GZIP" ? Compression::kGzip : Compression::kZlib);
  }

  absl::Status Compute(KernelContext& context) const override {
    if (is_plain_) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
    const absl::Span<const TString> packed = input.flat<TString>();
    const absl::Span<TString> texts = output->flat<TString>();
    const double unit_ns = StringNs(input.num_elements(), TotalBytes(input), 20);
    return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) -> absl::Status {
      std::string text;
      size_t left = static_cast<size_t>(kMaxTextBytes);
      for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        text.clear();
        absl::Status status = Inflate(packed[i].view(), compression_, left, &text);
        if (status.code() == absl::StatusCode::kDataLoss) {
          return Error(ErrorCode::kOpDataLoss)
              .Input(0, "bytes")
              .Text(absl::StrCat("element ", i, ": ", status.message()));
        }
        SLUICE_RETURN_IF_ERROR(status);
        SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, static_cast<int64_t>(text.size())));
        left -= text.size();
        texts[i].assign(text);
      }
      return absl::OkStatus();
    });
  }

 private:
  const bool is_plain_;
  const Compression compression_;
};

// --- DecodePaddedRaw ---------------------------------------------------------------------------------------------

// Reads strings as numbers in rows of one length.
class DecodePaddedRawKernel : public Kernel {
 public:
  explicit DecodePaddedRawKernel(bool is_little_endian) : is_little_endian_(is_little_endian) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const int64_t length, ReadScalar(context, 1, "fixed_length"));
    const size_t width = DTypeSize(context.output_type(0));
    if (length <= 0 || static_cast<size_t>(length) % width != 0) {
      return ValueError(
          1, "fixed_length", length,
          absl::StrCat("a multiple of ", width, ", the size of ", DTypeName(context.output_type(0)), ", above 0"));
    }
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.push_back(length / static_cast<int64_t>(width));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    const absl::Span<const TString> texts = input.flat<TString>();
    char* const rows = static_cast<char*>(output->mutable_raw_data());
    const double unit_ns = 10 + 0.1 * static_cast<double>(length);
    return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        FillRow(texts[static_cast<size_t>(i)].view(), width, rows + i * length, static_cast<size_t>(length));
      }
      return absl::OkStatus();
    });
  }

 private:
  void FillRow(absl::string_view text, size_t width, char* row, size_t length) const {
    const size_t copied = std::min(text.size(), length);
    if (copied > 0) std::memcpy(row, text.data(), copied);
    std::memset(row + copied, 0, length - copied);
    if (is_little_endian_ || width == 1) return;
    for (size_t at = 0; at < length; at += width) std::reverse(row + at, row + at + width);
  }

  const bool is_little_endian_;
};

constexpr DTypeSet kRawTypes = {DType::kHalf,  DType::kFloat, DType::kDouble, DType::kInt32, DType::kUInt16,
                                DType::kUInt8, DType::kInt16, DType::kInt8,   DType::kInt64, DType::kBFloat16};

constexpr KernelRow kRows[] = {
    KernelRow("DecodeCompressed", &New<DecodeCompressedKernel>),
    KernelRow("DecodePaddedRaw", FromAttr<DecodePaddedRawKernel, bool>("little_endian")).Types("out_type", kRawTypes),
};

}  // namespace

absl::Span<const KernelRow> DecodeBytesKernels() { return kRows; }

}  // namespace sluice
