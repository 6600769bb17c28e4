#include <algorithm>
#include <memory>
#include <string>
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
#include "kernels/ragged/families.h"
#include "kernels/ragged/row_splits.h"

namespace sluice {
namespace {

// How an input says which rows belong together.
enum class Partition : uint8_t { kFirstDimSize, kValueRowids, kRowSplits };

constexpr int kShape = 0, kValues = 1, kDefault = 2, kFirstPartition = 3;
constexpr int64_t kNowhere = -1;

// The longest run of equal row ids.
int64_t LongestRun(const Tensor& ids) {
  int64_t longest = 0, run = 0;
  for (int64_t i = 0; i < ids.num_elements(); ++i) {
    run = i > 0 && IndexAt(ids, i) == IndexAt(ids, i - 1) ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

// A ragged tensor as a dense one, filled up with a default where rows are short and cut where they are long.
class RaggedToTensorKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction);
  absl::Status Compute(KernelContext& context) const override;

 private:
  int ragged_rank() const { return static_cast<int>(partitions_.size()) - (has_size_ ? 1 : 0); }
  // The input that says how ragged axis `axis`, from 0 on, is parted, and the form it has.
  int PartitionInput(int axis) const { return kFirstPartition + axis + (has_size_ ? 1 : 0); }
  Partition PartitionOf(int axis) const { return partitions_[static_cast<size_t>(axis + (has_size_ ? 1 : 0))]; }

  absl::Status CheckPartitions(const KernelContext& context) const;
  int64_t FirstSize(const KernelContext& context) const;
  absl::StatusOr<IndexVector> OutputDims(const KernelContext& context, int64_t first_size) const;
  // Whether `places` of the rows above lead to those of the rows of `axis`, one for each: the row's place in the
  // result, or kNowhere. `step` is the distance of two rows and `most` how many of them the result has.
  absl::StatusOr<Tensor> PlaceRows(KernelContext& context, int axis, const Tensor& above, int64_t step,
                                   int64_t most) const;
  absl::StatusOr<Tensor> PlaceSplits(KernelContext& context, int input, const Tensor& above, int64_t step,
                                     int64_t most) const;
  absl::StatusOr<Tensor> PlaceRowids(KernelContext& context, int input, const Tensor& above, int64_t step,
                                     int64_t most) const;
  absl::Status Fill(KernelContext& context, const Shape& row, Tensor* out) const;

  std::vector<Partition> partitions_;
  bool has_size_ = false;  // Whether the first partition is a size.
};

absl::StatusOr<std::unique_ptr<Kernel>> RaggedToTensorKernel::Make(const KernelConstruction& construction) {
  auto kernel = std::make_unique<RaggedToTensorKernel>();
  SLUICE_ASSIGN_OR_RETURN(const auto names, construction.Get<std::vector<std::string>>("row_partition_types"));
  SLUICE_ASSIGN_OR_RETURN(const ArgRange tensors, construction.InputRange("row_partition_tensors"));
  const auto bad = [](absl::string_view found, absl::string_view expected) {
    return AttrError("row_partition_types", found, expected);
  };
  if (static_cast<int>(names.size()) != tensors.count) {
    return bad(absl::StrCat(names.size(), " types"), absl::StrCat(tensors.count, ", one for each partition tensor"));
  }
  for (const std::string& name : names) {
    const bool is_first = kernel->partitions_.empty();
    if (name == "ROW_SPLITS") {
      kernel->partitions_.push_back(Partition::kRowSplits);
    } else if (name == "FIRST_DIM_SIZE" && is_first) {
      kernel->partitions_.push_back(Partition::kFirstDimSize);
      kernel->has_size_ = true;
    } else if (name == "VALUE_ROWIDS" && !is_first) {
      kernel->partitions_.push_back(Partition::kValueRowids);
    } else {
      return bad(PrintableName(name),
                 is_first ? "FIRST_DIM_SIZE or ROW_SPLITS at first" : "ROW_SPLITS or VALUE_ROWIDS");
    }
  }
  return kernel;
}

absl::Status RaggedToTensorKernel::CheckPartitions(const KernelContext& context) const {
  if (context.input(kValues).rank() == 0) return ShapeError(kValues, "values", "a scalar", "one dimension or more");
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const int input = kFirstPartition + static_cast<int>(i);
    const int rank = partitions_[i] == Partition::kFirstDimSize ? 0 : 1;
    const Tensor& partition = context.input(input);
    if (partition.rank() != rank || (partitions_[i] == Partition::kRowSplits && partition.num_elements() == 0)) {
      return ShapeError(input, "row_partition_tensors", partition.shape(),
                        rank == 0 ? "a scalar" : "a vector that is not empty");
    }
  }
  if (has_size_ && IndexAt(context.input(kFirstPartition), 0) < 0) {
    return ValueError(kFirstPartition, "row_partition_tensors", IndexAt(context.input(kFirstPartition), 0),
                      "a number of rows");
  }
  return absl::OkStatus();
}

int64_t RaggedToTensorKernel::FirstSize(const KernelContext& context) const {
  const Tensor& first = context.input(kFirstPartition);
  return has_size_ ? IndexAt(first, 0) : first.num_elements() - 1;
}

absl::StatusOr<IndexVector> RaggedToTensorKernel::OutputDims(const KernelContext& context, int64_t first_size) const {
  const Tensor& values = context.input(kValues);
  const Tensor& wanted = context.input(kShape);
  const int rank = ragged_rank() + values.rank();
  IndexVector dims(static_cast<size_t>(rank), -1);
  if (wanted.rank() == 0 ? IndexAt(wanted, 0) != -1 : wanted.rank() != 1 || wanted.num_elements() != rank) {
    return ShapeError(kShape, "shape",
                      wanted.rank() == 0 ? absl::StrCat(IndexAt(wanted, 0)) : wanted.shape().ToString(),
                      absl::StrCat("-1, or the ", rank, " sizes of the result"));
  }
  for (int axis = 0; axis < rank; ++axis) {
    int64_t& dim = dims[static_cast<size_t>(axis)];
    if (wanted.rank() == 1) dim = IndexAt(wanted, axis);
    if (axis > ragged_rank()) {
      const int64_t own = values.dim(axis - ragged_rank());
      if (dim == -1) dim = own;
      if (dim == own) continue;
    } else if (dim == -1) {
      const Tensor* const partition = axis > 0 ? &context.input(PartitionInput(axis - 1)) : nullptr;
      dim = axis == 0                                        ? first_size
            : PartitionOf(axis - 1) == Partition::kRowSplits ? LongestRow(*partition)
                                                             : LongestRun(*partition);
      continue;
    } else if (dim >= 0) {
      continue;
    }
    return ShapeError(kShape, "shape", absl::StrCat(dim, " for axis ", axis),
                      axis > ragged_rank()
                          ? absl::StrCat("-1, or ", values.dim(axis - ragged_rank()), " as values have")
                          : "-1 or a size");
  }
  return dims;
}

absl::StatusOr<Tensor> RaggedToTensorKernel::PlaceSplits(KernelContext& context, int input, const Tensor& above,
                                                         int64_t step, int64_t most) const {
  const Tensor& splits = context.input(input);
  const int64_t rows = splits.num_elements() - 1;
  int64_t before = 0;
  for (int64_t i = 0; i <= rows; ++i) {
    const int64_t split = IndexAt(splits, i);
    if (rows <= above.num_elements() && split >= before && (i > 0 || split == 0)) {
      before = split;
      continue;
    }
    return ValueError(input, "row_partition_tensors", absl::StrCat(split, " as split ", i, " of ", rows + 1),
                      absl::StrCat("ascending splits from 0 on, of at most ", above.num_elements(), " rows"));
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({before}));
  SLUICE_ASSIGN_OR_RETURN(Tensor places, context.AllocateTemp(DType::kInt64, shape));
  int64_t* to = places.flat<int64_t>().data();
  for (int64_t row = 0; row < rows; ++row) {
    int64_t place = above.flat<int64_t>()[static_cast<size_t>(row)];
    const int64_t length = IndexAt(splits, row + 1) - IndexAt(splits, row);
    const int64_t kept = place == kNowhere ? 0 : std::min(length, most);
    for (int64_t i = 0; i < kept; ++i, place += step) *to++ = place;
    to = std::fill_n(to, length - kept, kNowhere);
  }
  return places;
}

absl::StatusOr<Tensor> RaggedToTensorKernel::PlaceRowids(KernelContext& context, int input, const Tensor& above,
                                                         int64_t step, int64_t most) const {
  const Tensor& ids = context.input(input);
  SLUICE_ASSIGN_OR_RETURN(Tensor places, context.AllocateTemp(DType::kInt64, ids.shape()));
  int64_t column = 0;
  for (int64_t i = 0; i < ids.num_elements(); ++i) {
    const int64_t id = IndexAt(ids, i);
    if (id < 0 || id >= above.num_elements()) {
      return ValueError(input, "row_partition_tensors", absl::StrCat(id, " as row id ", i),
                        absl::StrCat("0 to ", above.num_elements() - 1));
    }
    column = i > 0 && id == IndexAt(ids, i - 1) ? column + 1 : 0;
    const int64_t first = above.flat<int64_t>()[static_cast<size_t>(id)];
    places.flat<int64_t>()[static_cast<size_t>(i)] =
        first == kNowhere || column >= most ? kNowhere : first + column * step;
  }
  return places;
}

absl::StatusOr<Tensor> RaggedToTensorKernel::PlaceRows(KernelContext& context, int axis, const Tensor& above,
                                                       int64_t step, int64_t most) const {
  const int input = PartitionInput(axis);
  return PartitionOf(axis) == Partition::kRowSplits ? PlaceSplits(context, input, above, step, most)
                                                    : PlaceRowids(context, input, above, step, most);
}

// Fills `out` with the default value, which is broadcast to a row of the values.
absl::Status RaggedToTensorKernel::Fill(KernelContext& context, const Shape& row, Tensor* out) const {
  const Tensor& otherwise = context.input(kDefault);
  bool fits = otherwise.rank() <= row.rank();
  for (int axis = 0; fits && axis < otherwise.rank(); ++axis) {
    const int64_t own = otherwise.dim(axis);
    fits = own == 1 || own == row.dim(row.rank() - otherwise.rank() + axis);
  }
  if (!fits) {
    return ShapeError(kDefault, "default_value", otherwise.shape(),
                      absl::StrCat("a shape that is broadcast to ", row.ToString(), ", a row of the values"));
  }
  if (out->num_elements() == 0) return absl::OkStatus();
  // Which element of the default stands at each place of a row.
  std::vector<int64_t> from(static_cast<size_t>(row.num_elements()), 0);
  const IndexVector strides = RowMajorStrides(otherwise.shape());
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t left = static_cast<int64_t>(i);
    for (int axis = row.rank() - 1, own = otherwise.rank() - 1; own >= 0; --axis, --own) {
      if (otherwise.dim(own) > 1) from[i] += left % row.dim(axis) * strides[static_cast<size_t>(own)];
      left /= row.dim(axis);
    }
  }
  DispatchMoved(out->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const value = Elements<T>(otherwise);
    T* const to = Elements<T>(*out);
    const int64_t inner = row.num_elements();
    context.ParallelFor(out->num_elements() / inner, kMoveNs<T> * static_cast<double>(inner),
                        [&](int64_t begin, int64_t end) {
                          if (otherwise.num_elements() == 1) {
                            std::fill(to + begin * inner, to + end * inner, value[0]);
                            return;
                          }
                          for (int64_t i = begin * inner; i < end * inner; ++i) {
                            to[i] = value[from[static_cast<size_t>(i % inner)]];
                          }
                        });
  });
  return absl::OkStatus();
}

