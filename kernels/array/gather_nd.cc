#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/on_bad_index.h"
#include "kernels/array/slice_index.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/element_type.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// --- GatherNd ----------------------------------------------------------------------------------------------------

absl::Status ComputeGatherNd(KernelContext& context, OnBadIndex bad) {
  const Tensor& params = context.input(0);
  if (params.rank() == 0) return ShapeError(0, "params", "a scalar", "at least a vector");
  const Shape& indices = context.input(1).shape();
  if (params.num_elements() == 0 && indices.rank() > 0 && SizeOfAxes(indices, 0, indices.rank() - 1) > 0) {
    return ShapeError(0, "params", params.shape(), "some elements");
  }
  SLUICE_ASSIGN_OR_RETURN(const SliceIndex index,
                          ReadSliceIndex(context, 1, "indices", params.shape(), VectorIndices::kOneRow, bad));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, index.shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  DispatchMoved(params.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const from = Elements<T>(params);
    T* const to = Elements<T>(*output);
    const int64_t size = index.slice_size;
    const double unit_ns = 2.0 + kMoveNs<T> * static_cast<double>(size);
    context.ParallelFor(index.num_rows, unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t slice = index.slice(i);
        if (slice < 0) {
          std::fill_n(to + i * size, size, T{});
        } else {
          std::copy_n(from + slice * size, size, to + i * size);
        }
      }
    });
  });
  return absl::OkStatus();
}

// --- Scatters ----------------------------------------------------------------------------------------------------

// How an update meets the element that it goes to. Min and max of 16-bit floats go by way of float, too.
template <typename Rule, typename T>
T Meet(T old, T update) {
  using Computed = ComputeType<T>;
  return T(Rule()(static_cast<Computed>(old), static_cast<Computed>(update)));
}

// One after the other, so that of equal indices the later one counts.
template <typename T, typename Function>
void ScatterSlices(const SliceIndex& index, const T* updates, T* to, Function meet) {
  const int64_t size = index.slice_size;
  if (size == 0) return;
  for (int64_t i = 0; i < index.num_rows; ++i) {
    if (index.slice(i) < 0) continue;
    T* const slice = to + index.slice(i) * size;
    const T* const update = updates + i * size;
    for (int64_t j = 0; j < size; ++j) slice[j] = meet(slice[j], update[j]);
  }
}

template <typename Rule>
using RuleTypes =
    std::conditional_t<std::is_same<Rule, AddElements>::value || std::is_same<Rule, SubtractElements>::value,
                       Join<NumberCppTypes, TypeList<bool>>, RealCppTypes>;

// Meets each element that an index names with its update. Strings, which only ScatterNd has, are appended.
template <typename Rule>
void ScatterWith(const SliceIndex& index, const Tensor& updates, Tensor& output) {
  const bool is_number = DispatchDType<RuleTypes<Rule>>(output.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    ScatterSlices(index, updates.flat<T>().data(), output.flat<T>().data(), &Meet<Rule, T>);
  });
  if (is_number || output.dtype() != DType::kString) return;
  ScatterSlices(
      index, updates.flat<TString>().data(), output.flat<TString>().data(),
      [](const TString& old, const TString& update) { return TString(absl::StrCat(old.view(), update.view())); });
}

void ScatterReplacing(const SliceIndex& index, const Tensor& updates, Tensor& output) {
  DispatchMoved(output.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    ScatterSlices(index, Elements<T>(updates), Elements<T>(output),
                  [](const T&, const T& update) -> const T& { return update; });
  });
}

// The indices of a scatter into shape `whole`, once the updates in input `updates_input` are seen to fit them.
absl::StatusOr<SliceIndex> ReadScatter(const KernelContext& context, int indices_input, int updates_input,
                                       const Shape& whole, VectorIndices vector, OnBadIndex bad) {
  const Tensor& indices = context.input(indices_input);
  const Tensor& updates = context.input(updates_input);
  if (indices.rank() > 1 && indices.dim(indices.rank() - 1) == 0 && whole.num_elements() > 0) {
    return ShapeError(indices_input, "indices", indices.shape(), "at least 1 index for each update");
  }
  // Nothing to do, or something to do with everything.
  const bool nothing = indices.num_elements() == 0 && updates.num_elements() == 0;
  if (!nothing && (whole.num_elements() == 0 || indices.num_elements() == 0 || updates.num_elements() == 0)) {
    return ShapesError(indices_input, "indices",
                       absl::StrCat(indices.shape().ToString(), " with updates ", updates.shape().ToString()),
                       absl::StrCat("all of them empty or none, for shape ", whole.ToString()));
  }
  // TensorFlow takes a vector once as one place and once as a list of places of one number each; only nothing is both.
  const bool is_one = vector == VectorIndices::kOneRow;
  if (updates.rank() == 0 || (is_one && indices.rank() == 1 && updates.rank() != whole.rank())) {
    return ShapesError(updates_input, "updates",
                       absl::StrCat(updates.shape().ToString(), " for indices ", indices.shape().ToString()),
                       "a dimension for the places, in both");
  }
  SLUICE_ASSIGN_OR_RETURN(SliceIndex index, ReadSliceIndex(context, indices_input, "indices", whole, vector, bad));
  if (updates.shape() != index.shape) {
    return ShapesError(
        updates_input, "updates", updates.shape(),
        absl::StrCat(index.shape.ToString(), " for indices ", indices.shape().ToString(), " into ", whole.ToString()));
  }
  return index;
}

