#include <algorithm>
#include <complex>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/device/task_runner.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/reduce/families.h"
#include "kernels/reduce/reduce_ops.h"

namespace sluice {
namespace {

// The rows of a reduction by group: row i, of `width` elements, belongs to group `groups[i]`; -1: to none.
struct SegmentPlan {
  std::vector<int64_t> groups;
  int64_t num_groups = 0;
  int64_t width = 1;
};

// Reduces rows `input` into one row per group at `output`. REQUIRES: width > 0.
using SegmentFn = void (*)(const KernelContext& context, const SegmentPlan& plan, const void* input, void* output);

// The end of the finite numbers of T, as bits for 16-bit floats.
template <typename T>
T FiniteEnd(bool highest) {
  if constexpr (std::is_same<T, Half>::value) {
    return Half::FromBits(highest ? 0x7bff : 0xfbff);
  } else if constexpr (std::is_same<T, BFloat16>::value) {
    return BFloat16::FromBits(highest ? 0x7f7f : 0xff7f);
  } else {
    return highest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  }
}

// Operations of groups, after those of the engine (reduce_ops.h), but as TensorFlow has them here: each step is rounded
// to T, so that 16-bit floats lose what is too small for them, and a NaN only stays when no row follows it. Integers
// wrap: make T unsigned.
template <typename Element>
struct GroupSum {
  using T = Element;
  using Carried = typename SumOp<T>::Acc;
  static T Identity() { return T(Carried(0)); }
  static T Combine(T a, T b) { return T(SumOp<T>::Combine(Carried(a), Carried(b))); }
  static T Finish(T acc, int64_t) { return acc; }
};
template <typename Element>
struct GroupProd {
  using T = Element;
  using Carried = typename ProdOp<T>::Acc;
  static T Identity() { return T(Carried(1)); }
  static T Combine(T a, T b) { return T(ProdOp<T>::Combine(Carried(a), Carried(b))); }
  static T Finish(T acc, int64_t) { return acc; }
};
// The sum wraps in T before it is divided, and so does the number of rows.
template <typename Element>
struct GroupMean {
  using T = Element;
  using Carried = typename SumOp<T>::Acc;
  static T Identity() { return GroupSum<T>::Identity(); }
  static T Combine(T a, T b) { return AddElements()(a, b); }
  static T Finish(T acc, int64_t count) {
    if constexpr (std::is_integral<T>::value) {
      const int64_t wrapped = static_cast<int64_t>(static_cast<T>(count));
      if (wrapped == 0 || wrapped == -1) return wrapped == 0 ? T(0) : static_cast<T>(-static_cast<int64_t>(acc));
      return static_cast<T>(acc / static_cast<T>(count));
    } else if constexpr (kIsComplex<T>) {
      return acc / static_cast<typename T::value_type>(count);
    } else {
      return T(static_cast<Carried>(acc) / static_cast<Carried>(T(static_cast<Carried>(count))));
    }
  }
};
template <typename Element>
struct GroupMax {
  using T = Element;
  using Carried = typename MaxOp<T>::Acc;
  static T Identity() { return FiniteEnd<T>(false); }
  static T Combine(T a, T b) { return static_cast<Carried>(a) >= static_cast<Carried>(b) ? a : b; }
  static T Finish(T acc, int64_t) { return acc; }
};
template <typename Element>
struct GroupMin {
  using T = Element;
  using Carried = typename MinOp<T>::Acc;
  static T Identity() { return FiniteEnd<T>(true); }
  static T Combine(T a, T b) { return static_cast<Carried>(a) <= static_cast<Carried>(b) ? a : b; }
  static T Finish(T acc, int64_t) { return acc; }
};

// What a group without rows becomes where groups come in order: 1 in products, 0 otherwise. Groups in any order start
// at the identity, which is what they are without rows: Max gives the lowest number and Min the highest.
template <typename Op>
typename Op::T EmptyGroup() {
  using T = typename Op::T;
  return std::is_same<Op, GroupProd<T>>::value ? Op::Identity() : GroupSum<T>::Identity();
}

// Into how many pieces to cut work of `ns`: one per thread where that pays. Every element of the result is computed in
// one piece from its rows in their order, so that the cut does not show in it.
int64_t NumPieces(const KernelContext& context, double ns) {
  constexpr double kMinPieceNs = 25e3;
  const TaskRunner* const runner = context.run().task_runner;
  const int64_t most = runner == nullptr ? 1 : runner->num_threads();
  return ns < kMinPieceNs * static_cast<double>(most) ? std::max<int64_t>(1, static_cast<int64_t>(ns / kMinPieceNs))
                                                      : most;
}

double EstimateNs(const SegmentPlan& plan) {
  const double width = static_cast<double>(plan.width);
  return static_cast<double>(plan.groups.size()) * (2.0 + 0.3 * width) + static_cast<double>(plan.num_groups) * width;
}

// Where piece `i` of `pieces` begins in [0, total).
int64_t PieceBegin(int64_t total, int64_t pieces, int64_t i) {
  return total / pieces * i + std::min(i, total % pieces);
}

// A part of the result: rows of groups [first, end), elements [left, right) of each.
struct ResultPart {
  int64_t first, end;
  int64_t left, right;
};

template <typename Op>
void ReduceUnorderedPart(const SegmentPlan& plan, const ResultPart& part, const typename Op::T* x, typename Op::T* y) {
  const int64_t count = part.right - part.left;
  for (int64_t group = part.first; group < part.end; ++group) {
    std::fill_n(y + group * plan.width + part.left, count, Op::Identity());
  }
  for (size_t row = 0; row < plan.groups.size(); ++row) {
    const int64_t group = plan.groups[row];
    if (group < part.first || group >= part.end) continue;
    typename Op::T* const to = y + group * plan.width + part.left;
    const typename Op::T* const from = x + static_cast<int64_t>(row) * plan.width + part.left;
    for (int64_t i = 0; i < count; ++i) to[i] = Op::Combine(to[i], from[i]);
  }
}

// Groups in any order. Long rows are cut into columns, so that every piece has as much to do; short ones are dealt out
// by group.
template <typename Op>
void ReduceUnordered(const KernelContext& context, const SegmentPlan& plan, const void* input, void* output) {
  using T = typename Op::T;
  constexpr int64_t kMinColumns = 16;  // A line of memory of floats.
  const T* const x = static_cast<const T*>(input);
  T* const y = static_cast<T*>(output);
  const double ns = EstimateNs(plan);
  const int64_t wanted = NumPieces(context, ns);
  const bool by_columns = plan.width >= kMinColumns * wanted;
  const int64_t length = by_columns ? plan.width : plan.num_groups;
  const int64_t pieces = std::max<int64_t>(1, std::min(wanted, length));
  context.ParallelFor(pieces, ns / static_cast<double>(pieces), [&](int64_t begin, int64_t end) {
    const int64_t first = PieceBegin(length, pieces, begin);
    const int64_t last = PieceBegin(length, pieces, end);
    const ResultPart part =
        by_columns ? ResultPart{0, plan.num_groups, first, last} : ResultPart{first, last, 0, plan.width};
    ReduceUnorderedPart<Op>(plan, part, x, y);
  });
}

// Reduces rows [row, end), the first of which starts a group, into groups [group, end_group).
template <typename Op>
void ReduceOrderedPart(const SegmentPlan& plan, size_t row, size_t end, int64_t group, int64_t end_group,
                       const typename Op::T* x, typename Op::T* y) {
  const int64_t width = plan.width;
  for (; group < end_group; ++group) {
    typename Op::T* const to = y + group * width;
    if (row == end || plan.groups[row] != group) {
      std::fill_n(to, width, EmptyGroup<Op>());
      continue;
    }
    std::copy_n(x + static_cast<int64_t>(row) * width, width, to);
    int64_t count = 1;
    for (++row; row < end && plan.groups[row] == group; ++row, ++count) {
      const typename Op::T* const from = x + static_cast<int64_t>(row) * width;
      for (int64_t i = 0; i < width; ++i) to[i] = Op::Combine(to[i], from[i]);
    }
    for (int64_t i = 0; i < width; ++i) to[i] = Op::Finish(to[i], count);
  }
}

// Groups in order: the first row of a group starts it. Pieces are cut between groups.
template <typename Op>
void ReduceOrdered(const KernelContext& context, const SegmentPlan& plan, const void* input, void* output) {
  using T = typename Op::T;
  const double ns = EstimateNs(plan);
  const int64_t pieces = NumPieces(context, ns);
  // The first row of the piece that begins near `piece` of `pieces`, and its group.
  const auto cut = [&plan, pieces](int64_t piece) {
    const std::vector<int64_t>& groups = plan.groups;
    size_t row = static_cast<size_t>(PieceBegin(static_cast<int64_t>(groups.size()), pieces, piece));
    if (row > 0 && row < groups.size()) {
      row = static_cast<size_t>(std::lower_bound(groups.begin(), groups.end(), groups[row]) - groups.begin());
    }
    const int64_t group = row == 0 ? 0 : row == groups.size() ? plan.num_groups : groups[row];
    return std::make_pair(row, group);
  };
  context.ParallelFor(pieces, ns / static_cast<double>(pieces), [&](int64_t begin, int64_t end) {
    const auto [row, group] = cut(begin);
    const auto [end_row, end_group] = end == pieces ? std::make_pair(plan.groups.size(), plan.num_groups) : cut(end);
    ReduceOrderedPart<Op>(plan, row, end_row, group, end_group, static_cast<const T*>(input), static_cast<T*>(output));
  });
}

// --- Segment... --------------------------------------------------------------------------------------------------

// Groups that come in order, each a run of rows; the last number says how many there are. Thread-safe.
class SortedSegmentKernel final : public Kernel {
 public:
  explicit SortedSegmentKernel(SegmentFn reduce) : reduce_(reduce) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& data = context.input(0);
    const Tensor& ids = context.input(1);
    if (ids.rank() != 1 || data.rank() == 0 || ids.num_elements() != data.dim(0)) {
      return ShapesError(1, "segment_ids", absl::StrCat(ids.shape().ToString(), " for data ", data.shape().ToString()),
                         "a vector with one number per row");
    }
    SegmentPlan plan;
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id < 0 || id == std::numeric_limits<int64_t>::max() || (i > 0 && id < plan.groups.back())) {
        return ValueError(1, "segment_ids", absl::StrCat(id, " at ", i), "numbers of 0 or more that do not decrease");
      }
      plan.groups.push_back(id);
    }
    plan.num_groups = plan.groups.empty() ? 0 : plan.groups.back() + 1;
    plan.width = SizeOfAxes(data.shape(), 1, data.rank());
    IndexVector dims(data.shape().dims().begin(), data.shape().dims().end());
    dims[0] = plan.num_groups;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    reduce_(context, plan, data.raw_data(), output->mutable_raw_data());
    return absl::OkStatus();
  }

 private:
  const SegmentFn reduce_;
};

