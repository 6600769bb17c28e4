#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/value/tstring.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/histogram.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// Fields of Summary and of its Value.
constexpr uint32_t kValue = 1;
constexpr uint32_t kTag = 1, kSimpleValue = 2, kHistogram = 5, kNodeName = 7, kTensor = 8, kMetadata = 9;

void WriteTag(absl::string_view tag, WireWriter* writer) {
  if (!tag.empty()) writer->Bytes(kTag, tag);
}

// Calls `add(i, value)` with each element as a double, until that says false.
template <typename Add>
void ForEachNumber(const Tensor& numbers, Add&& add) {
  DispatchDType<RealCppTypes>(numbers.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const absl::Span<const T> values = numbers.flat<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      double number = 0;
      if constexpr (std::is_arithmetic_v<T>) {
        number = static_cast<double>(values[i]);
      } else {
        number = static_cast<double>(static_cast<float>(values[i]));
      }
      if (!add(i, number)) return;
    }
  });
}

// --- ScalarSummary -----------------------------------------------------------------------------------------------

absl::Status ComputeScalarSummary(KernelContext& context) {
  const Tensor& tags = context.input(0);
  const Tensor& values = context.input(1);
  if (tags.shape() != values.shape()) {
    return ShapesError(absl::StrCat("tags ", tags.shape().ToString(), " and values ", values.shape().ToString()),
                       "equal shapes");
  }
  std::string summary;
  WireWriter writer(&summary);
  ForEachNumber(values, [&](size_t i, double number) {
    const size_t mark = writer.BeginMessage(kValue);
    WriteTag(tags.flat<TString>()[i].view(), &writer);
    writer.Float(kSimpleValue, static_cast<float>(number));
    writer.EndMessage(mark);
    return true;
  });
  context.SetOutput(0, Tensor::String(summary));
  return absl::OkStatus();
}

// --- HistogramSummary --------------------------------------------------------------------------------------------

absl::Status ComputeHistogramSummary(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "tag"));
  Histogram histogram;
  double bad = 0;
  bool is_finite = true;
  ForEachNumber(context.input(1), [&](size_t, double number) {
    is_finite = std::isfinite(number);
    if (is_finite) {
      histogram.Add(number);
    } else {
      bad = number;
    }
    return is_finite;
  });
  if (!is_finite) return ValueError(1, "values", std::isnan(bad) ? "NaN" : "an infinity", "finite numbers");
  std::string summary;
  WireWriter writer(&summary);
  const size_t mark = writer.BeginMessage(kValue);
  WriteTag(context.input(0).flat<TString>()[0].view(), &writer);
  writer.Bytes(kHistogram, histogram.Encode());
  writer.EndMessage(mark);
  context.SetOutput(0, Tensor::String(summary));
  return absl::OkStatus();
}

// --- TensorSummary, TensorSummaryV2 ------------------------------------------------------------------------------

// A TensorProto with its elements as bytes, as TensorFlow writes it here whatever their number.
void WriteTensor(const Tensor& tensor, WireWriter* writer) {
  constexpr uint32_t kType = 1, kShape = 2, kContent = 4, kStrings = 8, kDim = 2, kSize = 1;
  const size_t mark = writer->BeginMessage(kTensor);
  writer->Int(kType, static_cast<int64_t>(tensor.dtype()));
  const size_t shape_mark = writer->BeginMessage(kShape);
  for (const int64_t size : tensor.shape().dims()) {
    const size_t dim_mark = writer->BeginMessage(kDim);
    if (size != 0) writer->Int(kSize, size);
    writer->EndMessage(dim_mark);
  }
  writer->EndMessage(shape_mark);
  if (tensor.dtype() == DType::kString) {
    for (const TString& text : tensor.flat<TString>()) writer->Bytes(kStrings, text.view());
  } else if (tensor.total_bytes() > 0) {
    writer->Bytes(kContent, tensor.bytes());
  }
  writer->EndMessage(mark);
}

absl::Status CheckTensorText(const KernelContext& context, const Tensor& tensor) {
  const int64_t own = static_cast<int64_t>(tensor.total_bytes());
  return CheckTextMemory(context, own + (tensor.dtype() == DType::kString ? TotalBytes(tensor) : 0));
}

