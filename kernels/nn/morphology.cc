#include "kernels/nn/morphology.h"

#include <algorithm>
#include <type_traits>

#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/linalg/float_cast.h"

namespace sluice {
namespace {

constexpr double kSumNs = 0.3;
constexpr double kPlaceNs = 1.5;

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 || dtype == DType::kUInt64;
}

bool StaysAsItIs(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kInt32 || dtype == DType::kInt64;
}

// Puts elements of type Small into the upper bits of Wide, and flips the bits that are set in `turned`.
template <typename Small, typename Wide>
void WidenBits(const Small* from, int64_t count, Wide turned, Wide* to) {
  constexpr int kShift = static_cast<int>(8 * (sizeof(Wide) - sizeof(Small)));
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Wide>(static_cast<Wide>(from[i]) << kShift) ^ turned;
}

template <typename Small, typename Wide>
void NarrowBits(const Wide* from, int64_t count, Wide turned, Small* to) {
  constexpr int kShift = static_cast<int>(8 * (sizeof(Wide) - sizeof(Small)));
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Small>((from[i] ^ turned) >> kShift);
}

// Calls `call` with a value of the unsigned type as large as the integers of `dtype`, and one of those they stand in.
template <typename Call>
void DispatchInts(DType dtype, Call call) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      return call(uint8_t{0}, uint32_t{0});
    case DType::kInt16:
    case DType::kUInt16:
      return call(uint16_t{0}, uint32_t{0});
    case DType::kUInt64:
      return call(uint64_t{0}, uint64_t{0});
    default:
      return call(uint32_t{0}, uint32_t{0});
  }
}

template <typename Wide>
constexpr Wide TopBit(bool is_set) {
  return is_set ? static_cast<Wide>(Wide{1} << (8 * sizeof(Wide) - 1)) : Wide{0};
}

// `count` values as they are after a round trip through `dtype`.
void Round(DType dtype, int64_t count, float* values) {
  if (dtype == DType::kHalf) {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(Half(values[i]));
  } else if (dtype == DType::kBFloat16) {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(BFloat16(values[i]));
  }
}
template <typename T>
void Round(DType, int64_t, T*) {}

// Calls `visit(tap, pixel)` for the taps of the window of the result's pixel (y, x), in their order, that are in the
// image: index of the tap, and of the image's pixel.
template <typename Visit>
void ForEachTap(const ConvGeometry& g, int64_t y, int64_t x, const Visit& visit) {
  const SlidingAxis& rows = g.axes[1];
  const SlidingAxis& cols = g.axes[2];
  for (int64_t i = 0; i < rows.window; ++i) {
    const int64_t row = y * rows.stride - rows.before + i * rows.dilation;
    if (row < 0 || row >= rows.in) continue;
    for (int64_t j = 0; j < cols.window; ++j) {
      const int64_t col = x * cols.stride - cols.before + j * cols.dilation;
      if (col >= 0 && col < cols.in) visit(i * cols.window + j, row * cols.in + col);
    }
  }
}

}  // namespace

absl::StatusOr<Tensor> WidenForDilation(const Tensor& tensor, bool turns, Allocator& allocator) {
  const DType dtype = tensor.dtype();
  if (StaysAsItIs(dtype)) return tensor;
  if (dtype == DType::kHalf || dtype == DType::kBFloat16) return ToFloats(tensor, allocator);
  const DType wide = dtype == DType::kUInt64 ? DType::kInt64 : DType::kInt32;
  SLUICE_ASSIGN_OR_RETURN(Tensor made, Tensor::Make(wide, tensor.shape(), allocator));
  if (made.num_elements() == 0) return made;
  DispatchInts(dtype, [&](auto small, auto large) {
    using Wide = decltype(large);
    const auto* const from = static_cast<const decltype(small)*>(tensor.raw_data());
    WidenBits(from, tensor.num_elements(), TopBit<Wide>(turns && IsUnsigned(dtype)),
              static_cast<Wide*>(made.mutable_raw_data()));
  });
  return made;
}

void NarrowFromDilation(const Tensor& wide, bool turned, Tensor* to) {
  if (to->dtype() == DType::kHalf || to->dtype() == DType::kBFloat16) return RoundFloats(wide, to);
  DispatchInts(to->dtype(), [&](auto small, auto large) {
    using Wide = decltype(large);
    NarrowBits(static_cast<const Wide*>(wide.raw_data()), wide.num_elements(),
               TopBit<Wide>(turned && IsUnsigned(to->dtype())), static_cast<decltype(small)*>(to->mutable_raw_data()));
  });
}

