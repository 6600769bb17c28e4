#include "kernels/nn/image_gradient.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/functional/function_ref.h"
#include "graph/base/status_macros.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/gemm.h"
#include "kernels/nn/convolution.h"
#include "kernels/nn/window_sums.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The cost of moving one element of the filter into another order.
constexpr double kPackNs = 0.5;
// Rows of a panel that are turned at a time: what they take stays in the first-level cache.
constexpr int64_t kPackRows = 64;

// One phase of a convolution: of each axis one.
struct Phase {
  std::array<AxisPhase, 3> axes;
  ConvGeometry geometry;  // Of the phase as a convolution; sizes of the output are left out.
  PixelGrid grid;

  int64_t depth() const { return geometry.window_elements(); }
  // The convolution's tap for tap `i` of the phase.
  int64_t TapOf(const ConvGeometry& forward, int64_t i) const {
    std::array<int64_t, 3> taps;
    for (size_t axis = 3; axis-- > 0; i /= axes[axis].slide.window) {
      taps[axis] = axes[axis].last_tap - i % axes[axis].slide.window * axes[axis].tap_step;
    }
    return (taps[0] * forward.axes[1].window + taps[1]) * forward.axes[2].window + taps[2];
  }
};

Phase PhaseOf(const ConvGeometry& forward, const std::array<AxisPhase, 3>& axes) {
  Phase phase;
  phase.axes = axes;
  phase.geometry.batch = forward.batch;
  phase.geometry.channels = phase.geometry.group_channels = forward.out_channels;
  phase.geometry.out_channels = forward.channels;
  for (size_t i = 0; i < 3; ++i) {
    phase.geometry.axes[i] = axes[i].slide;
    phase.grid.size[i] = forward.axes[i].in;
    phase.grid.first[i] = axes[i].first;
    phase.grid.step[i] = forward.axes[i].stride;
  }
  return phase;
}

// Calls `visit` for all phases, the first error ends that. There are at most as many as taps.
absl::Status ForEachPhase(const ConvGeometry& forward, absl::FunctionRef<absl::Status(const Phase&)> visit) {
  std::array<std::vector<AxisPhase>, 3> axes;
  for (size_t i = 0; i < 3; ++i) axes[i] = PhasesOf(forward.axes[i]);
  for (const AxisPhase& planes : axes[0]) {
    for (const AxisPhase& rows : axes[1]) {
      for (const AxisPhase& cols : axes[2]) SLUICE_RETURN_IF_ERROR(visit(PhaseOf(forward, {planes, rows, cols})));
    }
  }
  return absl::OkStatus();
}

// Whether all pixels of the image are in a phase.
bool PhasesCoverImage(const ConvGeometry& forward) {
  for (const SlidingAxis& axis : forward.axes) {
    int64_t pixels = 0;
    for (const AxisPhase& phase : PhasesOf(axis)) pixels += phase.slide.out;
    if (pixels < axis.in) return false;
  }
  return true;
}

// Packs columns [col, col + a tile's) of a phase's filter, as PackedGemm::Pack would a matrix whose rows are the
// phase's taps and, for each, the convolution's channels made; its columns are the channels taken.
template <typename T>
void PackColumns(const ConvGeometry& forward, const Phase& phase, const T* filter, int64_t col, T* out) {
  const GemmIsa<T>& isa = BestGemm<T>();
  const int64_t made = forward.out_channels, taken = forward.channels, width = isa.tile_cols;
  const int64_t all_cols = (taken + width - 1) / width * width;
  const int64_t depth = phase.depth(), block = PackedGemm<T>::BlockDepth(depth);
  for (int64_t first = 0; first < depth; first += block) {
    const int64_t rows = std::min(block, depth - first);
    T* const panel = out + first * all_cols + col * rows;
    for (int64_t row = first, count = 0; row < first + rows; row += count) {
      count = std::min({made - row % made, first + rows - row, kPackRows});
      const T* const from = filter + (phase.TapOf(forward, row / made) * taken + col) * made + row % made;
      isa.pack_rows(std::min(width, taken - col), count, from, made, panel + (row - first) * width, width);
    }
  }
}

