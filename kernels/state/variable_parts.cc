#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strided_region.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/resources/variable.h"
#include "kernels/state/cell_ops.h"
#include "kernels/state/families.h"
#include "kernels/state/scatter_plan.h"
#include "kernels/state/variable_input.h"

namespace sluice {
namespace {

// The value of the variable behind input 0, to read from.
absl::StatusOr<Tensor> ValueOf(const KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupVariable(context, context.output_type(0)));
  Tensor value = variable->cell().Read();
  if (!value.has_value()) return NotInitialized();
  return value;
}

// Copies `count` parts of `inner` elements to output 0. `offset_of` says where part i lies. Indices that came through a
// reference may have changed since they were checked (Note [References alias]): what they choose then does not matter,
// but it lies in `from`.
template <typename OffsetOf>
void CopyParts(const KernelContext& context, const Tensor& from, int64_t count, int64_t inner, OffsetOf offset_of,
               Tensor& to) {
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const source = Elements<T>(from);
    T* const target = Elements<T>(to);
    const double unit_ns = 4.0 + kMoveNs<T> * static_cast<double>(inner);
    context.ParallelFor(count, unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(source + offset_of(i), inner, target + i * inner);
    });
  });
}

// Rows of a variable by number; the first `batch_dims` axes of variable and indices go together.
class ResourceGatherKernel final : public Kernel {
 public:
  explicit ResourceGatherKernel(int64_t batch_dims) : batch_dims_(batch_dims) {}
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Tensor value, ValueOf(context));
    const Tensor& indices = context.input(1);
    SLUICE_ASSIGN_OR_RETURN(const int axis, CheckShapes(value.shape(), indices.shape()));
    const absl::Span<const int64_t> dims = value.shape().dims();
    IndexVector out(dims.begin(), dims.begin() + axis);
    out.insert(out.end(), indices.shape().dims().begin() + axis, indices.shape().dims().end());
    out.insert(out.end(), dims.begin() + axis + 1, dims.end());
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(out));
    const int64_t rows = value.dim(axis);
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t index = IndexAt(indices, i);
      if (index >= 0 && index < rows) continue;
      return ValueError(1, "indices", absl::StrCat("index ", index, " at position ", i),
                        absl::StrCat("an index below ", rows, ", not negative"));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const to, context.AllocateOutput(0, shape));
    const int64_t inner = SizeOfAxes(value.shape(), axis + 1, value.rank());
    const int64_t per_batch = SizeOfAxes(indices.shape(), axis, indices.rank());
    CopyParts(
        context, value, indices.num_elements(), inner,
        [&](int64_t i) {
          const int64_t index = IndexAt(indices, i);
          const bool is_row = static_cast<uint64_t>(index) < static_cast<uint64_t>(rows);
          return (i / per_batch * rows + (is_row ? index : 0)) * inner;
        },
        *to);
    return absl::OkStatus();
  }

 private:
  // The axis that rows are taken from.
  absl::StatusOr<int> CheckShapes(const Shape& value, const Shape& indices) const {
    const int64_t axis = batch_dims_ < 0 ? batch_dims_ + indices.rank() : batch_dims_;
    bool fits = axis >= 0 && axis <= indices.rank() && axis < value.rank();
    for (int i = 0; fits && i < axis; ++i) fits = value.dim(i) == indices.dim(i);
    if (fits) return static_cast<int>(axis);
    return ShapesError(absl::StrCat("variable ", value.ToString(), ", indices ", indices.ToString()),
                       absl::StrCat("rows to take, and equal sizes in the first ", batch_dims_, " dimensions"));
  }

  const int64_t batch_dims_;
};

absl::Status ComputeGatherNd(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Tensor value, ValueOf(context));
  if (value.rank() == 0) return ShapeError(0, "", "a scalar", "a variable of at least rank 1");
  SLUICE_ASSIGN_OR_RETURN(const ScatterPlan plan, ScatterPlan::ForPositions(value, context.input(1)));
  if (value.num_elements() == 0 && plan.count() > 0) return ShapeError(0, "", value.shape(), "some elements");
  SLUICE_RETURN_IF_ERROR(plan.CheckAll());
  SLUICE_ASSIGN_OR_RETURN(Tensor* const to, context.AllocateOutput(0, plan.shape()));
  CopyParts(
      context, value, plan.count(), plan.inner(), [&plan](int64_t i) { return std::max<int64_t>(plan.Offset(i), 0); },
      *to);
  return absl::OkStatus();
}

// Writes input 4, broadcast, into a strided slice of a variable.
class SliceAssignKernel final : public Kernel {
 public:
  explicit SliceAssignKernel(SliceMasks masks) : masks_(masks) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const SliceMasks masks, SliceMasks::Read(construction));
    return std::make_unique<SliceAssignKernel>(masks);
  }

  absl::Status Compute(KernelContext& context) const override {
    const auto change = [&](Tensor& value) { return AssignSlice(context, value); };
    if (context.input_type(0) != DType::kResource) {
      SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
      SLUICE_RETURN_IF_ERROR(ChangeValue(*cell, context.allocator(), VariableReadMode::kAlias, change));
      context.SetRefOutput(0, cell);
      return absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupVariable(context, context.input_type(4)));
    return ChangeValue(variable->cell(), context.allocator(), VariableReadMode::kSnapshot, change);
  }

 private:
  absl::Status AssignSlice(const KernelContext& context, Tensor& value) const {
    const Tensor& from = context.input(4);
    SLUICE_RETURN_IF_ERROR(CheckSameType(value, from));
    SLUICE_ASSIGN_OR_RETURN(const StridedRegion region, ReadStridedRegion(context, 1, masks_, value.shape()));
    SLUICE_ASSIGN_OR_RETURN(const CopyAxes axes, region.AxesOfUpdate(value.shape(), from.shape()));
    if (region.shape.num_elements() == 0) return absl::OkStatus();
    // Under the variable's lock: threads that help with the copy do nothing else meanwhile (TaskRunner::ParallelFor).
    // Without the run's cancellation and deadline: either could leave half of the slice written.
    RunContext run = context.run();
    run.cancellation = nullptr;
    run.deadline = absl::InfiniteFuture();
    CopyStrided(KernelContext(run, EntryTables()), axes, value, region.Offset(value.shape()), from, 0);
    return absl::OkStatus();
  }

  const SliceMasks masks_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ResourceGather", FromAttr<ResourceGatherKernel, int64_t>("batch_dims")),
    KernelRow("ResourceGatherNd", &Call<ComputeGatherNd>),
    KernelRow("StridedSliceAssign", &New<SliceAssignKernel>),
    KernelRow("ResourceStridedSliceAssign", &New<SliceAssignKernel>),
};

}  // namespace

absl::Span<const KernelRow> VariablePartsKernels() { return kRows; }

}  // namespace sluice
