// Maxima over windows with the places where they are, and gradients that go by these places.

#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
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

// The attrs of these ops. Places are counted from the image's first element, or from that of the first image.
struct ArgmaxForm {
  PoolForm pool;
  bool counts_batch = false;

  static absl::StatusOr<ArgmaxForm> Read(const KernelConstruction& construction) {
    ArgmaxForm form;
    SLUICE_ASSIGN_OR_RETURN(form.pool, PoolForm::ReadSpatial(construction));
    SLUICE_ASSIGN_OR_RETURN(form.counts_batch, construction.Get<bool>("include_batch_in_index"));
    return form;
  }
  // The place of the first element of an image.
  int64_t FirstOf(const PoolGeometry& g, int64_t image) const {
    return counts_batch ? image * g.image_pixels() * g.channels : 0;
  }
};

template <typename W>
void FindMaxima(const ArgmaxForm& form, const PoolGeometry& g, const W* x, const ChannelBlock& block, W* y,
                Tensor* places) {
  FirstMaxima<W> maxima;
  const W* const image = x + block.image * g.image_pixels() * g.channels + block.begin;
  const int64_t first = form.FirstOf(g, block.image) + block.begin;
  int32_t* const small = places->dtype() == DType::kInt32 ? places->flat<int32_t>().data() : nullptr;
  int64_t* const large = small == nullptr ? places->flat<int64_t>().data() : nullptr;
  ForEachWindow(g, [&](const PoolWindow& window) {
    maxima.Find(g, window, image, block.size);
    const int64_t at = (block.image * g.output_pixels() + window.output_pixel) * g.channels + block.begin;
    std::copy_n(maxima.largest, block.size, y + at);
    for (int64_t c = 0; c < block.size; ++c) {
      const int64_t place = first + maxima.pixel[c] * g.channels + c;
      if (small != nullptr) {
        small[at + c] = static_cast<int32_t>(place);
      } else {
        large[at + c] = place;
      }
    }
  });
}

// The maximum of each window and its place.
class MaxPoolWithArgmaxKernel : public Kernel {
 public:
  explicit MaxPoolWithArgmaxKernel(const ArgmaxForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form_.pool, input.shape(), 0));
    if (input.num_elements() == 0) return ShapeError(0, "", input.shape(), "images with elements");
    SLUICE_RETURN_IF_ERROR(CheckPixelCount(geometry));
    const int64_t counted = form_.counts_batch ? input.num_elements() : geometry.image_pixels() * geometry.channels;
    if (context.output_type(1) == DType::kInt32 && counted > std::numeric_limits<int32_t>::max()) {
      return Error(ErrorCode::kOpTooLarge).Input(0).Found(input.shape().ToString()).Expected("places that fit int32");
    }
    SLUICE_ASSIGN_OR_RETURN(const Tensor x, Widened(input, WideUse::kOrder, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(WideOutput maxima, WideOutput::Make(context, 0, geometry.output));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const places, context.AllocateOutput(1, geometry.output));
    if (geometry.output.num_elements() == 0) return absl::OkStatus();
    absl::Status status;
    DispatchDType<WideCppTypes>(x.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      W* const y = maxima.data<W>();
      status =
          ForEachChannelBlock(Workers(context.run()), geometry, PixelsRead(geometry), [&](const ChannelBlock& block) {
            FindMaxima(form_, geometry, x.flat<W>().data(), block, y, places);
            return absl::OkStatus();
          });
    });
    SLUICE_RETURN_IF_ERROR(status);
    maxima.Finish(WideUse::kOrder);
    return absl::OkStatus();
  }

 private:
  const ArgmaxForm form_;
};

// Checks that place `place`, given in input 2, is in image `image`, and makes it one of all images.
absl::Status ResolvePlace(const ArgmaxForm& form, const PoolGeometry& g, int64_t image, int64_t* place) {
  const int64_t size = g.image_pixels() * g.channels;
  const int64_t first = form.FirstOf(g, image);
  if (*place >= first && *place - first < size) {
    *place += image * size - first;
    return absl::OkStatus();
  }
  return ValueError(2, "", absl::StrCat(*place, " for image ", image), absl::StrCat(first, " to ", first + size - 1));
}

