#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"
#include "kernels/sparse/wide_type.h"

namespace sluice {
namespace {

// --- SparseReduce... ----------------------------------------------------------------------------------------------

// Which axes of a sparse tensor are left.
struct ReducePlan {
  IndexVector kept;        // Axes, in order.
  IndexVector group_dims;  // Their sizes.
  IndexVector out_dims;    // The same, with a 1 for each reduced axis where these are kept.
};

absl::StatusOr<ReducePlan> PlanReduce(const KernelContext& context, const SparseInput& sparse, bool keep_dims) {
  const Tensor& axes = context.input(3);
  if (axes.rank() > 1) return ShapeError(3, "reduction_axes", axes.shape(), "a scalar or a vector");
  std::vector<bool> is_reduced(static_cast<size_t>(sparse.rank), false);
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const int axis, ResolveAxis(IndexAt(axes, i), sparse.rank, 3, "reduction_axes"));
    is_reduced[static_cast<size_t>(axis)] = true;
  }
  ReducePlan plan;
  for (int d = 0; d < sparse.rank; ++d) {
    const bool reduced = is_reduced[static_cast<size_t>(d)];
    if (!reduced) plan.kept.push_back(d);
    if (!reduced) plan.group_dims.push_back(sparse.shape.dim(d));
    if (!reduced || keep_dims) plan.out_dims.push_back(reduced ? 1 : sparse.shape.dim(d));
  }
  return plan;
}

// The number of each entry's group, counted over the kept axes. kOpBroken for an index outside; on reduced axes indices
// mean nothing.
absl::StatusOr<std::vector<int64_t>> GroupsOf(const SparseInput& sparse, const ReducePlan& plan) {
  std::vector<int64_t> groups(static_cast<size_t>(sparse.entries), 0);
  for (size_t i = 0; i < groups.size(); ++i) {
    int64_t group = 0;
    for (size_t k = 0; k < plan.kept.size(); ++k) {
      const int64_t at = sparse.at(static_cast<int64_t>(i))[plan.kept[k]];
      if (at < 0 || at >= plan.group_dims[k]) {
        return Error(ErrorCode::kOpBroken)
            .Input(0, "input_indices")
            .Found(absl::StrCat(at, " on axis ", plan.kept[k], " in entry ", i))
            .Expected(absl::StrCat("0 to ", plan.group_dims[k] - 1));
      }
      group = group * plan.group_dims[k] + at;
    }
    groups[i] = group;
  }
  return groups;
}

// Adds up, or takes the largest of, the values of each group, into `results`.
template <typename T, typename U, bool kMax>
void ReduceInto(const SparseInput& sparse, absl::Span<const int64_t> groups, U* results, size_t num_groups) {
  std::fill_n(results, num_groups, U(0));
  std::vector<bool> is_there(kMax ? num_groups : 0, false);
  const T* const values = Elements<T>(*sparse.values);
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t group = static_cast<size_t>(groups[i]);
    const U value = static_cast<U>(values[i]);
    if constexpr (kMax) {
      // As in TensorFlow, what is not smaller replaces what was there: a NaN is replaced, and replaces.
      if (!is_there[group] || !(value < results[group])) results[group] = value;
      is_there[group] = true;
    } else {
      results[group] = static_cast<U>(results[group] + value);
    }
  }
}

// The same for any dtype; 16-bit floats are added as float.
template <bool kMax>
absl::Status ReduceAny(KernelContext& context, const SparseInput& sparse, absl::Span<const int64_t> groups,
                       Tensor& out) {
  const DType dtype = kMax ? out.dtype() : AsUnsigned(out.dtype());
  const size_t num_groups = static_cast<size_t>(out.num_elements());
  absl::StatusOr<Tensor> wide = Tensor();
  DispatchDType<std::conditional_t<kMax, RealCppTypes, SumCppTypes>>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    using U = std::conditional_t<std::is_integral<T>::value, T, Wide<T>>;
    if constexpr (std::is_same<T, U>::value) {
      ReduceInto<T, U, kMax>(sparse, groups, Elements<T>(out), num_groups);
    } else {
      wide = context.AllocateTemp(DTypeOf<U>::value, out.shape());
      if (!wide.ok()) return;
      ReduceInto<T, U, kMax>(sparse, groups, Elements<U>(*wide), num_groups);
      for (size_t i = 0; i < num_groups; ++i) Elements<T>(out)[i] = T(Elements<U>(*wide)[i]);
    }
  });
  return wide.status();
}

