#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/new_by_type.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"
#include "kernels/sparse/wide_type.h"

namespace sluice {
namespace {

// --- Two sparse tensors become one --------------------------------------------------------------------------------

// Combines the values of two entries into `to`; a null pointer means that the tensor has no entry there. Returns
// whether the result is kept as an entry.
using Combine = bool (*)(const void* a, const void* b, const void* threshold, void* to);

// The sum; of two entries only where it is at least as large as the threshold.
template <typename T>
bool AddValues(const void* a, const void* b, const void* threshold, void* to) {
  using Real = typename std::conditional_t<
      std::is_same<T, std::complex<float>>::value, TypeTag<float>,
      std::conditional_t<std::is_same<T, std::complex<double>>::value, TypeTag<double>, TypeTag<T>>>::Type;
  Wide<T> sum(0);
  if (a != nullptr) sum = static_cast<Wide<T>>(*static_cast<const T*>(a));
  if (b != nullptr) sum = static_cast<Wide<T>>(sum + static_cast<Wide<T>>(*static_cast<const T*>(b)));
  const T value = static_cast<T>(sum);
  *static_cast<T*>(to) = value;
  if (a == nullptr || b == nullptr) return true;
  const Real limit = *static_cast<const Real*>(threshold);
  if constexpr (std::is_integral<T>::value) {
    return limit <= (value < 0 ? -static_cast<int64_t>(value + (value == std::numeric_limits<T>::min())) : value);
  } else {
    return limit <= std::abs(value);
  }
}

// The larger or the smaller value, as Maximum and Minimum choose it; what is not there is 0.
template <typename T, typename Op>
bool ChooseValue(const void* a, const void* b, const void*, void* to) {
  using Compared = std::conditional_t<std::is_integral<T>::value, T, Wide<T>>;
  const Compared x = a != nullptr ? static_cast<Compared>(*static_cast<const T*>(a)) : Compared(0);
  const Compared y = b != nullptr ? static_cast<Compared>(*static_cast<const T*>(b)) : Compared(0);
  *static_cast<T*>(to) = T(Op::Apply(x, y));
  return true;
}

// One entry of the result: an entry of `a`, or of `b`, or both; -1: none.
struct Pair {
  int64_t a, b;
};

std::vector<Pair> PairsOf(const SparseInput& a, const SparseInput& b) {
  std::vector<Pair> pairs;
  pairs.reserve(static_cast<size_t>(a.entries + b.entries));
  int64_t i = 0, j = 0;
  while (i < a.entries || j < b.entries) {
    const int order = i == a.entries ? 1 : j == b.entries ? -1 : CompareIndices(a.at(i), b.at(j), a.rank);
    pairs.push_back({order <= 0 ? i++ : -1, order >= 0 ? j++ : -1});
  }
  return pairs;
}

// The entries of both operands, those of equal indices combined. Thread-safe.
class MergeKernel : public Kernel {
 public:
  // As in TensorFlow, SparseAdd takes indices as they come.
  MergeKernel(Combine combine, IndexRule rule) : combine_(combine), rule_(rule) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput a, ReadSparse(context, 0, rule_, SizeRule::kAny));
    SLUICE_ASSIGN_OR_RETURN(const SparseInput b, ReadSparse(context, 3, rule_, SizeRule::kAny));
    if (a.dims != b.dims) {
      return ShapesError(absl::StrCat("[", absl::StrJoin(a.dims, ","), "] and [", absl::StrJoin(b.dims, ","), "]"),
                         "equal shapes");
    }
    const void* threshold = nullptr;
    if (context.num_inputs() > 6) {
      SLUICE_RETURN_IF_ERROR(CheckScalar(context, 6, "thresh"));
      threshold = context.input(6).raw_data();
    }
    std::vector<Pair> pairs = PairsOf(a, b);
    const size_t size = DTypeSize(a.values->dtype());
    std::vector<char> values(pairs.size() * size);
    size_t kept = 0;
    for (const Pair& pair : pairs) {
      const void* const x = pair.a < 0 ? nullptr : Element(a, pair.a, size);
      const void* const y = pair.b < 0 ? nullptr : Element(b, pair.b, size);
      if (combine_(x, y, threshold, values.data() + kept * size)) pairs[kept++] = pair;
    }
    pairs.resize(kept);
    return Give(context, a, b, pairs, values.data());
  }

 private:
  static const void* Element(const SparseInput& sparse, int64_t i, size_t size) {
    return static_cast<const char*>(sparse.values->raw_data()) + static_cast<size_t>(i) * size;
  }

