// Gradients of maxima and means over windows cut at random.

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/channel_blocks.h"
#include "kernels/pool/families.h"
#include "kernels/pool/first_maxima.h"
#include "kernels/pool/fractional_sequence.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/wide_values.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Images of shape `image`, found in input 0, with the cuts in inputs `bounds` and `bounds` + 1.
absl::StatusOr<PoolGeometry> Resolve(const KernelContext& context, const Shape& image, int bounds, bool overlaps) {
  if (image.rank() != 4) return ShapeError(0, "", image, "4 dimensions");
  PoolGeometry g;
  g.images = image.dim(0);
  g.channels = image.dim(3);
  for (int i = 0; i < 2; ++i) {
    PoolAxis& axis = g.axes[static_cast<size_t>(i) + 1];
    axis.in = image.dim(i + 1);
    SLUICE_RETURN_IF_ERROR(SetFractionalAxis(context, bounds + i, overlaps, &axis));
  }
  const absl::StatusOr<Shape> output = Shape::Make({g.images, g.axes[1].out, g.axes[2].out, g.channels});
  if (!output.ok()) return Error(ErrorCode::kOpTooLarge).Found(image.ToString());
  g.output = *output;
  if (image.num_elements() != 0) SLUICE_RETURN_IF_ERROR(CheckPixelCount(g));
  return g;
}

// The gradient of each window goes to the first of its largest elements.
class FractionalMaxPoolGradKernel : public Kernel {
 public:
  explicit FractionalMaxPoolGradKernel(bool overlaps) : overlaps_(overlaps) {}

  absl::Status Compute(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, Resolve(context, shape, 3, overlaps_));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 2, geometry.output));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    absl::Status status;
    DispatchDType<WideCppTypes>(output->dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const W* const x = context.input(0).flat<W>().data();
      const W* const y = context.input(1).flat<W>().data();
      const W* const dy = context.input(2).flat<W>().data();
      W* const dx = output->flat<W>().data();
      status = ForEachChannelBlock(Workers(context.run()), geometry, 2.0 * static_cast<double>(geometry.image_pixels()),
                                   [&](const ChannelBlock& block) {
                                     ZeroBlock(geometry, block, geometry.image_pixels(), dx);
                                     return ScatterBlock(geometry, block, x, y, dy, dx);
                                   });
    });
    return status;
  }

 private:
  template <typename W>
  static absl::Status ScatterBlock(const PoolGeometry& g, const ChannelBlock& block, const W* x, const W* y,
                                   const W* dy, W* dx) {
    FirstMaxima<W> maxima;
    bool agree = true;
    const int64_t in = block.image * g.image_pixels() * g.channels + block.begin;
    const int64_t out = block.image * g.output_pixels() * g.channels + block.begin;
    ForEachWindow(g, [&](const PoolWindow& window) {
      maxima.Find(g, window, x + in, block.size);
      const int64_t at = out + window.output_pixel * g.channels;
      for (int64_t c = 0; c < block.size; ++c) {
        W& sum = dx[in + maxima.pixel[c] * g.channels + c];
        sum = AddElements()(sum, dy[at + c]);
        // The maximum of NaNs is one that forward kernels leave out.
        agree = agree && (maxima.largest[c] == y[at + c] || maxima.largest[c] != maxima.largest[c]);
      }
    });
    if (agree) return absl::OkStatus();
    return Error(ErrorCode::kOpValue).Input(1).Expected("the largest elements of the windows of input 0");
  }

  const bool overlaps_;
};

// `value` as a T, cut towards zero; what does not fit is the nearest that does.
template <typename T>
T CutTo(double value) {
  if constexpr (std::is_integral<T>::value) {
    constexpr double kEnd = -static_cast<double>(std::numeric_limits<T>::lowest());  // A power of two.
    if (value >= kEnd) return std::numeric_limits<T>::max();
    if (!(value > -kEnd)) return std::numeric_limits<T>::lowest();
  }
  return static_cast<T>(value);
}

// Each window's gradient, divided by the number of its elements, goes to all of them. Sums are made in double, as in
// TensorFlow: whole numbers are cut once.
class FractionalAvgPoolGradKernel : public Kernel {
 public:
  explicit FractionalAvgPoolGradKernel(bool overlaps) : overlaps_(overlaps) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "orig_input_tensor_shape"));
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, Resolve(context, shape, 2, overlaps_));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    DispatchDType<WideCppTypes>(output->dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const W* const dy = context.input(1).flat<W>().data();
      W* const dx = output->flat<W>().data();
      const int64_t width = geometry.axes[2].in * geometry.channels;
      context.ParallelFor(geometry.images * geometry.axes[1].in, 3.0 * static_cast<double>(width),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t row = begin; row < end; ++row) FillRow(geometry, row, dy, dx + row * width);
                          });
    });
    return absl::OkStatus();
  }

 private:
  // The windows over position `at`: none, one, or two where they overlap. From the first that may be.
  static PoolSpan WindowsOver(const PoolAxis& axis, int64_t at) {
    const int64_t* const next = std::upper_bound(axis.bounds, axis.bounds + axis.out, at);
    const int64_t last = next - axis.bounds;  // One after the last window that begins at `at` or before.
    PoolSpan windows{last, last};
    while (windows.begin > 0 && axis.SpanOf(windows.begin - 1).end > at) --windows.begin;
    return windows;
  }

  template <typename W>
  static void FillRow(const PoolGeometry& g, int64_t row, const W* dy, W* dx) {
    const int64_t image = row / g.axes[1].in;
    const PoolSpan rows = WindowsOver(g.axes[1], row % g.axes[1].in);
    for (int64_t at = 0; at < g.axes[2].in; ++at, dx += g.channels) {
      const PoolSpan columns = WindowsOver(g.axes[2], at);
      for (int64_t c = 0; c < g.channels; ++c) {
        double sum = 0;
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          for (int64_t k = columns.begin; k < columns.end; ++k) {
            const int64_t from = ((image * g.axes[1].out + i) * g.axes[2].out + k) * g.channels + c;
            sum += static_cast<double>(dy[from]) /
                   static_cast<double>(g.axes[1].SpanOf(i).size() * g.axes[2].SpanOf(k).size());
          }
        }
        dx[c] = CutTo<W>(sum);
      }
    }
  }

  const bool overlaps_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64};

constexpr KernelRow kRows[] = {
    KernelRow("FractionalAvgPoolGrad", FromAttr<FractionalAvgPoolGradKernel, bool>("overlapping"))
        .Types("T", kTypes)
        .HostInput("orig_input_tensor_shape"),
    KernelRow("FractionalMaxPoolGrad", FromAttr<FractionalMaxPoolGradKernel, bool>("overlapping")).Types("T", kTypes),
};

}  // namespace

absl::Span<const KernelRow> FractionalPoolGradKernels() { return kRows; }

}  // namespace sluice
