#include "kernels/nn/convolution.h"

#include <algorithm>
#include <cstring>

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/nn/window_rows.h"

namespace sluice {
namespace {

// Pixels of a shard that gathers nothing.
constexpr int64_t kPointwisePixels = 192;
// What one core does, for estimates: floating-point operations per nanosecond.
constexpr double kFlopsPerNs = 50;
constexpr double kIntFlopsPerNs = 4;

// The scratch bytes of a shard of `pixels`.
double EstimateNs(const ConvGeometry& g, int64_t pixels, double flops_per_ns) {
  return 2.0 * static_cast<double>(pixels) * static_cast<double>(g.window_elements()) *
         static_cast<double>(g.out_channels) / flops_per_ns;
}

// The product of one shard and group.
template <typename T>
PackedGemm<T> ProductOf(const ConvGeometry& g, int64_t pixels) {
  const int64_t cols = g.out_channels / g.groups;
  return PackedGemm<T>(BestGemm<T>(), GemmSize{pixels, cols, g.window_elements()}, cols);
}

// c[j] = the sum over p of a[p] * b[p*ldb + j], modulo 2^32.
void MultiplyRow(const int32_t* a, int64_t depth, const int32_t* b, int64_t ldb, int32_t* c, int64_t cols) {
  std::fill_n(c, cols, 0);
  for (int64_t p = 0; p < depth; ++p) {
    const uint32_t x = static_cast<uint32_t>(a[p]);
    const int32_t* const row = b + p * ldb;
    for (int64_t j = 0; j < cols; ++j) {
      c[j] = static_cast<int32_t>(static_cast<uint32_t>(c[j]) + x * static_cast<uint32_t>(row[j]));
    }
  }
}

// Copies pixels [first, first + count) of the result to their places in the larger image.
template <typename T>
void PlacePixels(const ConvGeometry& geometry, const PixelGrid& grid, int64_t first, int64_t count, const T* from,
                 T* image) {
  const int64_t channels = geometry.out_channels;
  const size_t bytes = static_cast<size_t>(channels) * sizeof(T);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(image + grid.PixelAt(geometry, first + i) * channels, from + i * channels, bytes);
  }
}

}  // namespace

int64_t PixelGrid::PixelAt(const ConvGeometry& geometry, int64_t i) const {
  std::array<int64_t, 3> at;
  for (size_t axis = 3; axis-- > 0; i /= geometry.axes[axis].out) {
    at[axis] = first[axis] + i % geometry.axes[axis].out * step[axis];
  }
  return ((i * size[0] + at[0]) * size[1] + at[1]) * size[2] + at[2];
}

template <typename T>
Convolution<T>::Convolution(const ConvGeometry& geometry, const T* image, const T* filter, T* output,
                            const GemmEpilogue<T>* epilogue, const PixelGrid* grid)
    : geometry_(geometry),
      image_(image),
      filter_(filter),
      output_(output),
      epilogue_(epilogue),
      grid_(grid),
      gathers_(!geometry.IsPointwise()),
      shard_pixels_(gathers_ ? WindowsAtATime(geometry.window_elements(), sizeof(T), BestGemm<T>().tile_rows)
                             : kPointwisePixels) {}

template <typename T>
PackedLayout Convolution<T>::LayoutOf(const ConvGeometry& geometry) {
  PackedLayout layout;
  layout.rows = geometry.window_elements();
  layout.cols = geometry.out_channels;
  layout.groups = geometry.groups;
  return layout;
}

