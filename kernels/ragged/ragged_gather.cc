#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/ragged/families.h"
#include "kernels/ragged/row_splits.h"

namespace sluice {
namespace {

// Rows of the values that go to the result one after another.
struct Slice {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t to = 0;
};

// The pieces of the input that make up the result.
struct GatherPlan {
  std::vector<int64_t> sizes;  // Of each vector of splits.
  std::vector<Slice> slices;
  int64_t num_rows = 0;  // Of the values.
};

// Chooses rows of a ragged tensor: each index, of a tensor of any shape, becomes a row.
class RaggedGatherKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<RaggedGatherKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->splits_, construction.InputRange("params_nested_splits"));
    SLUICE_ASSIGN_OR_RETURN(kernel->out_splits_, construction.OutputRange("output_nested_splits"));
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    const int values = splits_.count, indices = splits_.count + 1;
    SLUICE_RETURN_IF_ERROR(CheckRowSplits(context, splits_, "params_nested_splits", values, SplitsRule::kInside));
    SLUICE_RETURN_IF_ERROR(CheckIndices(context, indices));
    return context.input(splits_.first).dtype() == DType::kInt32 ? Gather<int32_t>(context) : Gather<int64_t>(context);
  }

 private:
  absl::Status CheckIndices(const KernelContext& context, int input) const {
    const Tensor& indices = context.input(input);
    if (out_splits_.count != splits_.count + indices.rank() - 1) {
      return ShapeError(
          input, "indices", indices.shape(),
          absl::StrCat("rank ", out_splits_.count - splits_.count + 1, ", as attr OUTPUT_RAGGED_RANK says"));
    }
    const int64_t rows = context.input(splits_.first).num_elements() - 1;
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t index = IndexAt(indices, i);
      if (index >= 0 && index < rows) continue;
      return ValueError(input, "indices", absl::StrCat(index, " at position ", i),
                        rows == 0 ? "no index: there are no rows" : absl::StrCat("0 to ", rows - 1));
    }
    return absl::OkStatus();
  }

  // The level of the result's splits that `level` of the params' becomes; negative where it is left out.
  int OutLevel(int level) const { return level + out_splits_.count - splits_.count; }

  template <typename Split>
  absl::Status Gather(KernelContext& context) const {
    const GatherPlan plan = PlanRows<Split>(context);
    std::vector<Split*> ends;  // Where the next split of each level goes.
    for (int i = 0; i < out_splits_.count; ++i) {
      const size_t level = static_cast<size_t>(i);
      const int64_t last = level + 1 < plan.sizes.size() ? plan.sizes[level + 1] - 1 : plan.num_rows;
      if (last > std::numeric_limits<Split>::max()) {
        return ValueError(absl::StrCat(last, " rows in the result"),
                          absl::StrCat("at most ", std::numeric_limits<Split>::max(), ", as splits count them"));
      }
      SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.sizes[level]}));
      SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(out_splits_.first + i, shape));
      ends.push_back(out->flat<Split>().data());
      *ends.back()++ = 0;
    }
    WriteOuterSplits(context.input(splits_.count + 1).shape(), ends);
    WriteInnerSplits<Split>(context, ends);
    return OutputValues(context, plan);
  }

  // Follows each index down to the values.
  template <typename Split>
  GatherPlan PlanRows(const KernelContext& context) const {
    const Tensor& indices = context.input(splits_.count + 1);
    GatherPlan plan;
    plan.sizes.assign(static_cast<size_t>(out_splits_.count), 1);
    for (int axis = 0; axis + 1 < indices.rank(); ++axis) {
      plan.sizes[static_cast<size_t>(axis)] += SizeOfAxes(indices.shape(), 0, axis + 1);
    }
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      int64_t begin = IndexAt(indices, i), end = begin + 1;
      for (int level = 0; level < splits_.count; ++level) {
        if (OutLevel(level) >= 0) plan.sizes[static_cast<size_t>(OutLevel(level))] += end - begin;
        const absl::Span<const Split> splits = context.input(splits_.first + level).flat<Split>();
        begin = splits[static_cast<size_t>(begin)];
        end = splits[static_cast<size_t>(end)];
      }
      if (end > begin) plan.slices.push_back({begin, end - begin, plan.num_rows});
      plan.num_rows += end - begin;
    }
    return plan;
  }

  // All axes of the indices but the last become ragged ones, with rows of one length.
  template <typename Split>
  static void WriteOuterSplits(const Shape& indices, std::vector<Split*>& ends) {
    for (int axis = 0; axis + 1 < indices.rank(); ++axis) {
      Split*& to = ends[static_cast<size_t>(axis)];
      const int64_t rows = SizeOfAxes(indices, 0, axis + 1);
      for (int64_t row = 1; row <= rows; ++row) *to++ = static_cast<Split>(row * indices.dim(axis + 1));
    }
  }

  template <typename Split>
  void WriteInnerSplits(const KernelContext& context, std::vector<Split*>& ends) const {
    const Tensor& indices = context.input(splits_.count + 1);
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      int64_t begin = IndexAt(indices, i), end = begin + 1;
      for (int level = 0; level < splits_.count; ++level) {
        const Split* const splits = context.input(splits_.first + level).flat<Split>().data();
        if (OutLevel(level) >= 0) {
          Split*& to = ends[static_cast<size_t>(OutLevel(level))];
          const int64_t shift = to[-1] - int64_t{splits[begin]};
          for (int64_t row = begin; row < end; ++row) *to++ = static_cast<Split>(splits[row + 1] + shift);
        }
        begin = splits[begin];
        end = splits[end];
      }
    }
  }

  absl::Status OutputValues(KernelContext& context, const GatherPlan& plan) const {
    const Tensor& values = context.input(splits_.count);
    IndexVector dims(values.shape().dims().begin(), values.shape().dims().end());
    dims[0] = plan.num_rows;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(out_splits_.first + out_splits_.count, shape));
    const int64_t inner = ElementsOfRow(values);
    if (shape.num_elements() == 0) return absl::OkStatus();
    DispatchMoved(values.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      const T* const from = Elements<T>(values);
      T* const to = Elements<T>(*out);
      const double rows_of_slice = static_cast<double>(plan.num_rows) / static_cast<double>(plan.slices.size());
      const double unit_ns = 5 + kMoveNs<T> * rows_of_slice * static_cast<double>(inner);
      context.ParallelFor(static_cast<int64_t>(plan.slices.size()), unit_ns, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Slice& slice = plan.slices[static_cast<size_t>(i)];
          std::copy_n(from + slice.begin * inner, slice.count * inner, to + slice.to * inner);
        }
      });
    });
    return absl::OkStatus();
  }

  ArgRange splits_, out_splits_;
};

constexpr KernelRow kRows[] = {
    KernelRow("RaggedGather", &New<RaggedGatherKernel>).Types("Tindices", kIndexTypes).Types("Tsplits", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> RaggedGatherKernels() { return kRows; }

}  // namespace sluice
