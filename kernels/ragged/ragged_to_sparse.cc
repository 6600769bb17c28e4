#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/ragged/families.h"
#include "kernels/ragged/row_splits.h"

namespace sluice {
namespace {

// The coordinates of the rows of values, one after another. Borrows the splits.
template <typename Split>
class RowWalk {
 public:
  RowWalk(const KernelContext& context, ArgRange splits) : rows_(static_cast<size_t>(splits.count), 0) {
    for (int i = 0; i < splits.count; ++i) splits_.push_back(context.input(splits.first + i).flat<Split>());
  }

  // Writes the coordinates of row `i` of the values to `to`. REQUIRES: `i` is in some row; it grows from call to call.
  void Locate(int64_t i, int64_t* to) {
    for (size_t level = splits_.size(); level-- > 0;) {
      size_t& row = rows_[level];
      while (splits_[level][row + 1] <= i) ++row;
      to[level + 1] = i - splits_[level][row];
      i = static_cast<int64_t>(row);
    }
    to[0] = i;
  }

 private:
  std::vector<absl::Span<const Split>> splits_;
  std::vector<size_t> rows_;
};

// A ragged tensor as a sparse one: all of its values are entries.
class RaggedToSparseKernel : public Kernel {
 public:
  explicit RaggedToSparseKernel(ArgRange splits) : splits_(splits) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const ArgRange splits, construction.InputRange("rt_nested_splits"));
    return std::make_unique<RaggedToSparseKernel>(splits);
  }

  absl::Status Compute(KernelContext& context) const override {
    const int at = splits_.count;
    SLUICE_RETURN_IF_ERROR(CheckRowSplits(context, splits_, "rt_nested_splits", at, SplitsRule::kAll));
    const Tensor& values = context.input(at);
    const int64_t rank = splits_.count + values.rank(), count = values.num_elements();
    SLUICE_ASSIGN_OR_RETURN(const Shape indices_shape, MakeShape({count, rank}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, indices_shape));
    int64_t* const to = indices->flat<int64_t>().data();
    if (context.input(splits_.first).dtype() == DType::kInt32) {
      WriteIndices(RowWalk<int32_t>(context, splits_), values, rank, to);
    } else {
      WriteIndices(RowWalk<int64_t>(context, splits_), values, rank, to);
    }
    SLUICE_RETURN_IF_ERROR(OutputShape(context, values, rank));
    SLUICE_ASSIGN_OR_RETURN(Tensor entries, context.TakeInput(at).Reshaped(Shape::Of({count})));
    context.SetOutput(1, std::move(entries));
    return absl::OkStatus();
  }

 private:
  template <typename Walk>
  void WriteIndices(Walk walk, const Tensor& values, int64_t rank, int64_t* to) const {
    if (values.num_elements() == 0) return;
    const int64_t inner = ElementsOfRow(values);
    const size_t outer_rank = static_cast<size_t>(splits_.count) + 1;
    std::vector<int64_t> place(static_cast<size_t>(rank), 0);
    for (int64_t row = 0; row < values.dim(0); ++row) {
      walk.Locate(row, place.data());
      for (int64_t i = 0; i < inner; ++i) {
        to = std::copy(place.begin(), place.end(), to);
        // The next place in the row; after the last one all are 0 again.
        for (size_t axis = place.size(); axis-- > outer_rank;) {
          if (++place[axis] < values.dim(static_cast<int>(axis - outer_rank) + 1)) break;
          place[axis] = 0;
        }
      }
    }
  }

  absl::Status OutputShape(KernelContext& context, const Tensor& values, int64_t rank) const {
    SLUICE_ASSIGN_OR_RETURN(Tensor* const shape, context.AllocateOutput(2, Shape::Of({rank})));
    int64_t* to = shape->flat<int64_t>().data();
    *to++ = context.input(splits_.first).num_elements() - 1;
    for (int i = 0; i < splits_.count; ++i) *to++ = LongestRow(context.input(splits_.first + i));
    for (int axis = 1; axis < values.rank(); ++axis) *to++ = values.dim(axis);
    return absl::OkStatus();
  }

  const ArgRange splits_;
};

constexpr KernelRow kRows[] = {
    KernelRow("RaggedTensorToSparse", &New<RaggedToSparseKernel>).Types("Tsplits", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> RaggedToSparseKernels() { return kRows; }

}  // namespace sluice