template <typename T>
absl::StatusOr<Tensor> PackFilter(const KernelContext& context, const ConvGeometry& forward, const Tensor& filter,
                                  Allocator& allocator) {
  if (HasFewChannels<T>(forward)) {
    const Shape shape = Shape::Of({WindowFilterElements<T>(forward)});
    SLUICE_ASSIGN_OR_RETURN(Tensor packed, Tensor::Make(DTypeOf<T>::value, shape, allocator));
    PackWindowFilter(forward, filter.flat<T>().data(), packed.flat<T>().data());
    return packed;
  }
  const GemmIsa<T>& isa = BestGemm<T>();
  int64_t elements = 0;
  SLUICE_RETURN_IF_ERROR(ForEachPhase(forward, [&](const Phase& phase) {
    elements += PackedGemm<T>::PackedElements(isa, phase.depth(), forward.channels);
    return absl::OkStatus();
  }));
  SLUICE_ASSIGN_OR_RETURN(Tensor packed, Tensor::Make(DTypeOf<T>::value, Shape::Of({elements}), allocator));
  T* out = packed.flat<T>().data();
  const T* const from = filter.flat<T>().data();
  SLUICE_RETURN_IF_ERROR(ForEachPhase(forward, [&](const Phase& phase) {
    const int64_t panels = (forward.channels + isa.tile_cols - 1) / isa.tile_cols;
    const double panel_ns = kPackNs * static_cast<double>(phase.depth() * isa.tile_cols);
    context.ParallelFor(panels, panel_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) PackColumns(forward, phase, from, i * isa.tile_cols, out);
    });
    out += PackedGemm<T>::PackedElements(isa, phase.depth(), forward.channels);
    return absl::OkStatus();
  }));
  return packed;
}

absl::StatusOr<Tensor> PackAnyFilter(const KernelContext& context, const ConvGeometry& forward, const Tensor& filter,
                                     Allocator& allocator) {
  if (filter.dtype() == DType::kDouble) return PackFilter<double>(context, forward, filter, allocator);
  SLUICE_ASSIGN_OR_RETURN(const Tensor floats, ToFloats(filter, context.allocator()));
  return PackFilter<float>(context, forward, floats, allocator);
}

// Where pixels of a phase go: nowhere else than side by side where the phase is all of the image.
const PixelGrid* GridOf(const Phase& phase) {
  for (const int64_t step : phase.grid.step) {
    if (step != 1) return &phase.grid;
  }
  return nullptr;
}

}  // namespace

std::vector<AxisPhase> PhasesOf(const SlidingAxis& axis) {
  const int64_t common = std::gcd(axis.stride, axis.dilation);
  const int64_t tap_step = axis.stride / common;  // From a tap to the next of the same remainder.
  std::vector<AxisPhase> phases;
  for (int64_t tap = 0; tap < std::min(tap_step, axis.window); ++tap) {
    AxisPhase phase;
    phase.tap_step = tap_step;
    phase.slide.window = (axis.window - 1 - tap) / tap_step + 1;
    phase.last_tap = tap + (phase.slide.window - 1) * tap_step;
    const int64_t remainder = (tap * axis.dilation - axis.before) % axis.stride;
    phase.first = remainder < 0 ? remainder + axis.stride : remainder;
    phase.slide.in = axis.out;
    phase.slide.out = phase.first < axis.in ? (axis.in - 1 - phase.first) / axis.stride + 1 : 0;
    phase.slide.dilation = axis.dilation / common;
    phase.slide.before = (phase.last_tap * axis.dilation - axis.before - phase.first) / axis.stride;
    phases.push_back(phase);
  }
  return phases;
}

