#ifndef SLUICE_KERNELS_FFT_FFT_LINES_H_
#define SLUICE_KERNELS_FFT_FFT_LINES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/array/index_values.h"
#include "kernels/fft/fourier_plan.h"
#include "kernels/kernel_context.h"
#include "kernels/worker_scratch.h"

namespace sluice {

// Where the elements of many lines of a tensor are: line l of those counted through `sizes` begins at the sum of its
// indices times `strides`, its elements are `step` apart. A value type.
struct FftLines {
  IndexVector sizes;
  IndexVector strides;
  int64_t step = 1;

  int64_t count() const;
  int64_t base(int64_t line) const;
};

// One pass over all lines: reads elements of In, puts elements of Out. Reals that are read have imaginary parts of
// zero.
struct FftPass {
  const FourierPlan* plan = nullptr;
  bool inverse = false;  // Divides by the length.
  FftLines from;
  FftLines to;
  int64_t kept = 0;      // Elements of a transformed line that are put.
  bool is_half = false;  // Only the first half of a line is there: the other one is its conjugate, backwards.
};

// `from` and `to` may be the same memory where the lines are the same. T is float or double; kRealIn, kRealOut: the
// elements are T, else complex.
template <typename T, bool kRealIn, bool kRealOut>
absl::Status RunFftPass(const KernelContext& context, const FftPass& pass, const T* from, T* to, ScratchKeeper* keeper);

}  // namespace sluice

#endif  // SLUICE_KERNELS_FFT_FFT_LINES_H_
