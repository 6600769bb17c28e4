#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/state/families.h"
#include "kernels/state/tensor_array.h"

namespace sluice {
namespace {

// Makes an array: a new one in each step and each iteration.
class TensorArrayKernel : public Kernel {
 public:
  TensorArrayKernel(std::string name, TensorArray::Options options)
      : name_(std::move(name)), options_(std::move(options)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    TensorArray::Options options;
    SLUICE_ASSIGN_OR_RETURN(options.dtype, construction.Get<DType>("dtype"));
    SLUICE_ASSIGN_OR_RETURN(options.dynamic_size, construction.Get<bool>("dynamic_size"));
    SLUICE_ASSIGN_OR_RETURN(options.clear_after_read, construction.Get<bool>("clear_after_read"));
    SLUICE_ASSIGN_OR_RETURN(options.element_shape, construction.Get<PartialShape>("element_shape"));
    if (construction.HasAttr("identical_element_shapes")) {
      SLUICE_ASSIGN_OR_RETURN(options.identical_element_shapes, construction.Get<bool>("identical_element_shapes"));
    }
    SLUICE_ASSIGN_OR_RETURN(std::string name, construction.Get<std::string>("tensor_array_name"));
    if (name.empty()) name = std::string(construction.name());
    return std::make_unique<TensorArrayKernel>(std::move(name), std::move(options));
  }

  absl::Status Compute(KernelContext& context) const override {
    TensorArray::Options options = options_;
    SLUICE_ASSIGN_OR_RETURN(options.size, ReadScalar(context, 0, "size"));
    if (options.size < 0 || options.size > TensorArray::kMaxSize) {
      return ValueError(0, "size", options.size, absl::StrCat("0 to ", TensorArray::kMaxSize));
    }
    CountedPtr<TensorArray> array =
        MakeCounted<TensorArray>(StepUniqueName(context, name_), std::move(options), context.allocator());
    SLUICE_RETURN_IF_ERROR(CloseAtStepEnd(context, array->dtype(), array));
    SLUICE_RETURN_IF_ERROR(SetStepHandle(context, 0, std::move(array)));
    if (context.num_outputs() > 1) context.SetScalar(1, 0.0f);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::string name_;
  const TensorArray::Options options_;
};

// The array that gradients of another are added up in: one for each source.
class TensorArrayGradKernel : public Kernel {
 public:
  explicit TensorArrayGradKernel(std::string source) : source_(std::move(source)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(std::string source, construction.Get<std::string>("source"));
    if (source.empty()) return Error(ErrorCode::kOpAttr).Attr("source").Expected("a name");
    return std::make_unique<TensorArrayGradKernel>(std::move(source));
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
    Shape prefix;
    if (context.num_inputs() > 2) {
      SLUICE_ASSIGN_OR_RETURN(prefix, ReadShapeInput(context, 2, "shape_to_prepend"));
    }
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> gradient, array->Gradient(source_, prefix));
    SLUICE_RETURN_IF_ERROR(SetStepHandle(context, 0, gradient));
    if (context.num_outputs() > 1) context.SetOutput(1, context.TakeInput(1));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::string source_;
};

absl::Status ComputeWrite(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
  SLUICE_ASSIGN_OR_RETURN(const int64_t index, ReadScalar(context, 1, "index"));
  Tensor value = context.TakeInput(2);
  SLUICE_RETURN_IF_ERROR(array->Write({index}, absl::MakeSpan(&value, 1), context.allocator()));
  context.SetOutput(0, context.TakeInput(3));
  return absl::OkStatus();
}

absl::Status ComputeRead(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
  SLUICE_ASSIGN_OR_RETURN(const int64_t index, ReadScalar(context, 1, "index"));
  SLUICE_RETURN_IF_ERROR(array->CheckDType(context.output_type(0)));
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, array->Read({index}, context.allocator()));
  context.SetOutput(0, std::move(values[0]));
  return absl::OkStatus();
}

absl::Status ComputeSize(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
  SLUICE_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  context.SetScalar(0, static_cast<int32_t>(size));
  return absl::OkStatus();
}

absl::Status ComputeClose(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
  array->Close();
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("TensorArray", &New<TensorArrayKernel>),
    KernelRow("TensorArrayV2", &New<TensorArrayKernel>),
    KernelRow("TensorArrayV3", &New<TensorArrayKernel>),
    KernelRow("TensorArrayGrad", &New<TensorArrayGradKernel>).Shared(Sharing::kEqualNodes),
    KernelRow("TensorArrayGradV2", &New<TensorArrayGradKernel>).Shared(Sharing::kEqualNodes),
    KernelRow("TensorArrayGradV3", &New<TensorArrayGradKernel>),
    KernelRow("TensorArrayGradWithShape", &New<TensorArrayGradKernel>),
    KernelRow("TensorArrayWrite", &Call<ComputeWrite>).Cheap(),
    KernelRow("TensorArrayWriteV2", &Call<ComputeWrite>).Cheap(),
    KernelRow("TensorArrayWriteV3", &Call<ComputeWrite>).Cheap(),
    KernelRow("TensorArrayRead", &Call<ComputeRead>).Cheap(),
    KernelRow("TensorArrayReadV2", &Call<ComputeRead>).Cheap(),
    KernelRow("TensorArrayReadV3", &Call<ComputeRead>).Cheap(),
    KernelRow("TensorArraySize", &Call<ComputeSize>).Cheap(),
    KernelRow("TensorArraySizeV2", &Call<ComputeSize>).Cheap(),
    KernelRow("TensorArraySizeV3", &Call<ComputeSize>).Cheap(),
    KernelRow("TensorArrayClose", &Call<ComputeClose>).Cheap(),
    KernelRow("TensorArrayCloseV2", &Call<ComputeClose>).Cheap(),
    KernelRow("TensorArrayCloseV3", &Call<ComputeClose>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> TensorArrayKernels() { return kRows; }

}  // namespace sluice