// SparseReduceSum and SparseReduceMax: a dense result, zero where no entry falls.
template <bool kMax>
class DenseReduceKernel : public Kernel {
 public:
  explicit DenseReduceKernel(bool keep_dims) : keep_dims_(keep_dims) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny));
    SLUICE_ASSIGN_OR_RETURN(const ReducePlan plan, PlanReduce(context, sparse, keep_dims_));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> groups, GroupsOf(sparse, plan));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(plan.out_dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    return ReduceAny<kMax>(context, sparse, groups, *out);
  }

 private:
  const bool keep_dims_;
};

// SparseReduceSumSparse and SparseReduceMaxSparse: a sparse result, with an entry for each group that has one.
template <bool kMax>
class SparseReduceKernel : public Kernel {
 public:
  explicit SparseReduceKernel(bool keep_dims) : keep_dims_(keep_dims) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny));
    SLUICE_ASSIGN_OR_RETURN(const ReducePlan plan, PlanReduce(context, sparse, keep_dims_));
    SLUICE_ASSIGN_OR_RETURN(std::vector<int64_t> groups, GroupsOf(sparse, plan));
    std::vector<int64_t> present = groups;
    std::sort(present.begin(), present.end());
    present.erase(std::unique(present.begin(), present.end()), present.end());
    for (int64_t& group : groups) group = std::lower_bound(present.begin(), present.end(), group) - present.begin();
    const int64_t count = static_cast<int64_t>(present.size());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(1, Shape::Of({count})));
    SLUICE_RETURN_IF_ERROR(ReduceAny<kMax>(context, sparse, groups, *out));
    SLUICE_RETURN_IF_ERROR(OutputGroupIndices(context, plan, present));
    return OutputVector(context, 2, plan.out_dims);
  }

 private:
  absl::Status OutputGroupIndices(KernelContext& context, const ReducePlan& plan,
                                  const std::vector<int64_t>& groups) const {
    const int64_t count = static_cast<int64_t>(groups.size()), rank = static_cast<int64_t>(plan.out_dims.size());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, Shape::Of({count, rank})));
    int64_t* at = indices->flat<int64_t>().data();
    for (int64_t group : groups) {
      std::fill_n(at, rank, 0);
      for (size_t k = plan.kept.size(); k-- > 0;) {
        at[keep_dims_ ? plan.kept[k] : static_cast<int64_t>(k)] = group % plan.group_dims[k];
        group /= plan.group_dims[k];
      }
      at += rank;
    }
    return absl::OkStatus();
  }

  const bool keep_dims_;
};

// --- SparseSoftmax ------------------------------------------------------------------------------------------------

template <typename T>
void Softmax(const T* values, int64_t begin, int64_t end, T* out) {
  using U = Wide<T>;
  U highest = static_cast<U>(values[begin]);
  for (int64_t i = begin; i < end; ++i) highest = std::max(highest, static_cast<U>(values[i]));
  U sum(0);
  for (int64_t i = begin; i < end; ++i) sum += std::exp(static_cast<U>(values[i]) - highest);
  for (int64_t i = begin; i < end; ++i) out[i] = T(std::exp(static_cast<U>(values[i]) - highest) / sum);
}

// Over entries that follow each other and differ in the last index only.
absl::Status ComputeSoftmax(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny));
  if (sparse.rank < 2) return ShapeError(2, "sp_shape", sparse.shape, "rank 2 or more");
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({sparse.entries})));
  DispatchDType<TypeList<float, double, Half>>(out->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (int64_t begin = 0, end = 0; begin < sparse.entries; begin = end) {
      end = begin + 1;
      while (end < sparse.entries && CompareIndices(sparse.at(begin), sparse.at(end), sparse.rank - 1) == 0) ++end;
      Softmax(Elements<T>(*sparse.values), begin, end, Elements<T>(*out));
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("SparseReduceSum", FromAttr<DenseReduceKernel<false>, bool>("keep_dims")).Types("T", kNumberTypes),
    KernelRow("SparseReduceMax", FromAttr<DenseReduceKernel<true>, bool>("keep_dims")).Types("T", kRealTypes),
    KernelRow("SparseReduceSumSparse", FromAttr<SparseReduceKernel<false>, bool>("keep_dims")).Types("T", kNumberTypes),
    KernelRow("SparseReduceMaxSparse", FromAttr<SparseReduceKernel<true>, bool>("keep_dims")).Types("T", kRealTypes),
    KernelRow("SparseSoftmax", &Call<ComputeSoftmax>).Types("T", {DType::kFloat, DType::kDouble, DType::kHalf}),
};

}  // namespace

absl::Span<const KernelRow> SparseReduceKernels() { return kRows; }

}  // namespace sluice
