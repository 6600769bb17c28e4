#include "kernels/lists/variant_inputs.h"

#include <string>

#include "graph/base/error.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<Tensor> VariantTensor(Variant value, Allocator& allocator) {
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kVariant, Shape(), allocator));
  tensor.flat<Variant>()[0] = std::move(value);
  return tensor;
}

absl::StatusOr<const Variant*> ScalarVariantInput(const KernelContext& context, int i) {
  const Tensor& input = context.input(i);
  if (input.dtype() == DType::kVariant && input.rank() == 0) return &input.flat<Variant>()[0];
  return ShapeError(i, "", input.shape(), "a scalar variant");
}

absl::Status WrongVariant(const Variant& value, int i, absl::string_view expected) {
  return ValueError(
      i, "", value.has_value() ? PrintableName(value.type_name()) : std::string("a variant without a value"), expected);
}

}  // namespace sluice