// --- UnsortedSegment... ------------------------------------------------------------------------------------------

// Groups in any order, as many as input 2 says; negative numbers belong to none. Without data no number can be out of
// range. Thread-safe.
class UnsortedSegmentKernel final : public Kernel {
 public:
  explicit UnsortedSegmentKernel(SegmentFn reduce) : reduce_(reduce) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& data = context.input(0);
    const Tensor& ids = context.input(1);
    SegmentPlan plan;
    SLUICE_ASSIGN_OR_RETURN(plan.num_groups, ReadScalar(context, 2, "num_segments"));
    bool fits = ids.rank() <= data.rank();
    for (int axis = 0; fits && axis < ids.rank(); ++axis) fits = ids.dim(axis) == data.dim(axis);
    if (!fits || plan.num_groups < 0) {
      return Error(fits ? ErrorCode::kOpValue : ErrorCode::kOpShapes)
          .Input(fits ? 2 : 1, fits ? "num_segments" : "segment_ids")
          .Found(fits ? absl::StrCat(plan.num_groups) : ids.shape().ToString())
          .Expected(fits ? "0 or more" : absl::StrCat("the first dimensions of ", data.shape().ToString()));
    }
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id >= plan.num_groups && data.num_elements() > 0) {
        return ValueError(1, "segment_ids", absl::StrCat(id, " at ", i),
                          absl::StrCat("numbers below ", plan.num_groups));
      }
      plan.groups.push_back(id < plan.num_groups ? std::max<int64_t>(id, -1) : -1);
    }
    plan.width = SizeOfAxes(data.shape(), ids.rank(), data.rank());
    IndexVector dims(data.shape().dims().begin() + ids.rank(), data.shape().dims().end());
    dims.insert(dims.begin(), plan.num_groups);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    reduce_(context, plan, data.raw_data(), output->mutable_raw_data());
    return absl::OkStatus();
  }

 private:
  const SegmentFn reduce_;
};

