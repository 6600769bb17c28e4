#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/lists/families.h"
#include "kernels/lists/optional.h"
#include "kernels/lists/variant_inputs.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

absl::StatusOr<const Optional*> OptionalInput(const KernelContext& context) {
  return VariantInput<Optional>(context, 0, "an Optional");
}

absl::Status ComputeNone(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(Tensor none, VariantTensor(Variant(MakeCounted<Optional>()), context.allocator()));
  context.SetOutput(0, std::move(none));
  return absl::OkStatus();
}

absl::Status ComputeFromValue(KernelContext& context) {
  std::vector<Tensor> components;
  components.reserve(static_cast<size_t>(context.num_inputs()));
  for (int i = 0; i < context.num_inputs(); ++i) components.push_back(context.TakeInput(i));
  SLUICE_ASSIGN_OR_RETURN(Tensor some,
                          VariantTensor(Variant(MakeCounted<Optional>(std::move(components))), context.allocator()));
  context.SetOutput(0, std::move(some));
  return absl::OkStatus();
}

absl::Status ComputeHasValue(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Optional* const optional, OptionalInput(context));
  context.SetScalar(0, optional->has_value());
  return absl::OkStatus();
}

// The components, which must be as the attrs say.
class GetValueKernel : public Kernel {
 public:
  explicit GetValueKernel(std::vector<PartialShape> shapes) : shapes_(std::move(shapes)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Optional* const optional, OptionalInput(context));
    if (!optional->has_value()) return ValueError(0, "optional", "none", "a value");
    // A copy: outputs may be the last to keep the optional.
    const std::vector<Tensor> components = optional->components();
    const size_t count = static_cast<size_t>(context.num_outputs());
    if (components.size() != count || shapes_.size() != count) {
      return ValueError(0, "optional", absl::StrCat(components.size(), " components"),
                        absl::StrCat(count, " dtypes, ", shapes_.size(), " shapes"));
    }
    for (size_t i = 0; i < count; ++i) {
      const DType dtype = context.output_type(static_cast<int>(i));
      if (components[i].dtype() == dtype && shapes_[i].IsCompatibleWith(components[i].shape())) continue;
      return ValueError(
          0, "optional",
          absl::StrCat(DTypeName(components[i].dtype()), " ", components[i].shape().ToString(), " as component ", i),
          absl::StrCat(DTypeName(dtype), " ", shapes_[i].ToString()));
    }
    for (size_t i = 0; i < count; ++i) context.SetOutput(static_cast<int>(i), components[i]);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::vector<PartialShape> shapes_;
};

constexpr KernelRow kRows[] = {
    KernelRow("OptionalNone", &Call<ComputeNone>).Cheap(),
    KernelRow("OptionalFromValue", &Call<ComputeFromValue>).Cheap(),
    KernelRow("OptionalHasValue", &Call<ComputeHasValue>).Cheap(),
    KernelRow("OptionalGetValue", FromAttr<GetValueKernel, std::vector<PartialShape>>("output_shapes")),
};

}  // namespace

absl::Span<const KernelRow> OptionalKernels() {
  // Once in the process. A host program that has given the type functions of its own keeps them.
  static const absl::Status added = AddVariantFunctions(OptionalFunctions());
  added.IgnoreError();
  return kRows;
}

}  // namespace sluice
