// First and second gradients of maxima over windows with respect to the input.

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/element_math.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/channel_blocks.h"
#include "kernels/pool/families.h"
#include "kernels/pool/first_maxima.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/wide_output.h"
#include "kernels/pool/wide_values.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The inputs of these ops, in their wide type: the images, the maxima, and the values that are moved through the
// pooling, from windows to pixels or back.
template <typename W>
struct PooledElements {
  const PoolGeometry& g;
  bool is_of_volumes;
  const W* x;
  const W* y;
  const W* given;
  W* made;

  int64_t InputAt(const ChannelBlock& block) const { return block.image * g.image_pixels() * g.channels + block.begin; }
  int64_t OutputAt(const ChannelBlock& block, const PoolWindow& window) const {
    return (block.image * g.output_pixels() + window.output_pixel) * g.channels + block.begin;
  }
};

// The gradient of the input.
struct FirstGradient {
  static constexpr bool kIsOfImage = true;  // The result is as large as the images, what is given as their maxima.
  static constexpr double kPixelNs = 1;
  // Pixels of a window up to which a vector of sums for each costs less than one sum after the other.
  static constexpr int64_t kSmallWindow = 6;
  // The maxima as they were given are looked at for volumes alone, as TensorFlow's kernels have it.
  static bool NeedsMaxima(const PoolForm& form) { return form.num_axes == 3; }

  template <typename W>
  static void MakeBlock(const PooledElements<W>& call, const ChannelBlock& block) {
    ZeroBlock(call.g, block, call.g.image_pixels(), call.made);
    if constexpr (std::is_same<W, float>::value) {  // All rows for volumes are computed in float.
      if (call.is_of_volumes) return ToAll(call, block);
    }
    ToFirst(call, block);
  }

 private:
  // The gradient of each window goes to the first of its largest elements.
  template <typename W>
  static void ToFirst(const PooledElements<W>& call, const ChannelBlock& block) {
    FirstMaxima<W> maxima;
    const W* const image = call.x + call.InputAt(block);
    W* const to = call.made + call.InputAt(block);
    ForEachWindow(call.g, [&](const PoolWindow& window) {
      maxima.Find(call.g, window, image, block.size);
      const W* const from = call.given + call.OutputAt(block, window);
      if (window.size() <= kSmallWindow) return AddToEach(call.g, window, maxima, from, block.size, to);
      for (int64_t c = 0; c < block.size; ++c) {
        W& sum = to[maxima.pixel[c] * call.g.channels + c];
        sum = AddElements()(sum, from[c]);
      }
    });
  }

  // The same for a small window, pixel by pixel, with vectors: what the others get is zero, which changes no sum, since
  // none is the negative zero.
  template <typename W>
  static void AddToEach(const PoolGeometry& g, const PoolWindow& window, const FirstMaxima<W>& maxima, const W* from,
                        int64_t size, W* to) {
    ForEachPixel(g, window, [&](int64_t at) {
      const auto here = static_cast<typename FirstMaxima<W>::Pixel>(at);
      W* const sums = to + at * g.channels;
      for (int64_t c = 0; c < size; ++c) {
        sums[c] = AddElements()(sums[c], ChooseBits(maxima.pixel[c] == here, from[c], W{0}));
      }
    });
  }

  // The gradient of each window goes to all elements that are its maximum, as it was given, or as close to that as
  // TensorFlow asks for. An infinite maximum is close to none.
  template <typename W>
  static void ToAll(const PooledElements<W>& call, const ChannelBlock& block) {
    constexpr W kClose = static_cast<W>(1e-5);
    ForEachWindow(call.g, [&](const PoolWindow& window) {
      const int64_t at = call.OutputAt(block, window);
      const W* const from = call.given + at;
      const W* const largest = call.y + at;
      ForEachPixel(call.g, window, [&](int64_t pixel) {
        const int64_t in = call.InputAt(block) + pixel * call.g.channels;
        for (int64_t c = 0; c < block.size; ++c) {
          call.made[in + c] += ChooseBits(std::abs(call.x[in + c] - largest[c]) < kClose, from[c], W{0});
        }
      });
    });
  }
};

// The gradient of that gradient: what is given at the first element that is the window's maximum, zero where none is.
struct SecondGradient {
  static constexpr bool kIsOfImage = false;
  static constexpr double kPixelNs = 0.5;
  static bool NeedsMaxima(const PoolForm&) { return true; }

