#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/buffer.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// The same bytes as another dtype. Elements of the two may differ in size: then a last axis appears or goes away.
class BitcastKernel : public Kernel {
 public:
  explicit BitcastKernel(DType to) : to_(to) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& x = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(x));
    if (!x.IsInline() && x.buffer_offset() % DTypeSize(to_) == 0) {
      Buffer* const buffer = x.buffer();
      buffer->Ref();
      SLUICE_ASSIGN_OR_RETURN(Tensor y, Tensor::FromBuffer(to_, shape, buffer, x.buffer_offset()));
      context.SetOutput(0, std::move(y));
      return absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor y, Tensor::Make(to_, shape, context.allocator()));
    std::memcpy(y.mutable_raw_data(), x.raw_data(), x.total_bytes());
    context.SetOutput(0, std::move(y));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  absl::StatusOr<Shape> OutputShape(const Tensor& x) const {
    const size_t from_size = DTypeSize(x.dtype());
    const size_t to_size = DTypeSize(to_);
    if (from_size == to_size) return x.shape();
    std::vector<int64_t> sizes(x.shape().dims().begin(), x.shape().dims().end());
    if (from_size > to_size) {
      sizes.push_back(static_cast<int64_t>(from_size / to_size));
    } else {
      const int64_t parts = static_cast<int64_t>(to_size / from_size);
      if (sizes.empty() || sizes.back() != parts) {
        return ShapeError(
            0, "", x.shape(),
            absl::StrCat("a last axis of ", parts, ", the ", DTypeName(x.dtype()), " in one ", DTypeName(to_)));
      }
      sizes.pop_back();
    }
    return Shape::Make(sizes);
  }

  const DType to_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBitcast(const KernelConstruction& construction) {
  const DType from = construction.input_type(0);
  const DType to = construction.output_type(0);
  if (!IsTrivial(from) || !IsTrivial(to)) {
    return Error(ErrorCode::kOpAttr)
        .Attr("type")
        .Text(absl::StrCat("the bits of ", DTypeName(from), " are not those of ", DTypeName(to)));
  }
  return std::make_unique<BitcastKernel>(to);
}

constexpr KernelRow kRows[] = {
    KernelRow("Bitcast", &MakeBitcast),
};

}  // namespace

absl::Span<const KernelRow> BitcastKernels() { return kRows; }

}  // namespace sluice
