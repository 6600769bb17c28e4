#include "kernels/optimizers/update_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/optimizers/slot_cells.h"
#include "kernels/optimizers/update_inputs.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds that an update of one element takes.
double UnitNs(const UpdateSpec& spec, DType dtype) {
  const double factor = dtype == DType::kFloat ? 1 : dtype == DType::kDouble ? 2 : 8;
  return spec.unit_ns * factor;
}

// The threads of the run, but not its cancellation: a variable is updated whole, or not at all.
Workers WorkersOf(const KernelContext& context) { return Workers(context.run().task_runner); }

// Begin of part `i` of `count` parts that make up [0, size), at multiples of kVectorSize.
int64_t PartBegin(int64_t size, int64_t count, int64_t i) {
  const int64_t vectors = (size + kVectorSize - 1) / kVectorSize;
  return std::min(size, (vectors / count * i + std::min(i, vectors % count)) * kVectorSize);
}

// What dense and sparse updates have in common.
class UpdateKernel : public Kernel {
 public:
  UpdateKernel(const UpdateSpec& spec, const UpdateInputs& inputs) : spec_(spec), inputs_(inputs) {}

  absl::Status Compute(KernelContext& context) const final {
    RefCell* variable = nullptr;
    {
      SlotCells cells(context, spec_.num_slots);
      SLUICE_RETURN_IF_ERROR(cells.Lock(context.input_type(inputs_.grad())));
      SLUICE_ASSIGN_OR_RETURN(const UpdateSetting setting, inputs_.Read(context));
      SLUICE_RETURN_IF_ERROR(Update(context, setting, cells));
      if (cells.is_ref()) variable = cells.cell(0);
    }
    if (variable != nullptr) context.SetRefOutput(0, variable);
    return absl::OkStatus();
  }

 protected:
  virtual absl::Status Update(const KernelContext& context, const UpdateSetting& setting, SlotCells& cells) const = 0;

  void Run(const UpdateLoops& loops, DType dtype, const UpdateSpan& span, const UpdateSetting& setting) const {
    RunUpdate(loops, spec_.num_slots, dtype, span, setting);
  }

  const UpdateSpec& spec_;
  const UpdateInputs inputs_;
};

// All elements.
class DenseUpdateKernel final : public UpdateKernel {
 public:
  using UpdateKernel::UpdateKernel;

 private:
  absl::Status Update(const KernelContext& context, const UpdateSetting& setting, SlotCells& cells) const override {
    const Tensor& grad = context.input(inputs_.grad());
    if (grad.shape() != cells.shape()) {
      return ShapesError(inputs_.grad(), spec_.grad, grad.shape(),
                         absl::StrCat(cells.shape().ToString(), ", the variable's shape"));
    }
    UpdateSpan span;
    SLUICE_RETURN_IF_ERROR(cells.WriteAll(&span));
    span.grad = grad.raw_data();
    const DType dtype = grad.dtype();
    const int64_t size = grad.num_elements();
    const int64_t vectors = (size + kVectorSize - 1) / kVectorSize;
    const auto update = [&](int64_t begin, int64_t end) {
      Run(spec_.loops, dtype,
          PartOf(span, spec_.num_slots, DTypeSize(dtype), begin * kVectorSize, std::min(end * kVectorSize, size)),
          setting);
      return absl::OkStatus();
    };
    return WorkersOf(context).ForEachPart(vectors, kVectorSize * UnitNs(spec_, dtype), update);
  }
};

// The rows that input "indices" names, one after the other: a row that is named twice is updated twice.
class SparseUpdateKernel final : public UpdateKernel {
 public:
  SparseUpdateKernel(const UpdateSpec& spec, const UpdateInputs& inputs, int indices)
      : UpdateKernel(spec, inputs), indices_(indices) {}

 private:
  // The sizes of one call.
  struct Rows {
    int64_t limit = 0;  // Of the variable.
    int64_t count = 0;  // Of the gradient.
    int64_t inner = 0;  // Elements of one.
  };

  absl::StatusOr<Rows> CheckShapes(const KernelContext& context, const Shape& shape) const;
  absl::Status Update(const KernelContext& context, const UpdateSetting& setting, SlotCells& cells) const override;
  void UpdateRows(const KernelContext& context, const UpdateSetting& setting, const Rows& rows,
                  const UpdateSpan& span) const;

  const int indices_;
};

absl::StatusOr<SparseUpdateKernel::Rows> SparseUpdateKernel::CheckShapes(const KernelContext& context,
                                                                         const Shape& shape) const {
  const Tensor& indices = context.input(indices_);
  const Tensor& grad = context.input(inputs_.grad());
  if (shape.rank() < 1) return ShapeError(0, "var", shape, "rank 1 or more");
  SLUICE_RETURN_IF_ERROR(CheckVector(context, indices_, "indices"));
  Rows rows;
  rows.limit = shape.dim(0);
  rows.count = indices.dim(0);
  rows.inner = SizeOfAxes(shape, 1, shape.rank());
  // Further axes of one element do no harm.
  bool is_right = grad.rank() >= shape.rank() && grad.dim(0) == rows.count;
  for (int axis = 1; is_right && axis < grad.rank(); ++axis) {
    is_right = grad.dim(axis) == (axis < shape.rank() ? shape.dim(axis) : 1);
  }
  if (!is_right) {
    return ShapesError(inputs_.grad(), spec_.grad, grad.shape(),
                       absl::StrCat(rows.count, " rows of ", shape.ToString(), ", the variable's shape"));
  }
  if (spec_.refuses_empty_rows && rows.inner == 0) return ShapeError(0, "var", shape, "rows with elements");
  return rows;
}