// Checks shared by both gradients: input 0 are the images, and there is a place for each window.
absl::StatusOr<PoolGeometry> CheckPlaces(const KernelContext& context, const ArgmaxForm& form) {
  SLUICE_ASSIGN_OR_RETURN(PoolGeometry geometry, PoolGeometry::Resolve(form.pool, context.input(0).shape(), 0));
  SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 2, geometry.output));
  return geometry;
}

// The gradient of each window goes to its place.
class MaxPoolGradWithArgmaxKernel : public Kernel {
 public:
  explicit MaxPoolGradWithArgmaxKernel(const ArgmaxForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Shape shape = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, CheckPlaces(context, form_));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_ASSIGN_OR_RETURN(WideOutput output, WideOutput::Make(context, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const Tensor dy, Widened(context.input(1), WideUse::kSum, context.allocator()));
    const Tensor& places = context.input(2);
    absl::Status status;
    DispatchDType<WideCppTypes>(dy.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const W* const from = dy.flat<W>().data();
      W* const to = output.data<W>();
      const int64_t size = geometry.output_pixels() * geometry.channels;
      const int64_t in_size = geometry.image_pixels() * geometry.channels;
      status = Workers(context.run())
                   .ForEachShard(geometry.images, static_cast<double>(size) + 0.1 * static_cast<double>(in_size),
                                 [&](int64_t image, int) {
                                   std::fill_n(to + image * in_size, in_size, W{0});
                                   for (int64_t i = image * size; i < (image + 1) * size; ++i) {
                                     int64_t place = IndexAt(places, i);
                                     SLUICE_RETURN_IF_ERROR(ResolvePlace(form_, geometry, image, &place));
                                     to[place] = AddElements()(to[place], from[i]);
                                   }
                                   return absl::OkStatus();
                                 });
    });
    SLUICE_RETURN_IF_ERROR(status);
    output.Finish(WideUse::kSum);
    return absl::OkStatus();
  }

 private:
  const ArgmaxForm form_;
};

// Each window gets what is at its place.
class MaxPoolGradGradWithArgmaxKernel : public Kernel {
 public:
  explicit MaxPoolGradGradWithArgmaxKernel(const ArgmaxForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, CheckPlaces(context, form_));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, context.input(0).shape()));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    if (output->num_elements() == 0) return absl::OkStatus();
    const Tensor& ddx = context.input(1);
    const Tensor& places = context.input(2);
    const int64_t size = geometry.output_pixels() * geometry.channels;
    absl::Status status;
    DispatchSize(DTypeSize(ddx.dtype()), [&](auto type) {
      using E = typename decltype(type)::Type;
      const E* const from = static_cast<const E*>(ddx.raw_data());
      E* const to = static_cast<E*>(output->mutable_raw_data());
      status = Workers(context.run()).ForEachShard(geometry.images, static_cast<double>(size), [&](int64_t image, int) {
        for (int64_t i = image * size; i < (image + 1) * size; ++i) {
          int64_t place = IndexAt(places, i);
          SLUICE_RETURN_IF_ERROR(ResolvePlace(form_, geometry, image, &place));
          to[i] = from[place];
        }
        return absl::OkStatus();
      });
    });
    return status;
  }

 private:
  const ArgmaxForm form_;
};

constexpr KernelRow kRows[] = {
    KernelRow("MaxPoolGradGradWithArgmax", &NewWith<MaxPoolGradGradWithArgmaxKernel, &ArgmaxForm::Read>)
        .Types("T", kRealTypes)
        .Types("Targmax", kIndexTypes),
    KernelRow("MaxPoolGradWithArgmax", &NewWith<MaxPoolGradWithArgmaxKernel, &ArgmaxForm::Read>)
        .Types("T", kRealTypes)
        .Types("Targmax", kIndexTypes),
    KernelRow("MaxPoolWithArgmax", &NewWith<MaxPoolWithArgmaxKernel, &ArgmaxForm::Read>)
        .Types("T", kRealTypes)
        .Types("Targmax", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> MaxPoolArgmaxKernels() { return kRows; }

}  // namespace sluice
