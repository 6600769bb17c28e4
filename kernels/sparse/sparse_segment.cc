#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/wide_type.h"

namespace sluice {
namespace {

// What becomes of the sum of a segment of n rows.
enum class SegmentScale {
  kSum,
  kMean,   // Divided by n.
  kSqrtN,  // Divided by the square root of n.
};

SegmentScale ScaleOf(absl::string_view op) {
  if (absl::StrContains(op, "Mean")) return SegmentScale::kMean;
  return absl::StrContains(op, "SqrtN") ? SegmentScale::kSqrtN : SegmentScale::kSum;
}

double Divisor(SegmentScale scale, int64_t count) {
  if (scale == SegmentScale::kSum || count == 0) return 1;
  return scale == SegmentScale::kMean ? static_cast<double>(count) : std::sqrt(static_cast<double>(count));
}

// Row rows[i] of the data belongs to segment segments[i].
struct SegmentEntries {
  const Tensor& rows;
  const Tensor& segments;

  int64_t size() const { return rows.num_elements(); }
  int64_t row(int64_t i) const { return IndexAt(rows, i); }
  int64_t segment(int64_t i) const { return IndexAt(segments, i); }
};

// Checks rows against `num_rows`, and segments against `num_segments`; these may be in any order where `any_order`.
absl::Status CheckEntries(const SegmentEntries& entries, int64_t num_rows, int64_t num_segments, bool any_order) {
  if (entries.rows.rank() != 1 || entries.segments.shape() != entries.rows.shape()) {
    return ShapesError(absl::StrCat("indices ", entries.rows.shape().ToString(), ", segment_ids ",
                                    entries.segments.shape().ToString()),
                       "two vectors of one length");
  }
  int64_t last = 0;
  for (int64_t i = 0; i < entries.size(); ++i) {
    const int64_t row = entries.row(i), segment = entries.segment(i);
    if (row < 0 || row >= num_rows) {
      return ValueError(1, "indices", absl::StrCat(row, " at ", i), absl::StrCat("0 to ", num_rows - 1));
    }
    if (segment < last || segment >= num_segments) {
      return ValueError(
          2, "segment_ids", absl::StrCat(segment, " at ", i),
          absl::StrCat("numbers from ", last, " to ", num_segments - 1, any_order ? "" : " that do not decrease"));
    }
    if (!any_order) last = segment;
  }
  return absl::OkStatus();
}

// The shape of `like` with another number of rows.
absl::StatusOr<Shape> WithRows(const Shape& like, int64_t rows) {
  IndexVector dims(like.dims().begin(), like.dims().end());
  dims[0] = rows;
  return MakeShape(dims);
}

absl::Status CheckHasRows(const Tensor& tensor, absl::string_view name) {
  if (tensor.rank() > 0) return absl::OkStatus();
  return ShapeError(0, name, "a scalar", "at least a vector");
}

// --- Sums of rows -------------------------------------------------------------------------------------------------

// Where the entries of each segment begin, and where the last one ends.
absl::StatusOr<Tensor> SegmentBegins(KernelContext& context, const SegmentEntries& entries, int64_t num_segments) {
  SLUICE_ASSIGN_OR_RETURN(Tensor begins, context.AllocateTemp(DType::kInt64, Shape::Of({num_segments + 1})));
  const absl::Span<int64_t> out = begins.flat<int64_t>();
  int64_t next = 0;
  for (int64_t i = 0; i < entries.size(); ++i) {
    for (; next <= entries.segment(i); ++next) out[static_cast<size_t>(next)] = i;
  }
  for (; next <= num_segments; ++next) out[static_cast<size_t>(next)] = entries.size();
  return begins;
}

// Segments [first, last) of `out`, in blocks of columns that stay in the nearest memory.
template <typename T>
void SumSegments(const SegmentEntries& entries, absl::Span<const int64_t> begins, SegmentScale scale, const T* data,
                 int64_t width, int64_t first, int64_t last, T* out) {
  constexpr int64_t kBlock = 256;
  Wide<T> sums[kBlock];
  for (int64_t segment = first; segment < last; ++segment) {
    const int64_t begin = begins[static_cast<size_t>(segment)], end = begins[static_cast<size_t>(segment) + 1];
    const Wide<T> divisor = static_cast<Wide<T>>(Divisor(scale, end - begin));
    for (int64_t left = 0; left < width; left += kBlock) {
      const int64_t count = std::min(kBlock, width - left);
      std::fill_n(sums, count, Wide<T>(0));
      for (int64_t i = begin; i < end; ++i) {
        const T* const row = data + entries.row(i) * width + left;
        for (int64_t k = 0; k < count; ++k) sums[k] = static_cast<Wide<T>>(sums[k] + static_cast<Wide<T>>(row[k]));
      }
      T* const to = out + segment * width + left;
      if (scale != SegmentScale::kSum) {
        for (int64_t k = 0; k < count; ++k) sums[k] = static_cast<Wide<T>>(sums[k] / divisor);
      }
      for (int64_t k = 0; k < count; ++k) to[k] = T(sums[k]);
    }
  }
}

// Sums, or means, of the rows that each segment names. Thread-safe.
class SparseSegmentKernel : public Kernel {
 public:
  explicit SparseSegmentKernel(SegmentScale scale) : scale_(scale) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    return std::make_unique<SparseSegmentKernel>(ScaleOf(construction.op()));
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& data = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckHasRows(data, "data"));
    const SegmentEntries entries{context.input(1), context.input(2)};
    int64_t num_segments = std::numeric_limits<int64_t>::max() - 1;
    if (context.num_inputs() > 3) {
      SLUICE_ASSIGN_OR_RETURN(num_segments, ReadCount(context, 3, "num_segments"));
    }
    SLUICE_RETURN_IF_ERROR(CheckEntries(entries, data.dim(0), num_segments, /*any_order=*/false));
    if (context.num_inputs() == 3) num_segments = entries.size() == 0 ? 0 : entries.segment(entries.size() - 1) + 1;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithRows(data.shape(), num_segments));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t width = shape.num_elements() / num_segments;
    SLUICE_ASSIGN_OR_RETURN(const Tensor begins, SegmentBegins(context, entries, num_segments));
    const double rows = static_cast<double>(entries.size() + num_segments) / static_cast<double>(num_segments);
    DispatchDType<Join<FloatCppTypes, UnsignedCppTypes>>(AsUnsigned(data.dtype()), [&](auto type) {
      using T = typename decltype(type)::Type;
      context.ParallelFor(num_segments, rows * (5 + 0.3 * static_cast<double>(width)), [&](int64_t b, int64_t e) {
        SumSegments(entries, begins.flat<int64_t>(), scale_, Elements<T>(data), width, b, e, Elements<T>(*out));
      });
    });
    return absl::OkStatus();
  }

 private:
  const SegmentScale scale_;
};