template <typename Op, bool kSorted>
SegmentFn SegmentFnOf() {
  if constexpr (kSorted) {
    return &ReduceOrdered<Op>;
  } else {
    return &ReduceUnordered<Op>;
  }
}

// Kernels of K with operation Op, for dtypes `Types`. Sums and products of integers wrap: they are taken as unsigned.
template <typename K, template <typename> class Op, typename Types, bool kAsUnsigned>
absl::StatusOr<std::unique_ptr<Kernel>> MakeSegment(const KernelConstruction& construction) {
  constexpr bool kSorted = std::is_same<K, SortedSegmentKernel>::value;
  SegmentFn found = nullptr;
  DispatchDType<Types>(construction.input_type(0), [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (kAsUnsigned && std::is_integral<T>::value) {
      found = SegmentFnOf<Op<std::make_unsigned_t<T>>, kSorted>();
    } else {
      found = SegmentFnOf<Op<T>, kSorted>();
    }
  });
  if (found == nullptr) return Error(ErrorCode::kOpUnimplemented).Found(DTypeName(construction.input_type(0)));
  return std::make_unique<K>(found);
}

constexpr KernelRow kRows[] = {
    KernelRow("SegmentSum", &MakeSegment<SortedSegmentKernel, GroupSum, NumberCppTypes, true>).Types("T", kNumberTypes),
    KernelRow("SegmentMean", &MakeSegment<SortedSegmentKernel, GroupMean, NumberCppTypes, false>)
        .Types("T", kNumberTypes),
    KernelRow("SegmentProd", &MakeSegment<SortedSegmentKernel, GroupProd, NumberCppTypes, true>)
        .Types("T", kNumberTypes),
    KernelRow("SegmentMin", &MakeSegment<SortedSegmentKernel, GroupMin, RealCppTypes, false>).Types("T", kRealTypes),
    KernelRow("SegmentMax", &MakeSegment<SortedSegmentKernel, GroupMax, RealCppTypes, false>).Types("T", kRealTypes),
    KernelRow("UnsortedSegmentSum", &MakeSegment<UnsortedSegmentKernel, GroupSum, NumberCppTypes, true>)
        .Types("T", kNumberTypes),
    KernelRow("UnsortedSegmentProd", &MakeSegment<UnsortedSegmentKernel, GroupProd, NumberCppTypes, true>)
        .Types("T", kNumberTypes),
    KernelRow("UnsortedSegmentMin", &MakeSegment<UnsortedSegmentKernel, GroupMin, RealCppTypes, false>)
        .Types("T", kRealTypes),
    KernelRow("UnsortedSegmentMax", &MakeSegment<UnsortedSegmentKernel, GroupMax, RealCppTypes, false>)
        .Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> SegmentKernels() { return kRows; }

}  // namespace sluice
