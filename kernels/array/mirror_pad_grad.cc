#include <complex>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/mirror_mode.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// One axis of the padded tensor: `before` mirrored copies, the elements that were copied, `after` mirrored copies.
struct FoldedAxis {
  int64_t outer = 1, size = 0, inner = 1;
  int64_t before = 0, after = 0;
};

// to += from.
template <typename T>
void AddRow(int64_t count, const T* from, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = AddElements()(to[i], from[i]);
}

// Adds the mirrored copies to their sources along one axis, in place. `skipped`: elements at the edge that were not
// mirrored.
template <typename T>
void FoldAxis(const FoldedAxis& axis, int64_t skipped, T* values) {
  const int64_t end = axis.size - axis.after;
  for (int64_t slab = 0; slab < axis.outer; ++slab) {
    T* const rows = values + slab * axis.size * axis.inner;
    const auto add = [&](int64_t from, int64_t to) {
      AddRow(axis.inner, rows + from * axis.inner, rows + to * axis.inner);
    };
    for (int64_t j = 0; j < axis.before; ++j) add(axis.before - 1 - j, axis.before + skipped + j);
    for (int64_t j = 0; j < axis.after; ++j) add(end + j, end - 1 - skipped - j);
  }
}

// The kernel. Thread-safe.
class MirrorPadGradKernel final : public Kernel {
 public:
  explicit MirrorPadGradKernel(int64_t skipped) : skipped_(skipped) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t skipped, ReadMirrorMode(construction));
    return std::make_unique<MirrorPadGradKernel>(skipped);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Shape padded = context.input(0).shape();
    const Tensor& paddings = context.input(1);
    if (paddings.rank() != 2 || paddings.dim(0) != padded.rank() || paddings.dim(1) != 2) {
      return ShapeError(1, "paddings", paddings.shape(), absl::StrCat("[", padded.rank(), ",2]"));
    }
    IndexVector dims;
    for (int axis = 0; axis < padded.rank(); ++axis) {
      SLUICE_ASSIGN_OR_RETURN(const int64_t size, InnerSize(paddings, axis, padded.dim(axis)));
      dims.push_back(size);
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor folded, context.AllocateTemp(context.input(0).dtype(), padded));
    const CopyAxis all = {padded.num_elements(), 1, 1};
    CopyStrided(context, {&all, 1}, folded, 0, context.input(0), 0);
    Fold(paddings, folded);
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const IndexVector to = RowMajorStrides(shape);
    const IndexVector from = RowMajorStrides(padded);
    CopyAxes axes;
    int64_t first = 0;
    for (size_t axis = 0; axis < to.size(); ++axis) {
      axes.push_back({shape.dims()[axis], to[axis], from[axis]});
      first += IndexAt(paddings, 2 * static_cast<int64_t>(axis)) * from[axis];
    }
    CopyStrided(context, axes, *output, 0, folded, first);
    return absl::OkStatus();
  }

 private:
  // The size without the mirrored copies, which must not be more than the elements that can be mirrored.
  absl::StatusOr<int64_t> InnerSize(const Tensor& paddings, int axis, int64_t size) const {
    const int64_t before = IndexAt(paddings, 2 * axis);
    const int64_t after = IndexAt(paddings, 2 * axis + 1);
    const bool fits = before >= 0 && after >= 0 && before <= size && after <= size - before;
    const int64_t inner = fits ? size - before - after : 0;
    if (!fits || before > inner - skipped_ || after > inner - skipped_) {
      return ValueError(1, "paddings", absl::StrCat(before, " and ", after, " in dimension ", axis, " of size ", size),
                        "no more than there is to mirror");
    }
    return inner;
  }

  void Fold(const Tensor& paddings, Tensor& folded) const {
    const Shape& shape = folded.shape();
    for (int i = 0; i < shape.rank() && shape.num_elements() > 0; ++i) {
      const FoldedAxis axis{SizeOfAxes(shape, 0, i), shape.dim(i), SizeOfAxes(shape, i + 1, shape.rank()),
                            IndexAt(paddings, 2 * i), IndexAt(paddings, 2 * i + 1)};
      DispatchDType<NumberCppTypes>(folded.dtype(), [&](auto type) {
        FoldAxis(axis, skipped_, folded.flat<typename decltype(type)::Type>().data());
      });
    }
  }

  const int64_t skipped_;
};

constexpr KernelRow kRows[] = {
    KernelRow("MirrorPadGrad", &New<MirrorPadGradKernel>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> MirrorPadGradKernels() { return kRows; }

}  // namespace sluice
