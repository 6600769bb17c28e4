#include "kernels/array/bitcast.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/function_kernel.h"
#include "kernels/array/index_values.h"

namespace sluice {
namespace {

// The shape of the same bytes as elements of `size` bytes instead of `old_size`: a last dimension comes or goes.
absl::StatusOr<Shape> CastShape(const Shape& shape, size_t old_size, size_t size) {
  IndexVector dims(shape.dims().begin(), shape.dims().end());
  if (old_size > size) {
    dims.push_back(static_cast<int64_t>(old_size / size));
  } else if (old_size < size) {
    const int64_t ratio = static_cast<int64_t>(size / old_size);
    if (dims.empty() || dims.back() != ratio) {
      return Error(ErrorCode::kOpShape)
          .Input(0)
          .Found(shape.ToString())
          .Expected(absl::StrCat("a last dimension of ", ratio));
    }
    dims.pop_back();
  }
  return MakeShape(dims);
}

// Shares the buffer; values that lie in the tensor itself are copied.
absl::Status ComputeBitcast(KernelContext& context) {
  const Tensor& input = context.input(0);
  const DType dtype = context.output_type(0);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, CastShape(input.shape(), DTypeSize(input.dtype()), DTypeSize(dtype)));
  if (!input.IsInline()) {
    input.buffer()->Ref();
    SLUICE_ASSIGN_OR_RETURN(Tensor cast, Tensor::FromBuffer(dtype, shape, input.buffer(), input.buffer_offset()));
    context.SetOutput(0, std::move(cast));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (input.total_bytes() > 0) std::memcpy(output->mutable_raw_data(), input.raw_data(), input.total_bytes());
  return absl::OkStatus();
}

constexpr KernelDef kKernels[] = {
    {"Bitcast", &MakeFunctionKernel<ComputeBitcast, CostHint::kCheap>},
};

}  // namespace

absl::Span<const KernelDef> BitcastKernels() { return kKernels; }

}  // namespace sluice