template <typename T>
double Dilation<T>::PixelNs(int64_t channels) const {
  return kSumNs * static_cast<double>(g_.taps()) * static_cast<double>(channels);
}

template <typename T>
void Dilation<T>::Run(const KernelContext& context, T* result) const {
  const int64_t channels = g_.channels, width = g_.axes[2].out, height = g_.axes[1].out;
  const int64_t image_pixels = g_.axes[1].in * g_.axes[2].in;
  context.ParallelFor(g_.pixels(), PixelNs(channels), [&](int64_t begin, int64_t end) {
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      const T* const image = image_ + pixel / width / height * image_pixels * channels;
      T* const out = result + pixel * channels;
      std::fill_n(out, channels, lowest_);
      ForEachTap(g_, pixel / width % height, pixel % width, [&](int64_t tap, int64_t from) {
        const T* const a = image + from * channels;
        const T* const b = filter_ + tap * channels;
        for (int64_t c = 0; c < channels; ++c) {
          const T sum = AddElements()(a[c], b[c]);
          out[c] = sum > out[c] ? sum : out[c];
        }
      });
    }
  });
}

template <typename T>
void Dilation<T>::FindPlaces(int64_t pixel, int64_t channel, int64_t count, Places* places) const {
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t y = pixel / cols.out % rows.out, x = pixel % cols.out;
  const int64_t image = pixel / cols.out / rows.out * rows.in * cols.in;
  const int64_t row = std::max<int64_t>(0, y * rows.stride - rows.before);
  const int64_t col = std::max<int64_t>(0, x * cols.stride - cols.before);
  std::fill_n(places->in_image, count, row < rows.in && col < cols.in ? image + row * cols.in + col : -1);
  std::fill_n(places->in_filter, count, g_.taps() > 0 ? 0 : -1);
  T best[kBlock];
  std::fill_n(best, count, lowest_);
  ForEachTap(g_, y, x, [&](int64_t tap, int64_t from) {
    const T* const a = image_ + (image + from) * g_.channels + channel;
    const T* const b = filter_ + tap * g_.channels + channel;
    T sums[kBlock];
    for (int64_t c = 0; c < count; ++c) sums[c] = AddElements()(a[c], b[c]);
    Round(rounded_, count, sums);
    for (int64_t c = 0; c < count; ++c) {
      if (!(sums[c] > best[c])) continue;
      best[c] = sums[c];
      places->in_image[c] = image + from;
      places->in_filter[c] = tap;
    }
  });
}

// Shards are channels (for the image also its batches): sums are made in the order of the pixels.
template <typename T>
void Dilation<T>::AddTo(const KernelContext& context, bool to_image, const T* gradient, T* sums) const {
  const int64_t channels = g_.channels;
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  const int64_t batches = to_image ? g_.batch : 1;
  const int64_t pixels = g_.pixels() / batches;
  const double shard_ns = (PixelNs(kBlock) + kPlaceNs * static_cast<double>(kBlock)) * static_cast<double>(pixels);
  context.ParallelFor(batches * blocks, shard_ns, [&](int64_t begin, int64_t end) {
    Places places;
    for (int64_t shard = begin; shard < end; ++shard) {
      const int64_t channel = shard % blocks * kBlock, first = shard / blocks * pixels;
      const int64_t count = std::min(kBlock, channels - channel);
      for (int64_t pixel = first; pixel < first + pixels; ++pixel) {
        FindPlaces(pixel, channel, count, &places);
        const int64_t* const at = to_image ? places.in_image : places.in_filter;
        for (int64_t c = 0; c < count; ++c) {
          if (at[c] < 0) continue;
          T* const sum = sums + at[c] * channels + channel + c;
          *sum = AddElements()(*sum, gradient[pixel * channels + channel + c]);
          Round(rounded_, 1, sum);
        }
      }
    }
  });
}

template <typename T>
void Dilation<T>::AddToImage(const KernelContext& context, const T* gradient, T* sums) const {
  AddTo(context, true, gradient, sums);
}

template <typename T>
void Dilation<T>::AddToFilter(const KernelContext& context, const T* gradient, T* sums) const {
  AddTo(context, false, gradient, sums);
}

template class Dilation<float>;
template class Dilation<double>;
template class Dilation<int32_t>;
template class Dilation<int64_t>;

}  // namespace sluice