// --- Gradients ----------------------------------------------------------------------------------------------------

// The gradient with respect to the data: to row rows[i] goes the gradient of segment segments[i], scaled. In the second
// form only rows that get any are there, and which ones is the second output.
class SparseSegmentGradKernel : public Kernel {
 public:
  explicit SparseSegmentGradKernel(SegmentScale scale) : scale_(scale) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    return std::make_unique<SparseSegmentGradKernel>(ScaleOf(construction.op()));
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& grad = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckHasRows(grad, "grad"));
    const SegmentEntries entries{context.input(1), context.input(2)};
    SLUICE_ASSIGN_OR_RETURN(int64_t num_rows, ReadCount(context, 3, "output_dim0"));
    if (num_rows == 0) return OutputNothing(context, grad.shape());  // Whatever the entries say, as in TensorFlow.
    SLUICE_RETURN_IF_ERROR(CheckEntries(entries, num_rows, grad.dim(0), /*any_order=*/true));
    std::vector<int64_t> places(static_cast<size_t>(entries.size()));
    for (size_t i = 0; i < places.size(); ++i) places[i] = entries.row(static_cast<int64_t>(i));
    if (context.num_outputs() > 1) {
      SLUICE_ASSIGN_OR_RETURN(num_rows, OutputUnique(context, places));
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithRows(grad.shape(), num_rows));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const std::vector<double> factors = Factors(entries, grad.dim(0));
    DispatchDType<FloatCppTypes>(grad.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      Spread(context, entries, places, factors, grad.flat<T>().data(), shape.num_elements() / num_rows, out->flat<T>());
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status OutputNothing(KernelContext& context, const Shape& grad) {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithRows(grad, 0));
    SLUICE_RETURN_IF_ERROR(context.AllocateOutput(0, shape).status());
    if (context.num_outputs() == 1) return absl::OkStatus();
    return context.AllocateOutput(1, Shape::Of({0})).status();
  }

  // Gives the different rows in order, and makes of each of `places` its place among them. How many there are.
  static absl::StatusOr<int64_t> OutputUnique(KernelContext& context, std::vector<int64_t>& places) {
    std::vector<int64_t> rows = places;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (int64_t& place : places) place = std::lower_bound(rows.begin(), rows.end(), place) - rows.begin();
    SLUICE_RETURN_IF_ERROR(SetIndexOutput(context, 1, rows));
    return static_cast<int64_t>(rows.size());
  }

  std::vector<double> Factors(const SegmentEntries& entries, int64_t num_segments) const {
    if (scale_ == SegmentScale::kSum) return {};
    std::vector<int64_t> counts(static_cast<size_t>(num_segments), 0);
    for (int64_t i = 0; i < entries.size(); ++i) ++counts[static_cast<size_t>(entries.segment(i))];
    std::vector<double> factors(counts.size());
    for (size_t s = 0; s < factors.size(); ++s) factors[s] = 1 / Divisor(scale_, counts[s]);
    return factors;
  }

  // Every thread has columns of its own, so that each sum is made in the order of the entries.
  template <typename T>
  static void Spread(KernelContext& context, const SegmentEntries& entries, const std::vector<int64_t>& places,
                     const std::vector<double>& factors, const T* grad, int64_t width, absl::Span<T> out) {
    constexpr int64_t kColumns = 64;
    std::fill(out.begin(), out.end(), T(0.0f));
    const int64_t blocks = (width + kColumns - 1) / kColumns;
    const double block_ns =
        static_cast<double>(entries.size()) * (5 + 0.3 * static_cast<double>(std::min(width, kColumns)));
    context.ParallelFor(blocks, block_ns, [&](int64_t begin, int64_t end) {
      const int64_t left = begin * kColumns, right = std::min(width, end * kColumns);
      for (size_t i = 0; i < places.size(); ++i) {
        const int64_t segment = entries.segment(static_cast<int64_t>(i));
        const Wide<T> factor = static_cast<Wide<T>>(factors.empty() ? 1 : factors[static_cast<size_t>(segment)]);
        const T* const from = grad + segment * width;
        T* const to = out.data() + places[i] * width;
        for (int64_t k = left; k < right; ++k) {
          to[k] = T(static_cast<Wide<T>>(to[k]) + static_cast<Wide<T>>(from[k]) * factor);
        }
      }
    });
  }

  const SegmentScale scale_;
};

constexpr KernelRow Forward(absl::string_view op, DTypeSet types) {
  return KernelRow(op, &New<SparseSegmentKernel>).Types("T", types);
}
constexpr KernelRow Backward(absl::string_view op) {
  return KernelRow(op, &New<SparseSegmentGradKernel>).Types("T", kFloatTypes);
}

constexpr KernelRow kRows[] = {
    Forward("SparseSegmentSum", kRealTypes),
    Forward("SparseSegmentMean", kFloatTypes),
    Forward("SparseSegmentSqrtN", kFloatTypes),
    Forward("SparseSegmentSumWithNumSegments", kRealTypes),
    Forward("SparseSegmentMeanWithNumSegments", kFloatTypes),
    Forward("SparseSegmentSqrtNWithNumSegments", kFloatTypes),
    Backward("SparseSegmentSumGrad"),
    Backward("SparseSegmentMeanGrad"),
    Backward("SparseSegmentSqrtNGrad"),
    Backward("SparseSegmentSumGradV2"),
    Backward("SparseSegmentMeanGradV2"),
    Backward("SparseSegmentSqrtNGradV2"),
};

}  // namespace

absl::Span<const KernelRow> SparseSegmentKernels() { return kRows; }

}  // namespace sluice
