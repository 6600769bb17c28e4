#include "kernels/lists/nested_tensors.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/variant.h"
#include "kernels/dtype_set.h"
#include "kernels/input_error.h"
#include "kernels/state/tensor_update.h"
#include "kernels/variant_functions.h"

namespace sluice {
namespace {

// Lists hold lists: each level is a level of calls. Deeper than any program, far from the end of the stack.
constexpr int kMaxDepth = 100;

// One level, as long as it lives.
class Level {
 public:
  Level() { ++depth(); }
  ~Level() { --depth(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  static absl::Status Check() {
    if (depth() <= kMaxDepth) return absl::OkStatus();
    return Error(ErrorCode::kOpUnimplemented)
        .Found(absl::StrCat("variants inside of variants, ", depth(), " deep"))
        .Expected(absl::StrCat("at most ", kMaxDepth));
  }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

absl::Status NotForType(DType dtype, absl::string_view what) {
  return ValueError(absl::StrCat("elements of ", DTypeName(dtype)), what);
}

}  // namespace

absl::StatusOr<Tensor> SumOf(const KernelContext& context, const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) {
    return ShapesError(absl::StrCat("elements ", a.shape().ToString(), " and ", b.shape().ToString()), "equal shapes");
  }
  if (a.dtype() != DType::kVariant) {
    if (!kNumberTypes.Contains(a.dtype())) return NotForType(a.dtype(), "numbers, to be added");
    Tensor sum = a;
    Tensor old;
    SLUICE_RETURN_IF_ERROR(UpdateTensor(sum, DenseUpdate::kAdd, b, context.allocator(), &old));
    return sum;
  }
  const Level level;
  SLUICE_RETURN_IF_ERROR(Level::Check());
  SLUICE_ASSIGN_OR_RETURN(Tensor sum, Tensor::Make(DType::kVariant, a.shape(), context.allocator()));
  const absl::Span<Variant> sums = sum.flat<Variant>();
  for (size_t i = 0; i < sums.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(sums[i], AddVariants(context, a.flat<Variant>()[i], b.flat<Variant>()[i]));
  }
  return sum;
}

absl::StatusOr<Tensor> ZerosOf(const KernelContext& context, const Tensor& value) {
  if (IsTrivial(value.dtype())) return Tensor::MakeZeros(value.dtype(), value.shape(), context.allocator());
  if (value.dtype() != DType::kVariant) return NotForType(value.dtype(), "a dtype that has zeros");
  const Level level;
  SLUICE_RETURN_IF_ERROR(Level::Check());
  SLUICE_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Make(DType::kVariant, value.shape(), context.allocator()));
  const absl::Span<Variant> elements = zeros.flat<Variant>();
  for (size_t i = 0; i < elements.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(elements[i], ZerosLikeVariant(context, value.flat<Variant>()[i]));
  }
  return zeros;
}

}  // namespace sluice
