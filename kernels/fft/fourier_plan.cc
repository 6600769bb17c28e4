#include "kernels/fft/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr int64_t kLanes = FourierPlan::kLanes;
constexpr double kTwoPi = 6.283185307179586476925286766559;
// Primes up to this have a pass of their own.
constexpr int64_t kMaxRadix = 13;
// Sizes of tables below can be counted.
constexpr int64_t kMaxLength = int64_t{1} << 40;

absl::StatusOr<Tensor> MakeDoubles(KernelContext& context, int64_t count) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({count}));
  return context.AllocateTemp(DType::kDouble, shape);
}
double* Doubles(Tensor& tensor) { return tensor.flat<double>().data(); }
const double* Doubles(const Tensor& tensor) { return tensor.flat<double>().data(); }

// The factors of `length`: 4 as often as possible, then 2, 3, 5 ...; false where a prime is too large.
bool Factor(int64_t length, absl::InlinedVector<int64_t, 16>* factors) {
  const auto take = [&](int64_t factor) {
    for (; length % factor == 0; length /= factor) factors->push_back(factor);
  };
  take(4);
  for (int64_t factor = 2; factor <= kMaxRadix; ++factor) take(factor);
  return length == 1;
}

// exp(-2 pi i k / n) for k < n: exact to the last bits, by the eighth of the circle in which the angle lies. Where the
// axes are among the roots, the first eighth has all cosines and sines.
void FillRoots(int64_t n, double* re, double* im) {
  for (int64_t k = 0; k < n; ++k) {
    const int64_t eighth = 8 * k / n;
    // The angle from the nearest axis, at most an eighth.
    const int64_t axis = (eighth + 1) / 2;
    const int64_t quarters = 4 * k - axis * n;
    double c, s;
    if (n % 4 == 0 && eighth > 0 && 2 * std::abs(quarters) < n) {
      const int64_t same = std::abs(quarters) / 4;
      c = re[same];
      s = quarters < 0 ? im[same] : -im[same];
    } else {
      const double angle = kTwoPi * (static_cast<double>(quarters) / (4.0 * static_cast<double>(n)));
      c = std::cos(angle);
      s = std::sin(angle);
    }
    switch (axis % 4) {
      case 0:
        re[k] = c, im[k] = -s;
        break;
      case 1:
        re[k] = -s, im[k] = -c;
        break;
      case 2:
        re[k] = -c, im[k] = s;
        break;
      default:
        re[k] = s, im[k] = c;
        break;
    }
  }
}

// Roots of a plan, by number.
struct Roots {
  const double* re;
  const double* im;
};

// A pass of one factor over `m` groups of numbers that lie m * stride apart. `stride` counts sequences that go alike,
// of `lanes` numbers.
struct Pass {
  Roots roots;     // Of the whole length.
  int64_t length;  // The whole one.
  int64_t m;
  int64_t stride;
  int64_t lanes;
  LaneBuffer from;
  LaneBuffer to;
};

// Multiplies `n` numbers by a root.
void Turn(double c, double s, const double* re, const double* im, int64_t n, double* to_re, double* to_im) {
  for (int64_t q = 0; q < n; ++q) {
    const double r = re[q], i = im[q];
    to_re[q] = r * c - i * s;
    to_im[q] = r * s + i * c;
  }
}

// The same for one element of all lanes: of a known number where there are as many as there may be.
void TurnLanes(double c, double s, const double* re, const double* im, int64_t lanes, double* to_re, double* to_im) {
  if (lanes == kLanes) return Turn(c, s, re, im, kLanes, to_re, to_im);
  Turn(c, s, re, im, lanes, to_re, to_im);
}

void PassOf2(const Pass& pass) {
  const int64_t n = pass.stride * pass.lanes;
  for (int64_t p = 0; p < pass.m; ++p) {
    const double c = pass.roots.re[p * pass.stride], s = pass.roots.im[p * pass.stride];
    const double *const ar = pass.from.re + p * n, *const ai = pass.from.im + p * n;
    const double *const br = ar + pass.m * n, *const bi = ai + pass.m * n;
    double *const yr = pass.to.re + 2 * p * n, *const yi = pass.to.im + 2 * p * n;
    for (int64_t q = 0; q < n; ++q) {
      const double dr = ar[q] - br[q], di = ai[q] - bi[q];
      yr[q] = ar[q] + br[q];
      yi[q] = ai[q] + bi[q];
      yr[n + q] = dr * c - di * s;
      yi[n + q] = dr * s + di * c;
    }
  }
}