absl::Status SparseUpdateKernel::Update(const KernelContext& context, const UpdateSetting& setting,
                                        SlotCells& cells) const {
  SLUICE_ASSIGN_OR_RETURN(Rows rows, CheckShapes(context, cells.shape()));
  const Tensor& indices = context.input(indices_);
  int64_t first_bad = 0;
  while (first_bad < rows.count) {
    const int64_t index = IndexAt(indices, first_bad);
    if (index < 0 || index >= rows.limit) break;
    ++first_bad;
  }
  absl::Status status;
  if (first_bad < rows.count) {
    status =
        ValueError(indices_, "indices", absl::StrCat("index ", IndexAt(indices, first_bad), " at position ", first_bad),
                   absl::StrCat("0 to ", rows.limit - 1, ", the variable's rows"));
    if (!spec_.keeps_before_error) return status;
    rows.count = first_bad;
  }
  if (rows.count == 0 || rows.inner == 0) return status;
  UpdateSpan span;
  SLUICE_RETURN_IF_ERROR(cells.WriteSome(&span));
  span.grad = context.input(inputs_.grad()).raw_data();
  UpdateRows(context, setting, rows, span);
  return status;
}

// Each shard goes through all rows of the gradient in order, and updates the elements that are its own: some columns of
// long rows, or else some rows of the variable. So the order is the same for any number of threads.
void SparseUpdateKernel::UpdateRows(const KernelContext& context, const UpdateSetting& setting, const Rows& rows,
                                    const UpdateSpan& span) const {
  constexpr double kMinShardNs = 50e3;
  constexpr double kRowNs = 10;
  constexpr int64_t kMinColumns = 256;
  const Tensor& indices = context.input(indices_);
  const DType dtype = context.input_type(inputs_.grad());
  const size_t element_size = DTypeSize(dtype);
  const Workers workers = WorkersOf(context);
  const double row_ns = kRowNs + static_cast<double>(rows.inner) * UnitNs(spec_, dtype);
  const double total_ns = static_cast<double>(rows.count) * row_ns;
  UpdateLoops loops = spec_.loops;
  if (rows.inner == 1 && spec_.of_single_row != nullptr) loops.of_rounded = spec_.of_single_row;
  const bool by_columns = rows.inner / kMinColumns >= workers.count();
  const double wanted = std::min<double>(total_ns / kMinShardNs, workers.count());
  const int64_t num_shards = std::max<int64_t>(1, std::min(static_cast<int64_t>(wanted), rows.limit));
  const auto update = [&](int64_t shard, int) {
    const int64_t first_row = by_columns ? 0 : PartBegin(rows.limit, num_shards, shard);
    const int64_t end_row = by_columns ? rows.limit : PartBegin(rows.limit, num_shards, shard + 1);
    const int64_t begin = by_columns ? PartBegin(rows.inner, num_shards, shard) : 0;
    const int64_t end = by_columns ? PartBegin(rows.inner, num_shards, shard + 1) : rows.inner;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t row = IndexAt(indices, i);
      if (row < first_row || row >= end_row) continue;
      const int64_t at = row * rows.inner;
      UpdateSpan part = PartOf(span, spec_.num_slots, element_size, at + begin, at + end);
      part.grad = static_cast<const char*>(span.grad) + static_cast<size_t>(i * rows.inner + begin) * element_size;
      Run(loops, dtype, part, setting);
    }
    return absl::OkStatus();
  };
  // The status is OK: nothing cancels, and no shard fails.
  static_cast<void>(workers.ForEachShard(num_shards, total_ns / static_cast<double>(num_shards), update));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> NewDenseUpdate(const KernelConstruction& construction, const void* spec) {
  const UpdateSpec& update = *static_cast<const UpdateSpec*>(spec);
  SLUICE_ASSIGN_OR_RETURN(const UpdateInputs inputs, UpdateInputs::Make(construction, update));
  return std::make_unique<DenseUpdateKernel>(update, inputs);
}

absl::StatusOr<std::unique_ptr<Kernel>> NewSparseUpdate(const KernelConstruction& construction, const void* spec) {
  const UpdateSpec& update = *static_cast<const UpdateSpec*>(spec);
  SLUICE_ASSIGN_OR_RETURN(const UpdateInputs inputs, UpdateInputs::Make(construction, update));
  SLUICE_ASSIGN_OR_RETURN(const ArgRange indices, construction.InputRange("indices"));
  return std::make_unique<SparseUpdateKernel>(update, inputs, indices.first);
}

}  // namespace sluice
