#include <memory>
#include <utility>

#include "graph/base/error.h"
#include "graph/value/tensor_proto.h"
#include "kernels/control/constant_kernel.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/lists/families.h"
#include "kernels/lists/optional.h"
#include "kernels/lists/tensor_list.h"
#include "kernels/lists/tensor_map.h"
#include "kernels/lists/tensor_value.h"

namespace sluice {
namespace {

constexpr VariantCodec kCodecs[] = {
    {TensorList::kTypeName, &TensorList::Decode},
    {Optional::kTypeName, &Optional::Decode},
    {TensorMap::kTypeName, &TensorMap::Decode},
    {TensorValue::kTypeName, &TensorValue::Decode},
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeVariantConst(const KernelConstruction& construction) {
  AttrView attr;
  if (!construction.node().FindAttr("value", &attr)) return Error(ErrorCode::kAttrMissing).Attr("value");
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, attr.AsTensorBytes());
  DecodeTensorOptions options;
  options.variant_codecs = kCodecs;
  SLUICE_ASSIGN_OR_RETURN(Tensor value, DecodeTensorProto(bytes, options));
  if (value.dtype() == DType::kVariant) return std::make_unique<ConstantKernel>(std::move(value));
  return Error(ErrorCode::kTensorDType)
      .Attr("value")
      .Found(DTypeName(value.dtype()))
      .Expected("variant")
      .Text("differs from attr 'dtype'");
}

// Before the kernel of all constants (kernels/control), which knows no variants.
constexpr KernelRow kRows[] = {
    KernelRow("Const", &MakeVariantConst).Types("dtype", {DType::kVariant}).Priority(1),
};

}  // namespace

absl::Span<const KernelRow> VariantConstKernels() { return kRows; }

}  // namespace sluice