void PassOf4(const Pass& pass) {
  const int64_t n = pass.stride * pass.lanes, apart = pass.m * n;
  for (int64_t p = 0; p < pass.m; ++p) {
    const int64_t at = p * pass.stride;
    const double c1 = pass.roots.re[at], s1 = pass.roots.im[at];
    const double c2 = pass.roots.re[2 * at], s2 = pass.roots.im[2 * at];
    const double c3 = pass.roots.re[3 * at], s3 = pass.roots.im[3 * at];
    const double *const xr = pass.from.re + p * n, *const xi = pass.from.im + p * n;
    double *const yr = pass.to.re + 4 * p * n, *const yi = pass.to.im + 4 * p * n;
    for (int64_t q = 0; q < n; ++q) {
      const double sum_r = xr[q] + xr[q + 2 * apart], sum_i = xi[q] + xi[q + 2 * apart];
      const double dif_r = xr[q] - xr[q + 2 * apart], dif_i = xi[q] - xi[q + 2 * apart];
      const double odd_r = xr[q + apart] + xr[q + 3 * apart], odd_i = xi[q + apart] + xi[q + 3 * apart];
      const double turn_r = xi[q + apart] - xi[q + 3 * apart], turn_i = xr[q + 3 * apart] - xr[q + apart];
      const double b1r = dif_r + turn_r, b1i = dif_i + turn_i;
      const double b2r = sum_r - odd_r, b2i = sum_i - odd_i;
      const double b3r = dif_r - turn_r, b3i = dif_i - turn_i;
      yr[q] = sum_r + odd_r;
      yi[q] = sum_i + odd_i;
      yr[q + n] = b1r * c1 - b1i * s1;
      yi[q + n] = b1r * s1 + b1i * c1;
      yr[q + 2 * n] = b2r * c2 - b2i * s2;
      yi[q + 2 * n] = b2r * s2 + b2i * c2;
      yr[q + 3 * n] = b3r * c3 - b3i * s3;
      yi[q + 3 * n] = b3r * s3 + b3i * c3;
    }
  }
}

// Any other small factor: each of its numbers is a sum over all.
void PassOfPrime(const Pass& pass, int64_t radix) {
  const int64_t n = pass.stride * pass.lanes, apart = pass.m * n;
  const int64_t step = pass.length / radix;  // Between the roots of the factor.
  for (int64_t p = 0; p < pass.m; ++p) {
    const double *const xr = pass.from.re + p * n, *const xi = pass.from.im + p * n;
    for (int64_t k = 0; k < radix; ++k) {
      double *const yr = pass.to.re + (radix * p + k) * n, *const yi = pass.to.im + (radix * p + k) * n;
      std::copy_n(xr, n, yr);
      std::copy_n(xi, n, yi);
      for (int64_t j = 1; j < radix; ++j) {
        const int64_t root = j * k % radix * step;
        const double c = pass.roots.re[root], s = pass.roots.im[root];
        const double *const ar = xr + j * apart, *const ai = xi + j * apart;
        for (int64_t q = 0; q < n; ++q) {
          yr[q] += ar[q] * c - ai[q] * s;
          yi[q] += ar[q] * s + ai[q] * c;
        }
      }
      const int64_t root = p * k * pass.stride;
      Turn(pass.roots.re[root], pass.roots.im[root], yr, yi, n, yr, yi);
    }
  }
}