// Early summaries name the node instead of a tag.
class TensorSummaryKernel : public Kernel {
 public:
  explicit TensorSummaryKernel(std::string node) : node_(std::move(node)) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    return std::make_unique<TensorSummaryKernel>(std::string(construction.name()));
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckTensorText(context, context.input(0)));
    std::string summary;
    WireWriter writer(&summary);
    const size_t mark = writer.BeginMessage(kValue);
    writer.Bytes(kNodeName, node_);
    WriteTensor(context.input(0), &writer);
    writer.EndMessage(mark);
    context.SetOutput(0, Tensor::String(summary));
    return absl::OkStatus();
  }

 private:
  const std::string node_;
};

// Whether `bytes` are a message.
bool IsMessage(absl::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
  }
  return reader.ok();
}

absl::Status ComputeTensorSummaryV2(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "tag"));
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "serialized_summary_metadata"));
  const absl::string_view metadata = context.input(2).flat<TString>()[0].view();
  if (!IsMessage(metadata)) {
    return Error(ErrorCode::kOpValue).Input(2, "serialized_summary_metadata").Expected("a SummaryMetadata message");
  }
  SLUICE_RETURN_IF_ERROR(CheckTensorText(context, context.input(1)));
  std::string summary;
  WireWriter writer(&summary);
  const size_t mark = writer.BeginMessage(kValue);
  WriteTag(context.input(0).flat<TString>()[0].view(), &writer);
  WriteTensor(context.input(1), &writer);
  writer.Bytes(kMetadata, metadata);
  writer.EndMessage(mark);
  context.SetOutput(0, Tensor::String(summary));
  return absl::OkStatus();
}

// --- MergeSummary ------------------------------------------------------------------------------------------------

// The values of several summaries in one, a tag at most once.
class SummaryMerger {
 public:
  // False where `summary` is malformed.
  absl::StatusOr<bool> Add(absl::string_view summary) {
    WireReader reader(summary);
    while (reader.Next()) {
      if (reader.tag() == WireTag(kValue, WireType::kBytes)) {
        std::string tag;
        WireReader value = reader.Message();
        while (value.Next()) {
          if (value.tag() == WireTag(kTag, WireType::kBytes)) tag.assign(value.bytes().data(), value.bytes().size());
        }
        if (!value.ok()) return false;
        if (!tag.empty() && !tags_.insert(tag).second) {
          return Error(ErrorCode::kOpValue).Found(absl::StrCat("tag '", PrintableName(tag), "' twice"));
        }
      }
      merged_.append(reader.raw().data(), reader.raw().size());
    }
    return reader.ok();
  }
  const std::string& merged() const { return merged_; }

 private:
  std::string merged_;
  HashSet<std::string> tags_;
};

absl::Status ComputeMergeSummary(KernelContext& context) {
  SummaryMerger merger;
  for (int i = 0; i < context.num_inputs(); ++i) {
    for (const TString& summary : context.input(i).flat<TString>()) {
      SLUICE_ASSIGN_OR_RETURN(const bool is_summary, merger.Add(summary.view()));
      if (!is_summary) return Error(ErrorCode::kOpValue).Input(i, "inputs").Expected("serialized Summary messages");
    }
  }
  SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, static_cast<int64_t>(merger.merged().size())));
  context.SetOutput(0, Tensor::String(merger.merged()));
  return absl::OkStatus();
}

constexpr DTypeSet kEncodedTypes = kNumberTypes | kQuantizedTypes | DTypeSet{DType::kBool, DType::kString};

constexpr KernelRow kRows[] = {
    KernelRow("HistogramSummary", &Call<ComputeHistogramSummary>).Types("T", kRealTypes),
    KernelRow("MergeSummary", &Call<ComputeMergeSummary>),
    KernelRow("ScalarSummary", &Call<ComputeScalarSummary>).Types("T", kRealTypes),
    KernelRow("TensorSummary", &New<TensorSummaryKernel>).Types("T", kEncodedTypes),
    KernelRow("TensorSummaryV2", &Call<ComputeTensorSummaryV2>).Types("T", kEncodedTypes),
};

}  // namespace

absl::Span<const KernelRow> SummaryKernels() { return kRows; }

}  // namespace sluice