absl::StatusOr<Tensor> PhaseFilter::Get(const KernelContext& context, const ConvGeometry& geometry,
                                        const Tensor& filter) const {
  if (!is_constant_ || filter.IsInline()) return PackAnyFilter(context, geometry, filter, context.allocator());
  {
    MutexLock lock(&mu_);
    if (kept_ != nullptr && kept_->source.raw_data() == filter.raw_data() && kept_->source.shape() == filter.shape()) {
      return kept_->packed;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor packed, PackAnyFilter(context, geometry, filter, HostAllocator()));
  auto made = std::make_shared<const Kept>(Kept{filter, packed});
  MutexLock lock(&mu_);
  kept_.swap(made);
  return packed;
}

template <typename T>
absl::Status ImageGradient(const KernelContext& context, const ConvGeometry& geometry, const Tensor& filter,
                           const T* result, T* image, ScratchKeeper* keeper) {
  if (HasFewChannels<T>(geometry)) {
    return SumWindows(geometry, filter.flat<T>().data(), result, image, Workers(context.run()), keeper);
  }
  const int64_t pixels = geometry.batch * geometry.axes[0].in * geometry.axes[1].in * geometry.axes[2].in;
  if (!PhasesCoverImage(geometry)) std::fill_n(image, pixels * geometry.channels, T{0});
  const T* packed = filter.flat<T>().data();
  return ForEachPhase(geometry, [&](const Phase& phase) -> absl::Status {
    const T* const of_phase = packed;
    packed += PackedGemm<T>::PackedElements(BestGemm<T>(), phase.depth(), geometry.channels);
    if (phase.geometry.pixels() == 0) return absl::OkStatus();
    const Convolution<T> convolution(phase.geometry, result, of_phase, image, nullptr, GridOf(phase));
    return convolution.Run(Workers(context.run()), keeper);
  });
}

absl::StatusOr<std::vector<ImageRange>> MinimalImageGradient(const KernelContext& context, const ConvGeometry& geometry,
                                                             const MinimalFilter& kept, const Tensor& filter,
                                                             const float* result, float* image, ScratchKeeper* keeper) {
  std::vector<ImageRange> rest = {{0, geometry.batch}};
  for (const SlidingAxis& axis : geometry.axes) {
    if (axis.stride != 1) return rest;  // Several phases, or pixels in none.
  }
  SLUICE_RETURN_IF_ERROR(ForEachPhase(geometry, [&](const Phase& phase) -> absl::Status {
    if (geometry.groups != 1 || !HasMinimalFilter(phase.geometry)) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const Tensor packed, kept.Get(filter, /*turned=*/true, context.allocator()));
    if (!packed.has_value()) return absl::OkStatus();
    const MinimalConvolution convolution(phase.geometry, result, packed.flat<float>().data(), image, nullptr);
    SLUICE_ASSIGN_OR_RETURN(rest, convolution.Run(Workers(context.run()), keeper));
    return absl::OkStatus();
  }));
  return rest;
}

absl::Status ImageGradientOfInts(const KernelContext& context, const ConvGeometry& geometry, const int32_t* filter,
                                 const int32_t* result, int32_t* image, ScratchKeeper* keeper) {
  const int64_t pixels = geometry.batch * geometry.axes[0].in * geometry.axes[1].in * geometry.axes[2].in;
  const int64_t made = geometry.out_channels, taken = geometry.channels;
  if (!PhasesCoverImage(geometry)) std::fill_n(image, pixels * taken, 0);
  return ForEachPhase(geometry, [&](const Phase& phase) -> absl::Status {
    if (phase.geometry.pixels() == 0) return absl::OkStatus();
    const int64_t rows = phase.depth();
    SLUICE_ASSIGN_OR_RETURN(Tensor turned, Tensor::Make(DType::kInt32, Shape::Of({rows, taken}), context.allocator()));
    int32_t* const to = turned.flat<int32_t>().data();
    for (int64_t row = 0; row < rows; ++row) {
      const int32_t* const from = filter + phase.TapOf(geometry, row / made) * taken * made + row % made;
      for (int64_t i = 0; i < taken; ++i) to[row * taken + i] = from[i * made];
    }
    return ConvolveInts(phase.geometry, result, to, image, GridOf(phase), Workers(context.run()), keeper);
  });
}

template absl::Status ImageGradient(const KernelContext&, const ConvGeometry&, const Tensor&, const float*, float*,
                                    ScratchKeeper*);
template absl::Status ImageGradient(const KernelContext&, const ConvGeometry&, const Tensor&, const double*, double*,
                                    ScratchKeeper*);

}  // namespace sluice
