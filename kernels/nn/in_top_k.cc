// Whether the class that was wanted is among the k with the largest predictions.

#include <cmath>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/families.h"

namespace sluice {
namespace {

// Nanoseconds for a class of a row, for the cut into parts.
constexpr double kClassNs = 0.5;

// Fewer than `k` of the `n` predictions are larger than that of `target`, and all are finite.
bool IsInTopK(const float* predictions, int64_t n, int64_t target, int64_t k) {
  if (target < 0 || target >= n) return false;
  const float wanted = predictions[target];
  // Counted in parts, in 32 bits: what vector registers count fastest.
  constexpr int64_t kPart = int64_t{1} << 30;
  int64_t larger = 0;
  bool is_finite = true;
  for (int64_t at = 0; at < n; at += kPart) {
    const int64_t end = n - at < kPart ? n : at + kPart;
    int32_t more = 0;
    int32_t odd = 0;
    for (int64_t i = at; i < end; ++i) {
      more += predictions[i] > wanted ? 1 : 0;
      odd |= std::fabs(predictions[i]) < INFINITY ? 0 : 1;  // NaNs, too.
    }
    larger += more;
    is_finite = is_finite && odd == 0;
  }
  return is_finite && larger < k;
}

absl::Status ComputeTopK(KernelContext& context, int64_t k) {
  const Tensor& predictions = context.input(0);
  const Tensor& targets = context.input(1);
  if (predictions.rank() != 2) return ShapeError(0, "", predictions.shape(), "a matrix");
  if (targets.rank() != 1 || targets.dim(0) != predictions.dim(0)) {
    return ShapeError(1, "", targets.shape(), absl::StrCat("[", predictions.dim(0), "]"));
  }
  const int64_t classes = predictions.dim(1);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, targets.shape()));
  const float* const from = predictions.flat<float>().data();
  bool* const to = output->flat<bool>().data();
  context.ParallelFor(targets.dim(0), kClassNs * static_cast<double>(classes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = IsInTopK(from + i * classes, classes, IndexAt(targets, i), k);
  });
  return absl::OkStatus();
}

// k is an attr.
class InTopKKernel : public Kernel {
 public:
  explicit InTopKKernel(int64_t k) : k_(k) {}
  absl::Status Compute(KernelContext& context) const override { return ComputeTopK(context, k_); }

 private:
  const int64_t k_;
};

// k is an input.
absl::Status ComputeV2(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t k, ReadScalar(context, 2, ""));
  return ComputeTopK(context, k);
}

constexpr KernelRow kRows[] = {
    KernelRow("InTopK", FromAttr<InTopKKernel, int64_t>("k")).Types("T", kIndexTypes),
    KernelRow("InTopKV2", &Call<ComputeV2>).Types("T", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> InTopKKernels() { return kRows; }

}  // namespace sluice
