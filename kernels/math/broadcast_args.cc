#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// Two shapes that came as vectors, aligned at their last axes, with 1 for axes that one of them lacks.
struct ShapePair {
  std::vector<int64_t> a;
  std::vector<int64_t> b;
};

template <typename T>
absl::StatusOr<std::vector<int64_t>> SizesOf(const KernelContext& context, int i, size_t rank) {
  const absl::Span<const T> given = context.input(i).flat<T>();
  std::vector<int64_t> sizes(rank, 1);
  for (size_t k = 0; k < given.size(); ++k) {
    if (given[k] < 0) return ValueError(i, "", given[k], "sizes of at least 0");
    sizes[rank - given.size() + k] = given[k];
  }
  return sizes;
}

template <typename T>
absl::StatusOr<ShapePair> ReadShapes(const KernelContext& context) {
  for (int i = 0; i < 2; ++i) {
    SLUICE_RETURN_IF_ERROR(CheckVector(context, i, ""));
  }
  const size_t rank = static_cast<size_t>(std::max(context.input(0).num_elements(), context.input(1).num_elements()));
  ShapePair pair;
  SLUICE_ASSIGN_OR_RETURN(pair.a, SizesOf<T>(context, 0, rank));
  SLUICE_ASSIGN_OR_RETURN(pair.b, SizesOf<T>(context, 1, rank));
  for (size_t k = 0; k < rank; ++k) {
    if (pair.a[k] != pair.b[k] && pair.a[k] != 1 && pair.b[k] != 1) {
      return ValueError(absl::StrCat("sizes ", pair.a[k], " and ", pair.b[k], " of axis ", k), "shapes that broadcast");
    }
  }
  return pair;
}

template <typename T>
absl::Status SetVector(KernelContext& context, int i, absl::Span<const int64_t> values) {
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out,
                          context.AllocateOutput(i, Shape::Of({static_cast<int64_t>(values.size())})));
  std::transform(values.begin(), values.end(), out->flat<T>().begin(), [](int64_t v) { return static_cast<T>(v); });
  return absl::OkStatus();
}

// The shape that two shapes broadcast to.
template <typename T>
class BroadcastArgsKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ShapePair pair, ReadShapes<T>(context));
    std::vector<int64_t> sizes(pair.a.size());
    for (size_t k = 0; k < sizes.size(); ++k) sizes[k] = pair.a[k] == 1 ? pair.b[k] : pair.a[k];
    return SetVector<T>(context, 0, sizes);
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// For each of two shapes, the axes over which the gradient of a broadcast is summed to come back to it: those where it
// has size 1 (or nothing), also where the other has 1, too. Shapes that are equal need no sum.
template <typename T>
class BroadcastGradientArgsKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ShapePair pair, ReadShapes<T>(context));
    const bool is_same = context.input(0).bytes() == context.input(1).bytes();
    SLUICE_RETURN_IF_ERROR(SetVector<T>(context, 0, is_same ? std::vector<int64_t>() : RepeatedAxes(pair.a)));
    return SetVector<T>(context, 1, is_same ? std::vector<int64_t>() : RepeatedAxes(pair.b));
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static std::vector<int64_t> RepeatedAxes(const std::vector<int64_t>& sizes) {
    std::vector<int64_t> axes;
    for (size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k] == 1) axes.push_back(static_cast<int64_t>(k));
    }
    return axes;
  }
};

constexpr KernelRow kRows[] = {
    KernelRow("BroadcastArgs", &NewByType<BroadcastArgsKernel, IndexCppTypes>).Types("T", kIndexTypes),
    KernelRow("BroadcastGradientArgs", &NewByType<BroadcastGradientArgsKernel, IndexCppTypes>).Types("T", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> BroadcastArgsKernels() { return kRows; }

}  // namespace sluice
