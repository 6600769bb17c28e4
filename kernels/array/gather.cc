#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// A gather as loops: for each batch, each outer row of params, each index, one row of `inner` elements.
struct GatherPlan {
  int64_t batches = 1;
  int64_t outer = 1;
  int64_t limit = 1;    // Rows to choose from.
  int64_t indices = 1;  // Of one batch.
  int64_t inner = 1;
};

// The position of the first index that is not in [0, limit), or -1.
template <typename Index>
int64_t FirstOutside(absl::Span<const Index> indices, int64_t limit) {
  bool all_inside = true;
  for (const Index index : indices) {
    // Widened with its sign: a negative one is larger than any limit.
    all_inside &= static_cast<uint64_t>(int64_t{index}) < static_cast<uint64_t>(limit);
  }
  if (all_inside) return -1;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= limit) return static_cast<int64_t>(i);
  }
  return -1;
}

// Finds negative and too large indices before anything is copied.
absl::Status CheckIndices(const Tensor& indices, int64_t limit) {
  int64_t at = -1;
  DispatchDType<TypeList<int16_t, int32_t, int64_t>>(
      indices.dtype(), [&](auto type) { at = FirstOutside(indices.flat<typename decltype(type)::Type>(), limit); });
  if (at < 0) return absl::OkStatus();
  return ValueError(1, "indices", absl::StrCat("index ", IndexAt(indices, at), " at position ", at),
                    limit == 0 ? "no index: there are no rows" : absl::StrCat("0 to ", limit - 1));
}

template <typename T, typename Index>
void GatherRows(const KernelContext& context, const GatherPlan& plan, const T* params, const Index* indices, T* to) {
  const double unit_ns = 2.0 + kMoveNs<T> * static_cast<double>(plan.inner);
  context.ParallelFor(plan.batches * plan.outer * plan.indices, unit_ns, [&](int64_t begin, int64_t end) {
    int64_t slab = begin / plan.indices;  // Batch and outer row together.
    int64_t i = begin % plan.indices;
    for (int64_t unit = begin; unit < end; ++unit) {
      const Index* const batch = indices + slab / plan.outer * plan.indices;
      const T* const row = params + (slab * plan.limit + batch[i]) * plan.inner;
      if (plan.inner == 1) {
        to[unit] = *row;
      } else {
        std::copy_n(row, plan.inner, to + unit * plan.inner);
      }
      if (++i == plan.indices) {
        i = 0;
        ++slab;
      }
    }
  });
}

// Fills `output` by the plan. REQUIRES: indices were checked.
void RunGather(const KernelContext& context, const GatherPlan& plan, const Tensor& params, const Tensor& indices,
               Tensor& output) {
  if (output.num_elements() == 0) return;
  DispatchMoved(params.dtype(), [&](auto element) {
    using T = typename decltype(element)::Type;
    DispatchDType<TypeList<int16_t, int32_t, int64_t>>(indices.dtype(), [&](auto index) {
      using Index = typename decltype(index)::Type;
      GatherRows(context, plan, Elements<T>(params), indices.flat<Index>().data(), Elements<T>(output));
    });
  });
}

// Takes rows of params along `axis`; the first `batch_dims` axes of params and indices go together.
absl::Status GatherAlong(KernelContext& context, int axis, int batch_dims) {
  const Tensor& params = context.input(0);
  const Tensor& indices = context.input(1);
  IndexVector dims(params.shape().dims().begin(), params.shape().dims().begin() + axis);
  dims.insert(dims.end(), indices.shape().dims().begin() + batch_dims, indices.shape().dims().end());
  dims.insert(dims.end(), params.shape().dims().begin() + axis + 1, params.shape().dims().end());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  GatherPlan plan;
  plan.batches = SizeOfAxes(params.shape(), 0, batch_dims);
  plan.outer = SizeOfAxes(params.shape(), batch_dims, axis);
  plan.limit = params.dim(axis);
  plan.indices = SizeOfAxes(indices.shape(), batch_dims, indices.rank());
  plan.inner = SizeOfAxes(params.shape(), axis + 1, params.rank());
  if (shape.num_elements() > 0) SLUICE_RETURN_IF_ERROR(CheckIndices(indices, plan.limit));
  // Copied even where it is one long row: params may be the memory of a variable that is overwritten later, and a
  // gather gives the values that were there (Note [References alias] in kernels/state).
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  RunGather(context, plan, params, indices, *output);
  return absl::OkStatus();
}

absl::Status ComputeGather(KernelContext& context) {
  if (context.input(0).rank() == 0) return ShapeError(0, "params", "a scalar", "at least a vector");
  return GatherAlong(context, 0, 0);
}

// Gather along an axis that is an input, with leading batch axes (attr batch_dims).
class GatherV2Kernel final : public Kernel {
 public:
  explicit GatherV2Kernel(int64_t batch_dims) : batch_dims_(batch_dims) {}
  absl::Status Compute(KernelContext& context) const override {
    const Shape& params = context.input(0).shape();
    const Shape& indices = context.input(1).shape();
    if (params.rank() == 0) return ShapeError(0, "params", "a scalar", "at least a vector");
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "axis"));
    SLUICE_ASSIGN_OR_RETURN(const int axis, ReadAxis(context, 2, "axis", params.rank()));
    int64_t batch_dims = batch_dims_;
    if (batch_dims < 0) batch_dims += indices.rank();
    if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= params.rank() || batch_dims > axis) {
      return AttrError("batch_dims",
                       absl::StrCat(batch_dims_, " for params ", params.ToString(), ", indices ", indices.ToString(),
                                    " and axis ", axis),
                       "at most the axis and the ranks");
    }
    for (int i = 0; i < batch_dims; ++i) {
      if (params.dim(i) == indices.dim(i)) continue;
      return ShapesError(absl::StrCat("params ", params.ToString(), ", indices ", indices.ToString()),
                         absl::StrCat("equal sizes in the first ", batch_dims, " dimensions"));
    }
    return GatherAlong(context, axis, static_cast<int>(batch_dims));
  }

 private:
  const int64_t batch_dims_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Gather", &Call<ComputeGather>),
    KernelRow("GatherV2", FromAttr<GatherV2Kernel, int64_t>("batch_dims")),
};

}  // namespace

absl::Span<const KernelRow> GatherKernels() { return kRows; }

}  // namespace sluice