  static absl::Status Give(KernelContext& context, const SparseInput& a, const SparseInput& b,
                           const std::vector<Pair>& pairs, const char* combined) {
    const int64_t count = static_cast<int64_t>(pairs.size());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, Shape::Of({count, a.rank})));
    int64_t* at = indices->flat<int64_t>().data();
    for (const Pair& pair : pairs) {
      at = std::copy_n(pair.a >= 0 ? a.at(pair.a) : b.at(pair.b), a.rank, at);
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({count})));
    std::copy_n(combined, values->total_bytes(), static_cast<char*>(values->mutable_raw_data()));
    return context.num_outputs() > 2 ? OutputVector(context, 2, a.dims) : absl::OkStatus();
  }

  const Combine combine_;
  const IndexRule rule_;
};

using AddedTypes =
    TypeList<float, double, int8_t, int16_t, int32_t, int64_t, std::complex<float>, std::complex<double>>;
constexpr DTypeSet kAddedTypes = DTypeSet{DType::kFloat, DType::kDouble} | kSignedTypes | kComplexTypes;

absl::StatusOr<std::unique_ptr<Kernel>> MakeAdd(const KernelConstruction& construction) {
  Combine combine = nullptr;
  DispatchDType<AddedTypes>(construction.input_type(1),
                            [&](auto type) { combine = &AddValues<typename decltype(type)::Type>; });
  if (combine == nullptr) return NoSuchType(construction.input_type(1));
  return std::make_unique<MergeKernel>(combine, IndexRule::kAny);
}

template <typename Op>
absl::StatusOr<std::unique_ptr<Kernel>> MakeChoice(const KernelConstruction& construction) {
  Combine combine = nullptr;
  DispatchDType<RealCppTypes>(construction.input_type(1),
                              [&](auto type) { combine = &ChooseValue<typename decltype(type)::Type, Op>; });
  if (combine == nullptr) return NoSuchType(construction.input_type(1));
  return std::make_unique<MergeKernel>(combine, IndexRule::kInside);
}

// --- SparseAddGrad ------------------------------------------------------------------------------------------------

// The entries of one operand, on the way from the first to the last. Borrows the indices.
struct OperandEntries {
  explicit OperandEntries(const Tensor& matrix)
      : indices(matrix.flat<int64_t>().data()),
        rank(static_cast<int>(matrix.dim(1))),
        sources(static_cast<size_t>(matrix.dim(0)), -1) {}

  // Looks at the next entry, and goes past it unless it comes after the sum's entry `k`, which is at `sum`. Whether it
  // came before that.
  bool Step(const int64_t* sum, int64_t k) {
    if (next == static_cast<int64_t>(sources.size())) return false;
    const int order = CompareIndices(indices + next * rank, sum, rank);
    if (order == 0) sources[static_cast<size_t>(next)] = k;
    if (order <= 0) ++next;
    return order < 0;
  }

  const int64_t* const indices;
  const int rank;
  std::vector<int64_t> sources;  // The sum's entry that each became part of; -1: none.
  int64_t next = 0;
};

absl::Status ComputeAddGrad(KernelContext& context) {
  const Tensor& grad = context.input(0);
  const Tensor& a = context.input(1);
  const Tensor& b = context.input(2);
  const Tensor& sum = context.input(3);
  const bool fits = grad.rank() == 1 && a.rank() == 2 && b.rank() == 2 && sum.rank() == 2 && a.dim(1) == b.dim(1) &&
                    a.dim(1) == sum.dim(1) && grad.dim(0) == sum.dim(0) && a.dim(1) <= kMaxRank;
  if (!fits) {
    return ShapesError(absl::StrCat("backprop_val_grad ", grad.shape().ToString(), ", indices ", a.shape().ToString(),
                                    ", ", b.shape().ToString(), " and ", sum.shape().ToString()),
                       "a vector, and matrices of equal width, the last with a row for each gradient");
  }
  // As SparseAdd went: where an operand has entries of equal indices, each is one of the sum's.
  OperandEntries of_a(a), of_b(b);
  const int64_t* const summed = sum.flat<int64_t>().data();
  for (int64_t k = 0; k < sum.dim(0);) {
    const bool a_is_before = of_a.Step(summed + k * of_a.rank, k), b_is_before = of_b.Step(summed + k * of_a.rank, k);
    if (!a_is_before && !b_is_before) ++k;
  }
  SLUICE_RETURN_IF_ERROR(OutputElementsOrZeros(context, 0, grad, of_a.sources));
  return OutputElementsOrZeros(context, 1, grad, of_b.sources);
}

constexpr KernelRow kRows[] = {
    KernelRow("SparseAdd", &MakeAdd).Types("T", kAddedTypes),
    KernelRow("SparseAddGrad", &Call<ComputeAddGrad>).Types("T", kAddedTypes),
    KernelRow("SparseSparseMaximum", &MakeChoice<MaximumOp>).Types("T", kRealTypes),
    KernelRow("SparseSparseMinimum", &MakeChoice<MinimumOp>).Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> SparseAddKernels() { return kRows; }

}  // namespace sluice