// Whether each update, for one of many rows of indices, is as large as the last axes of a result of sizes `whole`.
// Asked before that shape is made, which may be too large for any memory: TensorFlow answers for the updates then.
absl::Status CheckSliceSizes(const Tensor& indices, const Tensor& updates, absl::Span<const int64_t> whole) {
  const size_t rows = static_cast<size_t>(std::max(indices.rank() - 1, 0));
  const absl::Span<const int64_t> sizes = updates.shape().dims();
  if (rows == 0 || rows > sizes.size() || sizes.size() - rows > whole.size()) return absl::OkStatus();
  const absl::Span<const int64_t> slice = sizes.subspan(rows);
  if (whole.last(slice.size()) == slice) return absl::OkStatus();
  return ShapesError(1, "updates", updates.shape(),
                     absl::StrCat("sizes that end like [", absl::StrJoin(whole, ","), "]"));
}

absl::Status ComputeScatterNd(KernelContext& context, OnBadIndex bad) {
  SLUICE_ASSIGN_OR_RETURN(const IndexVector sizes, ReadIndexVector(context, 2, "shape"));
  SLUICE_RETURN_IF_ERROR(CheckSliceSizes(context.input(0), context.input(1), sizes));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 2, "shape"));
  for (int i = 0; i < 2; ++i) {
    if (context.input(i).rank() > 0) continue;
    return ShapeError(i, "", "a scalar", "at least a vector");
  }
  SLUICE_ASSIGN_OR_RETURN(const SliceIndex index, ReadScatter(context, 0, 1, shape, VectorIndices::kOneRow, bad));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (IsTrivial(output->dtype())) std::memset(output->mutable_raw_data(), 0, output->total_bytes());
  ScatterWith<AddElements>(index, context.input(1), *output);
  return absl::OkStatus();
}

using ScatterFn = void (*)(const SliceIndex& index, const Tensor& updates, Tensor& output);

// Input 0 changed at indices (input 1) by updates (input 2); in place if this kernel is the only holder.
template <ScatterFn kScatter, VectorIndices kVector = VectorIndices::kOneRow>
absl::Status ComputeTensorScatter(KernelContext& context, OnBadIndex bad) {
  const Shape shape = context.input(0).shape();
  if (shape.rank() == 0 || context.input(1).rank() == 0) {
    return ShapeError(shape.rank() == 0 ? 0 : 1, "", "a scalar", "at least a vector");
  }
  SLUICE_ASSIGN_OR_RETURN(const SliceIndex index, ReadScatter(context, 1, 2, shape, kVector, bad));
  const bool in_place = context.InputIsWritable(0);
  Tensor result = context.TakeInput(0);
  if (!in_place) {
    const Tensor source = std::move(result);
    SLUICE_ASSIGN_OR_RETURN(result, Tensor::Make(source.dtype(), shape, context.allocator()));
    const CopyAxis all = {shape.num_elements(), 1, 1};
    CopyStrided(context, {&all, 1}, result, 0, source, 0);
  }
  kScatter(index, context.input(2), result);
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

using CoordinateFn = absl::Status (*)(KernelContext& context, OnBadIndex bad);

// A function and the attr that it needs to know.
template <CoordinateFn kCompute>
class CoordinateKernel final : public Kernel {
 public:
  explicit CoordinateKernel(OnBadIndex bad) : bad_(bad) {}
  absl::Status Compute(KernelContext& context) const override { return kCompute(context, bad_); }

 private:
  const OnBadIndex bad_;
};

constexpr DTypeSet kSummable = kNumberTypes | DTypeSet{DType::kBool};

template <CoordinateFn kCompute>
constexpr KernelRow CoordinateRow(absl::string_view op) {
  return KernelRow(op, &NewWith<CoordinateKernel<kCompute>, ReadOnBadIndex>);
}

constexpr KernelRow kRows[] = {
    CoordinateRow<ComputeGatherNd>("GatherNd"),
    CoordinateRow<ComputeScatterNd>("ScatterNd").Types("T", kSummable | DTypeSet{DType::kString}),
    CoordinateRow<ComputeTensorScatter<&ScatterWith<AddElements>, VectorIndices::kRows>>("ScatterNdNonAliasingAdd")
        .Types("T", kSummable),
    CoordinateRow<ComputeTensorScatter<&ScatterReplacing>>("TensorScatterUpdate"),
    CoordinateRow<ComputeTensorScatter<&ScatterWith<AddElements>>>("TensorScatterAdd").Types("T", kSummable),
    CoordinateRow<ComputeTensorScatter<&ScatterWith<SubtractElements>>>("TensorScatterSub").Types("T", kSummable),
    CoordinateRow<ComputeTensorScatter<&ScatterWith<MaxElements>>>("TensorScatterMax").Types("T", kRealTypes),
    CoordinateRow<ComputeTensorScatter<&ScatterWith<MinElements>>>("TensorScatterMin").Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> GatherNdKernels() { return kRows; }

}  // namespace sluice