// The least length of at least `least` without large prime factors.
int64_t GoodLength(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t threes = 1; threes < best; threes *= 3) {
    for (int64_t fives = threes; fives < best; fives *= 5) {
      int64_t length = fives;
      while (length < least) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<FourierPlan> FourierPlan::Make(KernelContext& context, int64_t length) {
  if (length > kMaxLength) return Error(ErrorCode::kOpTooLarge).Text("has more elements than a transform can have");
  FourierPlan plan;
  plan.length_ = length;
  if (Factor(length, &plan.factors_)) {
    SLUICE_RETURN_IF_ERROR(plan.MakeTables(context));
  } else {
    SLUICE_RETURN_IF_ERROR(plan.MakeChirp(context));
  }
  return plan;
}

absl::Status FourierPlan::MakeTables(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(roots_, MakeDoubles(context, 2 * length_));
  FillRoots(length_, Doubles(roots_), Doubles(roots_) + length_);
  return absl::OkStatus();
}

absl::Status FourierPlan::MakeChirp(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(FourierPlan convolution, Make(context, GoodLength(2 * length_ - 1)));
  const int64_t size = convolution.length();
  SLUICE_ASSIGN_OR_RETURN(Tensor roots, MakeDoubles(context, 4 * length_));
  FillRoots(2 * length_, Doubles(roots), Doubles(roots) + 2 * length_);
  SLUICE_ASSIGN_OR_RETURN(chirp_, MakeDoubles(context, 2 * length_));
  double *const re = Doubles(chirp_), *const im = re + length_;
  int64_t square = 0;  // k^2 modulo 2 length.
  for (int64_t k = 0; k < length_; ++k) {
    re[k] = Doubles(roots)[square];
    im[k] = Doubles(roots)[2 * length_ + square];
    square = (square + 2 * k + 1) % (2 * length_);
  }
  // The conjugate, of both signs of k.
  SLUICE_ASSIGN_OR_RETURN(Tensor scratch, MakeDoubles(context, convolution.scratch_doubles(1)));
  double *const x = Doubles(scratch), *const y = x + size;
  std::fill_n(x, 2 * size, 0.0);
  for (int64_t k = 0; k < length_; ++k) {
    const int64_t back = k == 0 ? 0 : size - k;
    x[k] = x[back] = re[k];
    y[k] = y[back] = -im[k];
  }
  const LaneBuffer transform = convolution.Run(x, /*lanes=*/1, /*inverse=*/false);
  SLUICE_ASSIGN_OR_RETURN(chirp_transform_, MakeDoubles(context, 2 * size));
  for (int64_t k = 0; k < size; ++k) {
    // The convolution's inverse transform divides by its length.
    Doubles(chirp_transform_)[k] = transform.re[k] / static_cast<double>(size);
    Doubles(chirp_transform_)[size + k] = transform.im[k] / static_cast<double>(size);
  }
  convolution_ = std::make_shared<const FourierPlan>(std::move(convolution));
  return absl::OkStatus();
}

int64_t FourierPlan::scratch_doubles(int64_t lanes) const {
  const int64_t own = 4 * length_ * lanes;
  return convolution_ == nullptr ? own : 2 * length_ * lanes + convolution_->scratch_doubles(lanes);
}

double FourierPlan::cost() const {
  if (convolution_ != nullptr) return 2 * convolution_->cost() + 6 * static_cast<double>(length_);
  double cost = 2;
  for (const int64_t factor : factors_) cost += factor <= 4 ? 2.0 : 2.0 * static_cast<double>(factor);
  return cost * static_cast<double>(length_);
}

LaneBuffer FourierPlan::RunPasses(LaneBuffer from, LaneBuffer to, int64_t lanes) const {
  Pass pass{{Doubles(roots_), Doubles(roots_) + length_}, length_, length_, 1, lanes, from, to};
  for (const int64_t factor : factors_) {
    pass.m /= factor;
    if (factor == 2) {
      PassOf2(pass);
    } else if (factor == 4) {
      PassOf4(pass);
    } else {
      PassOfPrime(pass, factor);
    }
    pass.stride *= factor;
    std::swap(pass.from, pass.to);
  }
  return pass.from;
}

LaneBuffer FourierPlan::Run(double* scratch, int64_t lanes, bool inverse) const {
  if (convolution_ != nullptr) return RunChirp(scratch, lanes, inverse);
  const int64_t part = length_ * lanes;
  LaneBuffer from{scratch, scratch + part}, to{scratch + 2 * part, scratch + 3 * part};
  if (!inverse) return RunPasses(from, to, lanes);
  // With real and imaginary parts exchanged before and after, the transform is its inverse.
  std::swap(from.re, from.im);
  std::swap(to.re, to.im);
  const LaneBuffer result = RunPasses(from, to, lanes);
  return {result.im, result.re};
}

LaneBuffer FourierPlan::RunChirp(double* scratch, int64_t lanes, bool inverse) const {
  const int64_t part = length_ * lanes, size = convolution_->length();
  double *re = scratch, *im = scratch + part;
  if (inverse) std::swap(re, im);
  double* const work = scratch + 2 * part;
  double *const wr = work, *const wi = work + size * lanes;
  const double *const cr = Doubles(chirp_), *const ci = cr + length_;
  for (int64_t k = 0; k < length_; ++k) {
    TurnLanes(cr[k], ci[k], re + k * lanes, im + k * lanes, lanes, wr + k * lanes, wi + k * lanes);
  }
  std::fill(wr + part, wr + size * lanes, 0.0);
  std::fill(wi + part, wi + size * lanes, 0.0);
  const LaneBuffer spectrum = convolution_->Run(work, lanes, /*inverse=*/false);
  const double *const tr = Doubles(chirp_transform_), *const ti = tr + size;
  // The next transform starts where the scratch memory does.
  for (int64_t k = 0; k < size; ++k) {
    const int64_t at = k * lanes;
    TurnLanes(tr[k], ti[k], spectrum.re + at, spectrum.im + at, lanes, spectrum.re + at, spectrum.im + at);
  }
  if (spectrum.re != wr) std::copy_n(spectrum.re, 2 * size * lanes, wr);
  const LaneBuffer sums = convolution_->Run(work, lanes, /*inverse=*/true);
  for (int64_t k = 0; k < length_; ++k) {
    const int64_t at = k * lanes;
    TurnLanes(cr[k], ci[k], sums.re + at, sums.im + at, lanes, re + at, im + at);
  }
  return {scratch, scratch + part};
}

}  // namespace sluice
