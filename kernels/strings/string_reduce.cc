#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// Writes texts one after another into a string whose size is known.
class JoinWriter {
 public:
  JoinWriter() = default;
  JoinWriter(TString* to, size_t bytes) : at_(to->ResizeUninitialized(bytes)) {}
  void Append(absl::string_view text) {
    if (text.empty()) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  char* at_ = nullptr;
};

// --- ReduceJoin --------------------------------------------------------------------------------------------------

// Sizes and strides of the axes that are joined, the one that runs fastest first, and of those that stay.
struct JoinPlan {
  std::vector<int64_t> joined_sizes, joined_strides;
  std::vector<int64_t> kept_sizes, kept_strides;
  Shape shape;
  int64_t num_joined = 1;
};

// The axes to be joined; kOpRange for one that is not there, kOpValue for one named twice.
absl::StatusOr<std::vector<int>> ReadAxes(const KernelContext& context, int rank) {
  const Tensor& indices = context.input(1);
  std::vector<int> axes;
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (const int32_t index : indices.flat<int32_t>()) {
    if (index < -rank || index >= rank) {
      return Error(ErrorCode::kOpRange)
          .Input(1, "reduction_indices")
          .Found(absl::StrCat("axis ", index))
          .Expected(absl::StrCat(-rank, " to ", rank - 1));
    }
    const int axis = index < 0 ? index + rank : index;
    if (seen[static_cast<size_t>(axis)]) {
      return Error(ErrorCode::kOpValue).Input(1, "reduction_indices").Found(absl::StrCat("axis ", axis, " twice"));
    }
    seen[static_cast<size_t>(axis)] = true;
    axes.push_back(axis);
  }
  return axes;
}

absl::StatusOr<JoinPlan> PlanJoin(const Shape& shape, const std::vector<int>& axes, bool keep_dims) {
  const IndexVector strides = RowMajorStrides(shape);
  JoinPlan plan;
  for (const int axis : axes) {
    plan.joined_sizes.push_back(shape.dim(axis));
    plan.joined_strides.push_back(strides[static_cast<size_t>(axis)]);
    plan.num_joined *= shape.dim(axis);
  }
  IndexVector dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      if (keep_dims) dims.push_back(1);
      continue;
    }
    dims.push_back(shape.dim(axis));
    plan.kept_sizes.push_back(shape.dim(axis));
    plan.kept_strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  SLUICE_ASSIGN_OR_RETURN(plan.shape, MakeShape(dims));
  return plan;
}

// Joins the strings along some axes.
class ReduceJoinKernel : public Kernel {
 public:
  ReduceJoinKernel(std::string separator, bool keep_dims) : separator_(std::move(separator)), keep_dims_(keep_dims) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(std::string separator, construction.Get<std::string>("separator"));
    SLUICE_ASSIGN_OR_RETURN(const bool keep_dims, construction.Get<bool>("keep_dims"));
    return std::make_unique<ReduceJoinKernel>(std::move(separator), keep_dims);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int> axes, ReadAxes(context, input.rank()));
    if (axes.empty()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(const JoinPlan plan, PlanJoin(input.shape(), axes, keep_dims_));
    const int64_t results = plan.shape.num_elements();
    const int64_t gaps = std::max<int64_t>(input.num_elements() - results, 0);
    int64_t gap_bytes = 0, bytes = 0;
    if (!CheckedMul(gaps, static_cast<int64_t>(separator_.size()), &gap_bytes) ||
        !CheckedAdd(gap_bytes, TotalBytes(input), &bytes)) {
      bytes = std::numeric_limits<int64_t>::max();
    }
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, bytes));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, plan.shape));
    const absl::Span<const TString> from = input.flat<TString>();
    const absl::Span<TString> to = output->flat<TString>();
    const double unit_ns = 20.0 * static_cast<double>(std::max<int64_t>(plan.num_joined, 1));
    return ForStrings(context, results, unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Join(plan, from, BeginOf(plan, i), &to[static_cast<size_t>(i)]);
      return absl::OkStatus();
    });
  }

 private:
  // Where the strings of result `i` begin.
  static int64_t BeginOf(const JoinPlan& plan, int64_t i) {
    int64_t begin = 0;
    for (size_t axis = plan.kept_sizes.size(); axis-- > 0;) {
      begin += i % plan.kept_sizes[axis] * plan.kept_strides[axis];
      i /= plan.kept_sizes[axis];
    }
    return begin;
  }
  static int64_t OffsetOf(const JoinPlan& plan, int64_t i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < plan.joined_sizes.size(); ++axis) {
      offset += i % plan.joined_sizes[axis] * plan.joined_strides[axis];
      i /= plan.joined_sizes[axis];
    }
    return offset;
  }

  void Join(const JoinPlan& plan, absl::Span<const TString> from, int64_t begin, TString* to) const {
    if (plan.num_joined == 0) return;  // The empty string, as allocated.
    size_t bytes = separator_.size() * static_cast<size_t>(plan.num_joined - 1);
    for (int64_t i = 0; i < plan.num_joined; ++i) {
      bytes += from[static_cast<size_t>(begin + OffsetOf(plan, i))].size();
    }
    JoinWriter writer(to, bytes);
    for (int64_t i = 0; i < plan.num_joined; ++i) {
      if (i > 0) writer.Append(separator_);
      writer.Append(from[static_cast<size_t>(begin + OffsetOf(plan, i))].view());
    }
  }

  const std::string separator_;
  const bool keep_dims_;
};

