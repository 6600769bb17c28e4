#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"

namespace sluice {
namespace {

// A number that occurs in a row, and which of the inputs it is.
struct Occurrence {
  int64_t row = 0;
  int64_t number = 0;
  int64_t input = 0;
};

// What an op counts: numbers in rows, and weights, or none.
struct CountInputs {
  const Tensor& values;
  const Tensor& weights;
  int64_t rows = 1;
  bool has_rows = false;  // Whether the result has them; else it is a vector.
};

// Counts the numbers of each row; only those that occur become entries.
class CountSparseKernel : public Kernel {
 public:
  // Of the attrs.
  struct Options {
    int64_t min_length = -1;  // Of a row of the result.
    int64_t max_length = -1;  // Numbers from here on do not count; negative: all do.
    bool is_binary = false;
  };

  explicit CountSparseKernel(Options options) : options_(options) {}

  static absl::StatusOr<Options> Read(const KernelConstruction& construction) {
    Options options;
    SLUICE_ASSIGN_OR_RETURN(options.min_length, construction.Get<int64_t>("minlength"));
    SLUICE_ASSIGN_OR_RETURN(options.max_length, construction.Get<int64_t>("maxlength"));
    SLUICE_ASSIGN_OR_RETURN(options.is_binary, construction.Get<bool>("binary_output"));
    return options;
  }

 protected:
  // `row_of(i)`: the row of value `i`, which the caller has checked.
  template <typename RowOf>
  absl::Status Count(KernelContext& context, const CountInputs& in, RowOf row_of) const {
    if (in.weights.num_elements() > 0 && in.weights.shape() != in.values.shape()) {
      return ShapesError(
          absl::StrCat("weights ", in.weights.shape().ToString(), ", values ", in.values.shape().ToString()),
          "equal shapes, or no weights");
    }
    if (in.rows == 0) return Error(ErrorCode::kOpShape).Found("no rows").Expected("one or more");
    std::vector<Occurrence> found;
    int64_t largest = 0;
    for (int64_t i = 0; i < in.values.num_elements(); ++i) {
      const int64_t number = IndexAt(in.values, i);
      if (number < 0) return ValueError(absl::StrCat(number, " as value ", i), "0 or more");
      if (options_.max_length >= 0 && number >= options_.max_length) continue;
      found.push_back({row_of(i), number, i});
      largest = std::max(largest, number);
    }
    std::sort(found.begin(), found.end(), [](const Occurrence& a, const Occurrence& b) {
      return a.row != b.row ? a.row < b.row : a.number != b.number ? a.number < b.number : a.input < b.input;
    });
    SLUICE_RETURN_IF_ERROR(OutputEntries(context, in, found));
    const int64_t length = options_.max_length >= 0 ? options_.max_length : std::max(largest + 1, options_.min_length);
    return in.has_rows ? OutputVector(context, 2, {in.rows, length}) : OutputVector(context, 2, {length});
  }

 private:
  static bool IsSameEntry(const Occurrence& a, const Occurrence& b) { return a.row == b.row && a.number == b.number; }

  // Equal occurrences, which follow each other, become one entry.
  absl::Status OutputEntries(KernelContext& context, const CountInputs& in, absl::Span<const Occurrence> found) const {
    int64_t entries = 0;
    for (size_t i = 0; i < found.size(); ++i) entries += i == 0 || !IsSameEntry(found[i - 1], found[i]) ? 1 : 0;
    SLUICE_ASSIGN_OR_RETURN(Tensor* const indices,
                            context.AllocateOutput(0, Shape::Of({entries, in.has_rows ? 2 : 1})));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const counts, context.AllocateOutput(1, Shape::Of({entries})));
    int64_t* index = indices->flat<int64_t>().data();
    for (size_t i = 0; i < found.size(); ++i) {
      if (i > 0 && IsSameEntry(found[i - 1], found[i])) continue;
      if (in.has_rows) *index++ = found[i].row;
      *index++ = found[i].number;
    }
    const bool is_weighted = in.weights.num_elements() > 0 && !options_.is_binary;
    DispatchDType<TypeList<float, double, int32_t, int64_t>>(counts->dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      T* count = counts->flat<T>().data();
      for (size_t i = 0; i < found.size(); ++count) {
        T sum = 0;
        const size_t first = i;
        for (; i < found.size() && IsSameEntry(found[first], found[i]); ++i) {
          sum = AddElements()(sum, is_weighted ? in.weights.flat<T>()[static_cast<size_t>(found[i].input)] : T(1));
        }
        *count = options_.is_binary ? T(1) : sum;
      }
    });
    return absl::OkStatus();
  }

  const Options options_;
};

// DenseCountSparseOutput: of a vector, or of each row of a matrix.
class DenseCountKernel : public CountSparseKernel {
 public:
  using CountSparseKernel::CountSparseKernel;

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& values = context.input(0);
    if (values.rank() != 1 && values.rank() != 2) {
      return ShapeError(0, "values", values.shape(), "a vector or a matrix");
    }
    const bool has_rows = values.rank() == 2;
    const int64_t width = has_rows ? values.dim(1) : values.num_elements();
    return Count(context, {values, context.input(1), has_rows ? values.dim(0) : 1, has_rows},
                 [width](int64_t i) { return i / width; });
  }
};

// SparseCountSparseOutput: of a sparse vector, or of the rows of a sparse tensor of more axes.
class SparseCountKernel : public CountSparseKernel {
 public:
  using CountSparseKernel::CountSparseKernel;

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kInside));
    if (sparse.rank == 0) return ShapeError(2, "dense_shape", "a scalar", "rank 1 or more");
    const bool has_rows = sparse.rank > 1;
    return Count(context, {context.input(1), context.input(3), has_rows ? sparse.shape.dim(0) : 1, has_rows},
                 [&](int64_t i) { return has_rows ? sparse.at(i)[0] : 0; });
  }
};

// RaggedCountSparseOutput: of each row, where row r is values [splits[r], splits[r + 1]).
class RaggedCountKernel : public CountSparseKernel {
 public:
  using CountSparseKernel::CountSparseKernel;

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& splits = context.input(0);
    const Tensor& values = context.input(1);
    if (splits.rank() != 1 || splits.num_elements() < 2 || values.rank() != 1) {
      return ShapesError(absl::StrCat("splits ", splits.shape().ToString(), ", values ", values.shape().ToString()),
                         "vectors, the splits of two elements or more");
    }
    const absl::Span<const int64_t> ends = splits.flat<int64_t>();
    if (ends.front() != 0 || ends.back() != values.num_elements() || !std::is_sorted(ends.begin(), ends.end())) {
      return ValueError(0, "splits", absl::StrCat("splits from ", ends.front(), " to ", ends.back()),
                        absl::StrCat("ascending ones from 0 to ", values.num_elements(), ", as there are values"));
    }
    size_t row = 0;
    return Count(context, {values, context.input(2), splits.num_elements() - 1, /*has_rows=*/true}, [&](int64_t i) {
      while (ends[row + 1] <= i) ++row;
      return static_cast<int64_t>(row);
    });
  }
};

template <typename K>
constexpr KernelRow Row(const char* op) {
  return KernelRow(op, &NewWith<K, &CountSparseKernel::Read>).Types("T", kIndexTypes);
}

constexpr KernelRow kRows[] = {
    Row<DenseCountKernel>("DenseCountSparseOutput"),
    Row<RaggedCountKernel>("RaggedCountSparseOutput"),
    Row<SparseCountKernel>("SparseCountSparseOutput"),
};

}  // namespace

absl::Span<const KernelRow> CountSparseKernels() { return kRows; }

}  // namespace sluice
