#ifndef SLUICE_KERNELS_FFT_FOURIER_PLAN_H_
#define SLUICE_KERNELS_FFT_FOURIER_PLAN_H_

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Note [Lanes]
// Transforms are carried out on up to kLanes sequences at a time, in double, with real and imaginary parts apart: with
// n of them, element i of sequence l is at re[i * n + l]. So nearly every inner loop runs over neighbouring numbers
// whatever the length, rows and columns take the same way, and a plan needs no code for one instruction set or one
// precision. A sequence's bits do not depend on the others, nor on how many there are.
//
// Lengths are split into factors of 4, 2, 3, 5 and other small primes (Stockham's form: each pass reads one buffer and
// writes the other, in order). A length with a larger prime factor becomes a convolution of a length that has none
// (Bluestein).

// Two arrays of a number for each element of all sequences, where each pass takes its numbers from and puts them.
// Borrowed.
struct LaneBuffer {
  double* re;
  double* im;
};

// The discrete Fourier transform of one length. Immutable; its tables are in memory of the context.
class FourierPlan {
 public:
  static constexpr int64_t kLanes = 8;

  // kOutOfMemory, kOpTooLarge. REQUIRES: length >= 1.
  static absl::StatusOr<FourierPlan> Make(KernelContext& context, int64_t length);

  int64_t length() const { return length_; }
  // Doubles that Run needs, the sequences among them: the first 2 * length() * lanes of them, real parts first.
  int64_t scratch_doubles(int64_t lanes) const;
  // Transforms the `lanes` sequences at the start of `scratch`; `inverse`: without the division by the length. Where
  // the result is, in the same layout: somewhere in `scratch`. REQUIRES: lanes from 1 to kLanes.
  LaneBuffer Run(double* scratch, int64_t lanes, bool inverse) const;
  // The number of multiplications or so, for estimates of time.
  double cost() const;

 private:
  // Runs the passes from `from` to `to` and back; which of the two has the result.
  LaneBuffer RunPasses(LaneBuffer from, LaneBuffer to, int64_t lanes) const;
  absl::Status MakeTables(KernelContext& context);
  absl::Status MakeChirp(KernelContext& context);
  LaneBuffer RunChirp(double* scratch, int64_t lanes, bool inverse) const;

  int64_t length_ = 1;
  absl::InlinedVector<int64_t, 16> factors_;
  Tensor roots_;  // exp(-2 pi i k / length), cosines first.
  // Bluestein: the plan of the convolution, exp(-pi i k^2 / length), and the transform of its conjugate.
  std::shared_ptr<const FourierPlan> convolution_;
  Tensor chirp_;
  Tensor chirp_transform_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_FFT_FOURIER_PLAN_H_