// --- UnsortedSegmentJoin -----------------------------------------------------------------------------------------

// What the inputs come to: `rows` rows of `columns` strings, and the segment of each row.
struct SegmentJoin {
  int64_t num_segments = 0;
  int64_t columns = 1;
  Shape shape;
};

absl::StatusOr<SegmentJoin> PlanSegments(const KernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& ids = context.input(1);
  SegmentJoin plan;
  SLUICE_ASSIGN_OR_RETURN(plan.num_segments, ReadCount(context, 2, "num_segments"));
  if (ids.rank() == 0) return ShapeError(1, "segment_ids", "a scalar", "one dimension or more");
  if (ids.rank() > input.rank()) {
    return Error(ErrorCode::kOpRange)
        .Input(1, "segment_ids")
        .Found(ids.shape().ToString())
        .Expected(absl::StrCat("at most ", input.rank(), " dimensions, as inputs have"));
  }
  IndexVector dims = {plan.num_segments};
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (axis >= ids.rank()) {
      dims.push_back(input.dim(axis));
    } else if (ids.dim(axis) != input.dim(axis)) {
      return ShapesError(absl::StrCat("segment_ids ", ids.shape().ToString(), " and inputs ", input.shape().ToString()),
                         "segment_ids of the first dimensions of inputs");
    }
  }
  SLUICE_ASSIGN_OR_RETURN(plan.shape, MakeShape(dims));
  plan.columns = input.num_elements() / std::max<int64_t>(ids.num_elements(), 1);
  for (int64_t row = 0; row < ids.num_elements(); ++row) {
    const int64_t id = IndexAt(ids, row);
    if (id >= 0 && id < plan.num_segments) continue;
    return ValueError(1, "segment_ids", absl::StrCat(id, " as element ", row),
                      absl::StrCat("0 to ", plan.num_segments - 1));
  }
  return plan;
}

// Joins the rows of each segment.
class UnsortedSegmentJoinKernel : public Kernel {
 public:
  // As in TensorFlow, and here only, the separator ends at its first zero byte.
  explicit UnsortedSegmentJoinKernel(const std::string& separator)
      : separator_(separator.substr(0, separator.find('\0'))) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SegmentJoin plan, PlanSegments(context));
    const absl::Span<const TString> from = context.input(0).flat<TString>();
    const int64_t rows = context.input(1).num_elements();
    int64_t gap_bytes = 0, bytes = 0;
    if (!CheckedMul(static_cast<int64_t>(from.size()), static_cast<int64_t>(separator_.size()), &gap_bytes) ||
        !CheckedAdd(gap_bytes, TotalBytes(context.input(0)), &bytes)) {
      bytes = std::numeric_limits<int64_t>::max();
    }
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, bytes));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, plan.shape));
    const absl::Span<TString> to = output->flat<TString>();
    if (from.empty()) return absl::OkStatus();
    // How long each result becomes, so that each is made once. As in TensorFlow, no separator follows a result that is
    // still empty.
    std::vector<size_t> sizes(to.size(), 0);
    const auto for_each = [&](auto call) {
      for (int64_t row = 0, at = 0; row < rows; ++row) {
        const int64_t begin = IndexAt(context.input(1), row) * plan.columns;
        for (int64_t column = 0; column < plan.columns; ++column, ++at) {
          call(static_cast<size_t>(begin + column), from[static_cast<size_t>(at)].view());
        }
      }
    };
    for_each([&](size_t result, absl::string_view text) {
      sizes[result] += text.size() + (sizes[result] > 0 ? separator_.size() : 0);
    });
    std::vector<JoinWriter> writers(to.size());
    for (size_t i = 0; i < to.size(); ++i) {
      if (sizes[i] > 0) writers[i] = JoinWriter(&to[i], sizes[i]);
      sizes[i] = 0;
    }
    for_each([&](size_t result, absl::string_view text) {
      if (sizes[result] > 0) writers[result].Append(separator_);
      sizes[result] += text.size() + (sizes[result] > 0 ? separator_.size() : 0);
      writers[result].Append(text);
    });
    return absl::OkStatus();
  }

 private:
  const std::string separator_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ReduceJoin", &New<ReduceJoinKernel>),
    KernelRow("UnsortedSegmentJoin", FromAttr<UnsortedSegmentJoinKernel, std::string>("separator"))
        .Types("Tindices", kIndexTypes)
        .Types("Tnumsegments", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> StringReduceKernels() { return kRows; }

}  // namespace sluice
