#include "kernels/linalg/matmul_call.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/dispatch.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/products.h"
#include "kernels/memory/file_tensor.h"

namespace sluice {
namespace {

using GemmTypes = TypeList<float, double>;
using PlainTypes = Join<IntegerCppTypes, ComplexCppTypes>;
using ProductTypes = Join<GemmTypes, PlainTypes>;

bool IsShortFloat(DType t) { return t == DType::kHalf || t == DType::kBFloat16; }
bool IsByte(DType t) { return t == DType::kInt8 || t == DType::kUInt8; }

bool HasFloatWeights(const KernelConstruction& construction) {
  const DType t = construction.input_type(1);
  return t == DType::kFloat || t == DType::kDouble || IsShortFloat(t);
}

}  // namespace

MatMulCall::MatMulCall(const KernelConstruction& construction, const MatMulForm& form, bool conjugate)
    : form_(form),
      conjugate_(conjugate),
      weights_(HasFloatWeights(construction) && construction.InputIsConstant(1) ? std::make_unique<ConstantWeights>()
                                                                                : nullptr) {}

PackedOperand MatMulCall::PackedWeights(const KernelContext& context, const MatMulShape& shape, const Tensor& b) const {
  if (weights_ == nullptr || b.rank() != 2) return {};
  // Weights in a file are packed for every product, also for one row, so that the bits of a result do not depend on
  // earlier calls.
  if (IsInFile(b)) return weights_->Get(b, form_.transpose_b, shape.size, nullptr);
  if (!GainsFromPacking(shape, form_.transpose_b)) return {};
  return weights_->Get(b, form_.transpose_b, shape.size, context.run().gemm_plugin);
}

template <typename T>
absl::Status MatMulCall::MultiplyAs(KernelContext& context, const MatMulShape& shape, const Tensor& a, const Tensor& b,
                                    Tensor* output, const GemmEpilogue<float>* epilogue) const {
  Products<T> products = {&shape,
                          form_,
                          conjugate_,
                          a.flat<T>().data(),
                          b.has_value() ? b.flat<T>().data() : nullptr,
                          output->flat<T>().data(),
                          nullptr};
  if constexpr (std::is_same_v<T, float>) products.epilogue = epilogue;
  if constexpr (std::is_floating_point_v<T>) {
    // Weights are recognised by the input itself, not by a converted copy.
    const Tensor& weights = context.input(1);
    const bool is_converted = b.has_value() && b.dtype() != weights.dtype();
    return MultiplyFloats(context, products, is_converted ? PackedOperand() : PackedWeights(context, shape, weights));
  } else {
    return MultiplyPlain(context, products);
  }
}

absl::Status MatMulCall::MultiplyConverted(KernelContext& context, const MatMulShape& shape, const Tensor& b,
                                           Tensor* output) const {
  const Tensor& a = context.input(0);
  if (output->dtype() == DType::kInt32 && IsByte(a.dtype()) && IsByte(b.dtype())) {
    SLUICE_ASSIGN_OR_RETURN(const Tensor a_ints, ToInts(a, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const Tensor b_ints, ToInts(b, context.allocator()));
    return MultiplyAs<int32_t>(context, shape, a_ints, b_ints, output);
  }
  const bool takes = (IsShortFloat(a.dtype()) || a.dtype() == DType::kFloat) &&
                     (IsShortFloat(b.dtype()) || b.dtype() == DType::kFloat);
  const bool gives = IsShortFloat(output->dtype()) || output->dtype() == DType::kFloat;
  if (!takes || !gives) {
    return Error(ErrorCode::kOpUnimplemented)
        .Found(absl::StrCat(DTypeName(a.dtype()), " and ", DTypeName(b.dtype()), " to ", DTypeName(output->dtype())))
        .Text("there is no product of these dtypes");
  }
  // Sums are made in float and rounded once.
  SLUICE_ASSIGN_OR_RETURN(const Tensor a_floats, ToFloats(a, context.allocator()));
  Tensor b_floats;  // Without a value where the packed weights serve.
  if (IsShortFloat(b.dtype()) && PackedWeights(context, shape, b).data == nullptr) {
    SLUICE_ASSIGN_OR_RETURN(b_floats, ToFloats(b, context.allocator()));
  } else if (!IsShortFloat(b.dtype())) {
    b_floats = b;
  }
  if (output->dtype() == DType::kFloat) return MultiplyAs<float>(context, shape, a_floats, b_floats, output);
  SLUICE_ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DType::kFloat, shape.output));
  SLUICE_RETURN_IF_ERROR(MultiplyAs<float>(context, shape, a_floats, b_floats, &sums));
  RoundFloats(sums, output);
  return absl::OkStatus();
}

absl::StatusOr<Tensor*> MatMulCall::Compute(KernelContext& context, const GemmEpilogue<float>* epilogue) const {
  const Tensor& a = context.input(0);
  const Tensor& weights = context.input(1);
  MatMulShape shape;
  SLUICE_RETURN_IF_ERROR(ResolveMatMul(form_, a.shape(), weights.shape(), &shape));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape.output));
  if (output->num_elements() == 0) return output;
  const DType dtype = output->dtype();
  const bool converts = a.dtype() != dtype || weights.dtype() != dtype || IsShortFloat(dtype);
  Tensor copy;
  if (IsInFile(weights) && (converts || PackedWeights(context, shape, weights).data == nullptr)) {
    SLUICE_ASSIGN_OR_RETURN(copy, CopyFromFile(weights));
  }
  const Tensor& b = copy.has_value() ? copy : weights;
  if (converts) {
    SLUICE_RETURN_IF_ERROR(MultiplyConverted(context, shape, b, output));
    return output;
  }
  absl::Status status;
  const bool found = DispatchDType<ProductTypes>(dtype, [&](auto type) {
    status = MultiplyAs<typename decltype(type)::Type>(context, shape, a, b, output, epilogue);
  });
  if (!found)
    return Error(ErrorCode::kOpUnimplemented).Found(DTypeName(dtype)).Text("there is no product of this dtype");
  SLUICE_RETURN_IF_ERROR(status);
  return output;
}

}  // namespace sluice
