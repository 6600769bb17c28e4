#include "kernels/fft/fft_lines.h"

#include <algorithm>

#include "kernels/row_work.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr int64_t kLanes = FourierPlan::kLanes;
// Nanoseconds for a multiplication or so of a plan's cost, and for an element that is moved.
constexpr double kCostNs = 0.5;
constexpr double kMoveNs = 1;

// Element numbers are those of complex or real elements; a complex one is two Ts. Element i of a line is `lanes`
// numbers from the next one: see Note [Lanes].
template <typename T, bool kReal>
void LoadLine(const T* from, int64_t step, int64_t count, int64_t lanes, double* re, double* im) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kReal) {
      re[i * lanes] = static_cast<double>(from[i * step]);
      im[i * lanes] = 0;
    } else {
      re[i * lanes] = static_cast<double>(from[2 * i * step]);
      im[i * lanes] = static_cast<double>(from[2 * i * step + 1]);
    }
  }
}

// Makes the other half of a line of `length` elements. Terms that are real for a real line have no imaginary part.
void CompleteLine(int64_t length, int64_t lanes, double* re, double* im) {
  im[0] = 0;
  if (length % 2 == 0) im[length / 2 * lanes] = 0;
  for (int64_t i = length / 2 + 1; i < length; ++i) {
    re[i * lanes] = re[(length - i) * lanes];
    im[i * lanes] = -im[(length - i) * lanes];
  }
}

template <typename T, bool kReal>
void StoreLine(const double* re, const double* im, int64_t lanes, double scale, int64_t count, int64_t step, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kReal) {
      to[i * step] = static_cast<T>(re[i * lanes] * scale);
    } else {
      to[2 * i * step] = static_cast<T>(re[i * lanes] * scale);
      to[2 * i * step + 1] = static_cast<T>(im[i * lanes] * scale);
    }
  }
}

// How many lines of `lines` go together: as many as there are lanes, unless long lines would leave threads without
// work.
int64_t LanesFor(const KernelContext& context, int64_t length, int64_t lines) {
  constexpr int64_t kLongLine = 4096;
  if (length < kLongLine) return std::min(kLanes, lines);
  return std::min(kLanes, std::max<int64_t>(1, lines / Workers(context.run()).count()));
}

}  // namespace

int64_t FftLines::count() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

int64_t FftLines::base(int64_t line) const {
  int64_t base = 0;
  for (size_t i = sizes.size(); i-- > 0;) {
    base += line % sizes[i] * strides[i];
    line /= sizes[i];
  }
  return base;
}

template <typename T, bool kRealIn, bool kRealOut>
absl::Status RunFftPass(const KernelContext& context, const FftPass& pass, const T* from, T* to,
                        ScratchKeeper* keeper) {
  const FourierPlan& plan = *pass.plan;
  const int64_t length = plan.length(), lines = pass.from.count();
  const int64_t lanes = LanesFor(context, length, lines);
  const double group_ns = static_cast<double>(lanes) * (kCostNs * plan.cost() + kMoveNs * static_cast<double>(length));
  const int64_t floats = plan.scratch_doubles(lanes) * static_cast<int64_t>(sizeof(double) / sizeof(float));
  const double scale = pass.inverse ? 1.0 / static_cast<double>(length) : 1.0;
  const int64_t loaded = pass.is_half ? length / 2 + 1 : length;
  const RowWork work{(lines + lanes - 1) / lanes, group_ns, floats};
  return ForEachRowRange(context, work, keeper, [&](int64_t begin, int64_t end, float* memory) {
    double* const scratch = reinterpret_cast<double*>(memory);
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * lanes, count = std::min(lanes, lines - first);
      double *const re = scratch, *const im = scratch + length * count;
      for (int64_t lane = 0; lane < count; ++lane) {
        const T* const line = from + pass.from.base(first + lane) * (kRealIn ? 1 : 2);
        LoadLine<T, kRealIn>(line, pass.from.step, loaded, count, re + lane, im + lane);
        if (pass.is_half) CompleteLine(length, count, re + lane, im + lane);
      }
      const LaneBuffer result = plan.Run(scratch, count, pass.inverse);
      for (int64_t lane = 0; lane < count; ++lane) {
        T* const line = to + pass.to.base(first + lane) * (kRealOut ? 1 : 2);
        StoreLine<T, kRealOut>(result.re + lane, result.im + lane, count, scale, pass.kept, pass.to.step, line);
      }
    }
  });
}

template absl::Status RunFftPass<float, false, false>(const KernelContext&, const FftPass&, const float*, float*,
                                                      ScratchKeeper*);
template absl::Status RunFftPass<float, true, false>(const KernelContext&, const FftPass&, const float*, float*,
                                                     ScratchKeeper*);
template absl::Status RunFftPass<float, false, true>(const KernelContext&, const FftPass&, const float*, float*,
                                                     ScratchKeeper*);
template absl::Status RunFftPass<double, false, false>(const KernelContext&, const FftPass&, const double*, double*,
                                                       ScratchKeeper*);
template absl::Status RunFftPass<double, true, false>(const KernelContext&, const FftPass&, const double*, double*,
                                                      ScratchKeeper*);
template absl::Status RunFftPass<double, false, true>(const KernelContext&, const FftPass&, const double*, double*,
                                                      ScratchKeeper*);

}  // namespace sluice