absl::Status RaggedToTensorKernel::Compute(KernelContext& context) const {
  SLUICE_RETURN_IF_ERROR(CheckPartitions(context));
  const Tensor& values = context.input(kValues);
  const int64_t first_size = FirstSize(context);
  SLUICE_ASSIGN_OR_RETURN(const IndexVector dims, OutputDims(context, first_size));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(const Shape row, MakeShape(values.shape().dims().subspan(1)));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  SLUICE_RETURN_IF_ERROR(Fill(context, row, out));
  if (out->num_elements() == 0) return absl::OkStatus();
  // Places are counted in rows of the values.
  int64_t step = SizeOfAxes(shape, 1, ragged_rank() + 1);
  SLUICE_ASSIGN_OR_RETURN(const Shape first_shape, MakeShape({first_size}));
  SLUICE_ASSIGN_OR_RETURN(Tensor places, context.AllocateTemp(DType::kInt64, first_shape));
  for (int64_t i = 0; i < first_size; ++i) {
    places.flat<int64_t>()[static_cast<size_t>(i)] = i < dims[0] ? i * step : kNowhere;
  }
  for (int axis = 0; axis < ragged_rank(); ++axis) {
    const int64_t most = dims[static_cast<size_t>(axis) + 1];
    step /= most;
    SLUICE_ASSIGN_OR_RETURN(places, PlaceRows(context, axis, places, step, most));
  }
  if (places.num_elements() != values.dim(0)) {
    return ShapeError(kValues, "values", values.shape(),
                      absl::StrCat(places.num_elements(), " rows, as the partitions say"));
  }
  DispatchMoved(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const from = Elements<T>(values);
    T* const to = Elements<T>(*out);
    const int64_t inner = row.num_elements();
    context.ParallelFor(values.dim(0), 2 + kMoveNs<T> * static_cast<double>(inner), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t place = places.flat<int64_t>()[static_cast<size_t>(i)];
        if (place != kNowhere) std::copy_n(from + i * inner, inner, to + place * inner);
      }
    });
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("RaggedTensorToTensor", &New<RaggedToTensorKernel>)
        .Types("Tindex", kIndexTypes)
        .Types("Tshape", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> RaggedToTensorKernels() { return kRows; }

}  // namespace sluice
