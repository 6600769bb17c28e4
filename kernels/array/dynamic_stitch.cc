#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/input_error.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// The dimensions of `data` after those of `indices`. kOpShapes when these are not the first ones of `data`.
absl::StatusOr<IndexVector> RowShape(const Shape& data, const Shape& indices, int input) {
  bool fits = indices.rank() <= data.rank();
  for (int axis = 0; fits && axis < indices.rank(); ++axis) fits = data.dim(axis) == indices.dim(axis);
  if (!fits) return ShapesError(input, "data", data, absl::StrCat("a shape that begins with ", indices.ToString()));
  return IndexVector(data.dims().begin() + indices.rank(), data.dims().end());
}

int64_t Product(const IndexVector& dims) {
  int64_t product = 1;
  for (const int64_t size : dims) product *= size;
  return product;
}

// --- DynamicPartition --------------------------------------------------------------------------------------------

// Row i goes to output partitions[i].
absl::Status ComputeDynamicPartition(KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& partitions = context.input(1);
  SLUICE_ASSIGN_OR_RETURN(const IndexVector row, RowShape(data.shape(), partitions.shape(), 0));
  const absl::Span<const int32_t> numbers = partitions.flat<int32_t>();
  std::vector<int64_t> counts(static_cast<size_t>(context.num_outputs()), 0);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= context.num_outputs()) {
      return ValueError(1, "partitions", absl::StrCat(numbers[i], " at ", i),
                        absl::StrCat("0 to ", context.num_outputs() - 1));
    }
    ++counts[static_cast<size_t>(numbers[i])];
  }
  std::vector<Tensor*> outputs;
  for (int i = 0; i < context.num_outputs(); ++i) {
    IndexVector dims(row);
    dims.insert(dims.begin(), counts[static_cast<size_t>(i)]);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
    outputs.push_back(output);
  }
  const int64_t size = Product(row);
  DispatchMoved(data.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::vector<T*> next;
    for (Tensor* output : outputs) next.push_back(Elements<T>(*output));
    const T* from = Elements<T>(data);
    for (const int32_t number : numbers) {
      T*& to = next[static_cast<size_t>(number)];
      to = std::copy_n(from, size, to);
      from += size;
    }
  });
  return absl::OkStatus();
}

// --- DynamicStitch -----------------------------------------------------------------------------------------------

// One row more than the largest index; all indices are checked.
absl::StatusOr<int64_t> StitchedRows(const KernelContext& context, int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    for (const int32_t index : context.input(i).flat<int32_t>()) {
      if (index < 0) return ValueError(i, "indices", index, "0 or more");
      rows = std::max<int64_t>(rows, int64_t{index} + 1);
    }
  }
  return rows;
}

// Row j of data[i] becomes row indices[i][j]; of several the last one counts.
absl::Status ComputeDynamicStitch(KernelContext& context) {
  const int count = context.num_inputs() / 2;
  if (count < 1) return AttrError("N", "0", "1 or more");
  SLUICE_ASSIGN_OR_RETURN(const int64_t rows, StitchedRows(context, count));
  IndexVector row;
  for (int i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const IndexVector other,
                            RowShape(context.input(count + i).shape(), context.input(i).shape(), count + i));
    if (i > 0 && other != row) {
      return ShapesError(count + i, "data", context.input(count + i).shape(),
                         absl::StrCat("rows as in ", context.input(count).shape().ToString()));
    }
    row = other;
  }
  IndexVector dims(row);
  dims.insert(dims.begin(), rows);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (IsTrivial(output->dtype())) std::memset(output->mutable_raw_data(), 0, output->total_bytes());
  const int64_t size = Product(row);
  DispatchMoved(output->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const to = Elements<T>(*output);
    for (int i = 0; i < count; ++i) {
      const T* from = Elements<T>(context.input(count + i));
      for (const int32_t index : context.input(i).flat<int32_t>()) {
        std::copy_n(from, size, to + index * size);
        from += size;
      }
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("DynamicPartition", &Call<ComputeDynamicPartition>),
    KernelRow("DynamicStitch", &Call<ComputeDynamicStitch>),
    KernelRow("ParallelDynamicStitch", &Call<ComputeDynamicStitch>),
};

}  // namespace

absl::Span<const KernelRow> DynamicStitchKernels() { return kRows; }

}  // namespace sluice
