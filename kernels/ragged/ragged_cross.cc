#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/ragged/families.h"
#include "kernels/ragged/row_splits.h"
#include "kernels/sparse/crosses.h"

namespace sluice {
namespace {

// RaggedCross: combinations of the features of ragged, sparse and dense inputs, as texts or hashes.
class RaggedCrossKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<RaggedCrossKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->ragged_values_, construction.InputRange("ragged_values"));
    SLUICE_ASSIGN_OR_RETURN(kernel->ragged_splits_, construction.InputRange("ragged_row_splits"));
    SLUICE_ASSIGN_OR_RETURN(kernel->indices_, construction.InputRange("sparse_indices"));
    SLUICE_ASSIGN_OR_RETURN(kernel->values_, construction.InputRange("sparse_values"));
    SLUICE_ASSIGN_OR_RETURN(kernel->shapes_, construction.InputRange("sparse_shape"));
    SLUICE_ASSIGN_OR_RETURN(kernel->dense_, construction.InputRange("dense_inputs"));
    SLUICE_ASSIGN_OR_RETURN(kernel->order_, construction.Get<std::string>("input_order"));
    SLUICE_ASSIGN_OR_RETURN(kernel->is_hashed_, construction.Get<bool>("hashed_output"));
    SLUICE_ASSIGN_OR_RETURN(kernel->buckets_, construction.Get<int64_t>("num_buckets"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t key, construction.Get<int64_t>("hash_key"));
    kernel->key_ = static_cast<uint64_t>(key);
    SLUICE_RETURN_IF_ERROR(kernel->CheckCounts());
    if (kernel->is_hashed_ != (construction.output_type(0) == DType::kInt64)) {
      return AttrError("out_values_type", DTypeName(construction.output_type(0)),
                       "int64 for hashes, string for texts, as attr hashed_output says");
    }
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    CrossPlan plan;
    SLUICE_RETURN_IF_ERROR(CheckShapes(context));
    plan.rows = CountRows(context);
    const int64_t lists = 1 + ragged_values_.count + values_.count + dense_.count;
    SLUICE_RETURN_IF_ERROR(MakeShape({plan.rows}).status());
    SLUICE_ASSIGN_OR_RETURN(const Shape all, MakeShape({lists, plan.rows + 1}));
    SLUICE_ASSIGN_OR_RETURN(plan.storage, context.AllocateTemp(DType::kInt64, all));
    SLUICE_RETURN_IF_ERROR(ReadColumns(context, &plan));
    SLUICE_RETURN_IF_ERROR(CountCrosses(&plan));
    if (is_hashed_) {
      SLUICE_RETURN_IF_ERROR(OutputCrossHashes(context, plan, &key_, buckets_, &FeatureFingerprint, 0));
    } else {
      SLUICE_RETURN_IF_ERROR(OutputCrossTexts(context, plan, "_X_", 0));
    }
    return OutputSplits(context, plan);
  }

 private:
  // The lists' lengths are attrs of their own; those that belong together are read side by side.
  absl::Status CheckCounts() const {
    const auto differ = [](absl::string_view attr, int found, int expected) -> absl::Status {
      return AttrError(std::string(attr), absl::StrCat(found, " types"), absl::StrCat(expected, ", one for each"));
    };
    if (ragged_splits_.count != ragged_values_.count) {
      return differ("ragged_splits_types", ragged_splits_.count, ragged_values_.count);
    }
    if (values_.count != indices_.count) return differ("sparse_values_types", values_.count, indices_.count);
    return absl::OkStatus();
  }
  absl::Status CheckShapes(const KernelContext& context) const {
    const auto check = [&context](ArgRange range, absl::string_view name, int rank) -> absl::Status {
      for (int i = range.first; i < range.first + range.count; ++i) {
        if (context.input(i).rank() == rank) continue;
        return ShapeError(i, name, context.input(i).shape(), rank == 1 ? "a vector" : "a matrix");
      }
      return absl::OkStatus();
    };
    SLUICE_RETURN_IF_ERROR(check(ragged_values_, "ragged_values", 1));
    SLUICE_RETURN_IF_ERROR(check(ragged_splits_, "ragged_row_splits", 1));
    SLUICE_RETURN_IF_ERROR(check(indices_, "sparse_indices", 2));
    SLUICE_RETURN_IF_ERROR(check(values_, "sparse_values", 1));
    SLUICE_RETURN_IF_ERROR(check(shapes_, "sparse_shape", 1));
    SLUICE_RETURN_IF_ERROR(check(dense_, "dense_inputs", 2));
    for (int i = 0; i < ragged_splits_.count; ++i) {
      const ArgRange one = {ragged_splits_.first + i, 1};
      SLUICE_RETURN_IF_ERROR(
          CheckRowSplits(context, one, "ragged_row_splits", ragged_values_.first + i, SplitsRule::kAll));
    }
    for (int i = 0; i < indices_.count; ++i) {
      const Tensor& indices = context.input(indices_.first + i);
      const Tensor& values = context.input(values_.first + i);
      const Tensor& shape = context.input(shapes_.first + i);
      if (indices.dim(0) <= values.dim(0) && indices.dim(1) > 0 && shape.dim(0) == 2) continue;
      return ShapesError(absl::StrCat("sparse input ", i, ": indices ", indices.shape().ToString(), ", values ",
                                      values.shape().ToString(), ", shape ", shape.shape().ToString()),
                         "[entries,2], [entries] and [2]");  // More of each does no harm, in TensorFlow neither.
    }
    return absl::OkStatus();
  }