  template <typename W>
  static void MakeBlock(const PooledElements<W>& call, const ChannelBlock& block) {
    const PoolGeometry& g = call.g;
    const int64_t image = call.InputAt(block);
    ForEachWindow(g, [&](const PoolWindow& window) {
      const int64_t at = call.OutputAt(block, window);
      W* const to = call.made + at;
      const W* const largest = call.y + at;
      std::fill_n(to, block.size, W{0});
      // Pixels in reverse: the first one that is equal is what stays.
      for (int64_t i = window.spans[0].end; i-- > window.spans[0].begin;) {
        for (int64_t k = window.spans[1].end; k-- > window.spans[1].begin;) {
          for (int64_t o = window.spans[2].end; o-- > window.spans[2].begin;) {
            const int64_t in = image + ((i * g.axes[1].in + k) * g.axes[2].in + o) * g.channels;
            for (int64_t c = 0; c < block.size; ++c) {
              to[c] = ChooseBits(call.x[in + c] == largest[c], call.given[in + c], to[c]);
            }
          }
        }
      }
    });
  }
};

// Gradients of images and volumes, with window and strides in attrs or in inputs 3 and 4. See Note [Channel blocks].
template <typename Gradient>
class MaxPoolGradientKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, PoolForm::ReadSpatial(construction));
    return std::make_unique<MaxPoolGradientKernel>(form, construction.HasAttr("ksize"));
  }
  MaxPoolGradientKernel(const PoolForm& form, bool is_complete) : form_(form), is_complete_(is_complete) {}

  absl::Status Compute(KernelContext& context) const override {
    if (is_complete_) return Run(context, form_);
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, form_.WithInputs(context, 3));
    SLUICE_RETURN_IF_ERROR(form.CheckSpatial());
    return Run(context, form);
  }

 private:
  static absl::Status Run(KernelContext& context, const PoolForm& form) {
    const Shape image = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form, image, 0));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 2, Gradient::kIsOfImage ? geometry.output : image));
    if (Gradient::kIsOfImage) SLUICE_RETURN_IF_ERROR(CheckPixelCount(geometry));
    const Shape& made = Gradient::kIsOfImage ? image : geometry.output;
    SLUICE_ASSIGN_OR_RETURN(WideOutput output, WideOutput::Make(context, 0, made));
    if (made.num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const Tensor x, Widened(context.input(0), WideUse::kOrder, context.allocator()));
    Tensor y = x;  // Widened only for gradients that read the maxima.
    if (Gradient::NeedsMaxima(form)) {
      SLUICE_ASSIGN_OR_RETURN(y, Widened(context.input(1), WideUse::kOrder, context.allocator()));
    }
    SLUICE_ASSIGN_OR_RETURN(const Tensor given, Widened(context.input(2), WideUse::kSum, context.allocator()));
    absl::Status status;
    DispatchDType<WideCppTypes>(x.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const PooledElements<W> call{geometry,
                                   form.num_axes == 3,
                                   x.flat<W>().data(),
                                   std::as_const(y).flat<W>().data(),
                                   given.flat<W>().data(),
                                   output.data<W>()};
      status = ForEachChannelBlock(Workers(context.run()), geometry, PixelsRead(geometry) * Gradient::kPixelNs,
                                   [&](const ChannelBlock& block) {
                                     Gradient::MakeBlock(call, block);
                                     return absl::OkStatus();
                                   });
    });
    SLUICE_RETURN_IF_ERROR(status);
    output.Finish(WideUse::kSum);
    return absl::OkStatus();
  }

  const PoolForm form_;
  const bool is_complete_;  // Else window and stride are inputs.
};

using FirstKernel = MaxPoolGradientKernel<FirstGradient>;
using SecondKernel = MaxPoolGradientKernel<SecondGradient>;

constexpr KernelRow kRows[] = {
    // Three rows: both type attrs of a kernel are the same type.
    KernelRow("MaxPool3DGrad", &New<FirstKernel>).Types("T", {DType::kFloat}).Types("TInput", {DType::kFloat}),
    KernelRow("MaxPool3DGrad", &New<FirstKernel>).Types("T", {DType::kHalf}).Types("TInput", {DType::kHalf}),
    KernelRow("MaxPool3DGrad", &New<FirstKernel>).Types("T", {DType::kBFloat16}).Types("TInput", {DType::kBFloat16}),
    KernelRow("MaxPool3DGradGrad", &New<SecondKernel>).Types("T", kRealTypes),
    KernelRow("MaxPoolGrad", &New<FirstKernel>).Types("T", kRealTypes),
    KernelRow("MaxPoolGradGrad", &New<SecondKernel>).Types("T", kRealTypes),
    KernelRow("MaxPoolGradGradV2", &New<SecondKernel>).Types("T", kRealTypes).HostInput("ksize").HostInput("strides"),
    KernelRow("MaxPoolGradV2", &New<FirstKernel>).Types("T", kRealTypes).HostInput("ksize").HostInput("strides"),
};

}  // namespace

absl::Span<const KernelRow> MaxPoolGradKernels() { return kRows; }

}  // namespace sluice