template <typename T>
void Convolution<T>::RunPixels(int64_t first, int64_t count, T* scratch, GemmStop stop) const {
  const PackedGemm<T> product = ProductOf<T>(geometry_, count);
  const int64_t depth = geometry_.window_elements();
  const int64_t group_cols = geometry_.out_channels / geometry_.groups;
  const int64_t group_packed = PackedGemm<T>::PackedElements(BestGemm<T>(), depth, group_cols);
  T* const rows = scratch + product.scratch_elements();
  T* const sums = rows + (gathers_ ? count * depth : 0);  // Where the pixels do not stand side by side.
  for (int64_t group = 0; group < geometry_.groups; ++group) {
    MatrixView<T> a = {rows, depth, false};
    if (gathers_) {
      GatherWindows(geometry_, {first, count, group}, sizeof(T), image_, rows);
    } else {
      a = {image_ + first * geometry_.channels + group * depth, geometry_.channels, false};
    }
    T* const c = (grid_ == nullptr ? output_ + first * geometry_.out_channels : sums) + group * group_cols;
    const GemmFinish<T> finish = {epilogue_, group * group_cols};
    product.Run(a, filter_ + group * group_packed, 0, c, geometry_.out_channels, scratch, stop, finish);
  }
  if (grid_ != nullptr) PlacePixels(geometry_, *grid_, first, count, sums, output_);
}

template <typename T>
absl::Status Convolution<T>::Run(const Workers& workers, ScratchKeeper* keeper) const {
  const int64_t pixels = geometry_.pixels();
  const int64_t shard_pixels = std::min(shard_pixels_, pixels);
  const int64_t shards = (pixels + shard_pixels - 1) / shard_pixels;
  const int64_t depth = geometry_.window_elements();
  int64_t elements = 0;
  int64_t bytes = 0;
  const int64_t row = (gathers_ ? depth : 0) + (grid_ != nullptr ? geometry_.out_channels : 0);
  if (!CheckedMul(shard_pixels, row, &elements) ||
      !CheckedAdd(elements, ProductOf<T>(geometry_, shard_pixels).scratch_elements(), &elements) ||
      !CheckedMul(elements, sizeof(T), &bytes)) {
    return Error(ErrorCode::kOutOfMemory).Text("windows of more bytes than can be counted");
  }
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, shards, bytes, keeper));
  const double shard_ns = EstimateNs(geometry_, shard_pixels, kFlopsPerNs * 4 / sizeof(T));
  return workers.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) {
    const int64_t first = shard * shard_pixels;
    bool was_stopped = false;  // Products of a run that must stop end early.
    const auto stop = [&] { return was_stopped = was_stopped || workers.MustStop(); };
    RunPixels(first, std::min(shard_pixels, pixels - first), static_cast<T*>(scratch.of(worker)), stop);
    return was_stopped ? workers.WhyStopped() : absl::OkStatus();
  });
}

absl::Status ConvolveInts(const ConvGeometry& geometry, const int32_t* image, const int32_t* filter, int32_t* output,
                          const PixelGrid* grid, const Workers& workers, ScratchKeeper* keeper) {
  const int64_t pixels = geometry.pixels();
  const int64_t depth = geometry.window_elements();
  const int64_t cols = geometry.out_channels / geometry.groups;
  const int64_t at_a_time = std::min(WindowsAtATime(depth, sizeof(int32_t), 1), pixels);
  const int64_t shards = (pixels + at_a_time - 1) / at_a_time;
  int64_t bytes = 0;
  if (!CheckedMul(at_a_time, depth, &bytes) || !CheckedMul(bytes, sizeof(int32_t), &bytes)) {
    return Error(ErrorCode::kOutOfMemory).Text("windows of more bytes than can be counted");
  }
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, shards, bytes, keeper));
  const double shard_ns = EstimateNs(geometry, at_a_time, kIntFlopsPerNs);
  return workers.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) {
    int32_t* const rows = static_cast<int32_t*>(scratch.of(worker));
    const int64_t first = shard * at_a_time;
    const int64_t count = std::min(at_a_time, pixels - first);
    for (int64_t group = 0; group < geometry.groups; ++group) {
      GatherWindows(geometry, {first, count, group}, sizeof(int32_t), image, rows);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t pixel = grid == nullptr ? first + i : grid->PixelAt(geometry, first + i);
        int32_t* const c = output + pixel * geometry.out_channels + group * cols;
        MultiplyRow(rows + i * depth, depth, filter + group * cols, geometry.out_channels, c, cols);
      }
    }
    return absl::OkStatus();
  });
}

template class Convolution<float>;
template class Convolution<double>;

}  // namespace sluice