  // As the first input says.
  int64_t CountRows(const KernelContext& context) const {
    if (ragged_splits_.count > 0) return context.input(ragged_splits_.first).num_elements() - 1;
    if (dense_.count > 0) return context.input(dense_.first).dim(0);
    return shapes_.count > 0 ? context.input(shapes_.first).flat<int64_t>()[0] : 0;
  }

  // All columns, in the order that the attr says.
  absl::Status ReadColumns(const KernelContext& context, CrossPlan* plan) const {
    const size_t size = static_cast<size_t>(plan->rows) + 1;
    absl::Span<int64_t> left = plan->storage.flat<int64_t>();
    const auto next = [&left, size] {
      const absl::Span<int64_t> begins = left.subspan(0, size);
      left.remove_prefix(size);
      return begins;
    };
    plan->begins = next();
    int ragged = 0, sparse = 0, dense = 0;
    for (const char kind : order_) {
      int input = -1;
      if (kind == 'R' && ragged < ragged_values_.count) input = ragged_splits_.first + ragged;
      if (kind == 'S' && sparse < values_.count) input = shapes_.first + sparse;
      if (kind == 'D' && dense < dense_.count) input = dense_.first + dense;
      if (input < 0) return OrderError();
      Column column;
      column.begins = next();
      const bool fits = kind == 'R'   ? ReadRagged(context, ragged++, &column)
                        : kind == 'S' ? ReadSparse(context, sparse++, &column)
                                      : ReadDense(context, dense++, &column);
      if (!fits) {
        return ShapesError(input, "", "another number of rows",
                           absl::StrCat(plan->rows, " rows, as other inputs have"));
      }
      plan->columns.push_back(column);
    }
    const bool is_complete = ragged == ragged_values_.count && sparse == values_.count && dense == dense_.count;
    return is_complete ? absl::OkStatus() : OrderError();
  }

  // The next inputs of a kind; false where they have another number of rows.
  bool ReadRagged(const KernelContext& context, int i, Column* column) const {
    const Tensor& splits = context.input(ragged_splits_.first + i);
    column->values = &context.input(ragged_values_.first + i);
    if (splits.dim(0) != static_cast<int64_t>(column->begins.size())) return false;
    for (size_t row = 0; row < column->begins.size(); ++row) {
      column->begins[row] = IndexAt(splits, static_cast<int64_t>(row));
    }
    return true;
  }
  // As in TensorFlow, an entry whose row comes too late belongs to the row of the entry before it.
  bool ReadSparse(const KernelContext& context, int i, Column* column) const {
    column->values = &context.input(values_.first + i);
    const Tensor& indices = context.input(indices_.first + i);
    const absl::Span<const int64_t> numbers = indices.flat<int64_t>();
    const size_t width = static_cast<size_t>(indices.dim(1));
    const int64_t rows = static_cast<int64_t>(column->begins.size()) - 1;
    if (context.input(shapes_.first + i).flat<int64_t>()[0] != rows) return false;
    size_t entry = 0;
    for (int64_t row = 0; row < rows; ++row) {
      column->begins[static_cast<size_t>(row)] = static_cast<int64_t>(entry);
      while (width * entry < numbers.size() && numbers[width * entry] <= row) ++entry;
    }
    column->begins.back() = static_cast<int64_t>(entry);
    return true;
  }
  bool ReadDense(const KernelContext& context, int i, Column* column) const {
    column->values = &context.input(dense_.first + i);
    column->is_dense = true;
    if (column->values->dim(0) + 1 != static_cast<int64_t>(column->begins.size())) return false;
    for (size_t row = 0; row < column->begins.size(); ++row) {
      column->begins[row] = static_cast<int64_t>(row) * column->values->dim(1);
    }
    return true;
  }

  absl::Status OrderError() const {
    return AttrError("input_order", order_,
                     absl::StrCat(ragged_values_.count, " R, ", values_.count, " S and ", dense_.count, " D"));
  }

  static absl::Status OutputSplits(KernelContext& context, const CrossPlan& plan) {
    SLUICE_ASSIGN_OR_RETURN(Tensor* const splits, context.AllocateOutput(1, Shape::Of({plan.rows + 1})));
    if (splits->dtype() == DType::kInt64) {
      std::copy(plan.begins.begin(), plan.begins.end(), splits->flat<int64_t>().begin());
      return absl::OkStatus();
    }
    if (plan.begins.back() > std::numeric_limits<int32_t>::max()) {
      return Error(ErrorCode::kOpTooLarge)
          .Found(absl::StrCat(plan.begins.back(), " combinations, for splits of int32"));
    }
    int32_t* to = splits->flat<int32_t>().data();
    for (const int64_t begin : plan.begins) *to++ = static_cast<int32_t>(begin);
    return absl::OkStatus();
  }

  ArgRange ragged_values_, ragged_splits_, indices_, values_, shapes_, dense_;
  std::string order_;
  bool is_hashed_ = false;
  int64_t buckets_ = 0;
  uint64_t key_ = 0;
};

constexpr KernelRow kRows[] = {KernelRow("RaggedCross", &New<RaggedCrossKernel>)};

}  // namespace

absl::Span<const KernelRow> RaggedCrossKernels() { return kRows; }

}  // namespace sluice
