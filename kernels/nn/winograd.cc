#include "kernels/nn/winograd.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "graph/base/status_macros.h"
#include "kernels/linalg/float_cast.h"

namespace sluice {
namespace {

constexpr int64_t kNumbers = 16;  // Of a tile, for each channel.
// Fewer channels fill no vectors; more take too much memory at a time.
constexpr int64_t kMinChannels = 16;
constexpr int64_t kMaxChannels = 2048;
// Fewer tiles do not pay for reading 16 numbers of the filter instead of 9.
constexpr int64_t kMinTiles = 48;
// Tiles of a shard: such as the second-level cache holds beside a panel of the filter, between two bounds.
constexpr int64_t kShardBytes = 384 << 10;
constexpr int64_t kMinShardTiles = 24;
constexpr int64_t kMaxShardTiles = 96;
// What one core does, for estimates: floating-point operations per nanosecond.
constexpr double kFlopsPerNs = 50;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// From one row of a matrix to the next: a line more than the row, so that rows do not fall on each other in the caches.
int64_t PaddedRow(int64_t channels) { return CeilDiv(channels, 16) * 16 + 16; }

int64_t ShardTiles(int64_t numbers) {
  const int64_t fitting = kShardBytes / (kNumbers * numbers * static_cast<int64_t>(sizeof(float)));
  return std::clamp(fitting / 12 * 12, kMinShardTiles, kMaxShardTiles);
}

int64_t PackedElements(int64_t from, int64_t to) {
  return PackedGemm<float>::PackedElements(BestGemm<float>(), from, to);
}

// Applies row `i` of the filter's transform to three numbers.
float Combine(int i, float g0, float g1, float g2) {
  return i == 0 ? g0 : i == 3 ? g2 : i == 1 ? 0.5f * (g0 + g1 + g2) : 0.5f * (g0 - g1 + g2);
}

// out[e] = row `i` of the transform of the three planes.
void CombinePlanes(int i, const std::array<const float*, 3>& planes, int64_t size, float* out) {
  for (int64_t e = 0; e < size; ++e) out[e] = Combine(i, planes[0][e], planes[1][e], planes[2][e]);
}

// A tap that is this often smaller than the largest of its nine (a power of two, as floats are encoded) counts as zero.
constexpr int32_t kNoTap = 30 << 23;
// Pairs of channels whose taps are looked at, and combined, together: they fit the first-level cache.
constexpr int64_t kPairs = 512;

// The sizes of the largest and the smallest taps of some pairs. Compared as integers, in whose order floats that are
// not negative are.
class TapSizes {
 public:
  TapSizes() { least_.fill(INT32_MAX); }

  // Three taps of each of `count` pairs, kPairs at most.
  void Add(const std::array<const float*, 3>& planes, int64_t count) {
    for (int64_t e = 0; e < count; ++e) {
      const int32_t a = SizeOf(planes[0][e]), b = SizeOf(planes[1][e]), c = SizeOf(planes[2][e]);
      const size_t i = static_cast<size_t>(e);
      most_[i] = std::max(most_[i], std::max(a, std::max(b, c)));
      least_[i] = std::min(least_[i], std::min(a, std::min(b, c)));
    }
  }
  // Whether one of the first `count` pairs has a gap.
  bool HaveGaps(int64_t count) const {
    int32_t gaps = 0;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) gaps |= most_[i] - least_[i] > kNoTap ? 1 : 0;
    return gaps != 0;
  }

 private:
  static int32_t SizeOf(float tap) { return __builtin_bit_cast(int32_t, tap) & INT32_MAX; }

  std::array<int32_t, kPairs> most_{}, least_;
};

}  // namespace

bool HasMinimalFilter(const ConvGeometry& g) {
  if (g.axes[0].window != 1 || g.axes[0].stride != 1 || g.axes[0].before != 0 || g.axes[0].out != g.axes[0].in) {
    return false;
  }
  for (size_t i = 1; i < 3; ++i) {
    if (g.axes[i].window != 3 || g.axes[i].stride != 1 || g.axes[i].dilation != 1) return false;
  }
  const auto is_fit = [](int64_t channels) { return channels >= kMinChannels && channels <= kMaxChannels; };
  if (g.groups != 1 || !is_fit(g.channels) || !is_fit(g.out_channels)) return false;
  const int64_t images = g.batch * g.axes[0].out;
  return images * CeilDiv(g.axes[1].out, 2) * CeilDiv(g.axes[2].out, 2) >= kMinTiles;
}

absl::StatusOr<Tensor> PackMinimalFilter(const float* filter, int64_t from, int64_t to, bool turned,
                                         Allocator& allocator) {
  const int64_t size = from * to;
  const int64_t rows = turned ? to : from, cols = turned ? from : to;
  const int64_t packed = PackedElements(rows, cols);
  SLUICE_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, Shape::Of({kNumbers, packed}), allocator));
  SLUICE_ASSIGN_OR_RETURN(Tensor planes, Tensor::Make(DType::kFloat, Shape::Of({4, size}), allocator));
  float* const temp = planes.flat<float>().data();
  float* const plane = temp + 3 * size;
  const auto tap = [&](int64_t y, int64_t x) { return filter + (turned ? 8 - (3 * y + x) : 3 * y + x) * size; };
  for (int i = 0; i < 4; ++i) {
    for (int64_t e = 0; e < size; e += kPairs) {
      const int64_t count = std::min(kPairs, size - e);
      TapSizes sizes;
      for (int64_t x = 0; x < 3; ++x) {
        const std::array<const float*, 3> taps = {tap(0, x) + e, tap(1, x) + e, tap(2, x) + e};
        CombinePlanes(i, taps, count, temp + x * size + e);
        if (i == 0) sizes.Add(taps, count);
      }
      if (i == 0 && sizes.HaveGaps(count)) return Tensor();
    }
    for (int j = 0; j < 4; ++j) {
      CombinePlanes(j, {temp, temp + size, temp + 2 * size}, size, plane);
      PackedGemm<float>::Pack(BestGemm<float>(), {plane, to, turned}, rows, cols,
                              out.flat<float>().data() + (4 * i + j) * packed);
    }
  }
  return out;
}

absl::StatusOr<Tensor> MinimalFilter::Get(const Tensor& filter, bool turned, Allocator& allocator) const {
  const auto pack = [&](Allocator& to) -> absl::StatusOr<Tensor> {
    SLUICE_ASSIGN_OR_RETURN(const Tensor floats, ToFloats(filter, allocator));
    const int rank = filter.rank();
    return PackMinimalFilter(floats.flat<float>().data(), filter.dim(rank - 2), filter.dim(rank - 1), turned, to);
  };
  if (!is_constant_) return pack(allocator);
  {
    MutexLock lock(&mu_);
    if (kept_ != nullptr && kept_->source.raw_data() == filter.raw_data() && kept_->source.shape() == filter.shape()) {
      return kept_->packed;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor packed, pack(HostAllocator()));
  auto made = std::make_shared<const Kept>(Kept{filter, packed});
  MutexLock lock(&mu_);
  kept_.swap(made);
  return packed;
}

ConvGeometry OfImages(const ConvGeometry& geometry, int64_t count) {
  ConvGeometry part = geometry;
  part.batch = count;
  return part;
}

// Marks on the images of a batch. Thread-safe.
class MinimalConvolution::ImageMarks {
 public:
  explicit ImageMarks(int64_t images) : marks_(static_cast<size_t>(images)) {}

  // Relaxed: hints while the shards run, read after all have returned.
  void Set(int64_t image) { marks_[static_cast<size_t>(image)].store(true, std::memory_order_relaxed); }
  bool Has(int64_t image) const { return marks_[static_cast<size_t>(image)].load(std::memory_order_relaxed); }

  std::vector<ImageRange> Ranges() const {
    std::vector<ImageRange> ranges;
    for (int64_t i = 0; i < static_cast<int64_t>(marks_.size()); ++i) {
      if (!Has(i)) continue;
      if (ranges.empty() || ranges.back().first + ranges.back().count < i) ranges.push_back({i, 0});
      ++ranges.back().count;
    }
    return ranges;
  }

 private:
  std::vector<std::atomic<bool>> marks_;
};

MinimalConvolution::MinimalConvolution(const ConvGeometry& geometry, const float* image, const float* filter,
                                       float* output, const GemmEpilogue<float>* epilogue)
    : g_(geometry),
      image_(image),
      filter_(filter),
      output_(output),
      epilogue_(epilogue),
      tile_rows_(CeilDiv(geometry.axes[1].out, 2)),
      tile_cols_(CeilDiv(geometry.axes[2].out, 2)),
      image_tiles_(geometry.axes[0].out * tile_rows_ * tile_cols_),
      in_ld_(PaddedRow(geometry.channels)),
      out_ld_(PaddedRow(geometry.out_channels)),
      shard_tiles_(ShardTiles(in_ld_ + out_ld_)) {}

// The tile's pixels of the image, or zeros beyond the image.
void MinimalConvolution::SpreadTile(int64_t tile, const float* zeros, float* out, int64_t step) const {
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t image = tile / (tile_rows_ * tile_cols_);
  const int64_t top = 2 * (tile / tile_cols_ % tile_rows_) - rows.before, left = 2 * (tile % tile_cols_) - cols.before;
  std::array<const float*, kNumbers> pixels;
  for (int64_t i = 0; i < kNumbers; ++i) {
    const int64_t y = top + i / 4, x = left + i % 4;
    const bool is_there = y >= 0 && y < rows.in && x >= 0 && x < cols.in;
    pixels[static_cast<size_t>(i)] = is_there ? image_ + ((image * rows.in + y) * cols.in + x) * g_.channels : zeros;
  }
  BestGemm<float>().spread(g_.channels, pixels.data(), out, step);
}

bool MinimalConvolution::CollectTile(int64_t tile, const float* sums, int64_t step) const {
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t image = tile / (tile_rows_ * tile_cols_);
  const int64_t y = 2 * (tile / tile_cols_ % tile_rows_), x = 2 * (tile % tile_cols_);
  const int64_t width = std::min<int64_t>(2, cols.out - x);
  float* const first = output_ + ((image * rows.out + y) * cols.out + x) * g_.out_channels;
  float* const second = y + 1 < rows.out ? first + cols.out * g_.out_channels : nullptr;
  const auto beside = [&](float* pixel) { return pixel == nullptr || width < 2 ? nullptr : pixel + g_.out_channels; };
  const std::array<float*, 4> pixels = {first, beside(first), second, beside(second)};
  const bool is_good = BestGemm<float>().collect(g_.out_channels, sums, step, pixels.data());
  if (epilogue_ == nullptr) return is_good;
  epilogue_->Finish(first, g_.out_channels, width, 0, g_.out_channels);
  if (second != nullptr) epilogue_->Finish(second, g_.out_channels, width, 0, g_.out_channels);
  return is_good;
}

// c = a * filter: `rows` tiles of one of the numbers.
void MinimalConvolution::Multiply(const float* a, const float* filter, int64_t rows, float* c) const {
  const GemmIsa<float>& isa = BestGemm<float>();
  const int64_t depth = g_.channels, block = PackedGemm<float>::BlockDepth(depth);
  const int64_t all_cols = CeilDiv(g_.out_channels, isa.tile_cols) * isa.tile_cols;
  for (int64_t p = 0; p < depth; p += block) {
    const int64_t k = std::min(block, depth - p);
    for (int64_t j = 0; j < g_.out_channels; j += isa.tile_cols) {
      const float* const panel = filter + p * all_cols + j * k;
      const int64_t cols = std::min(isa.tile_cols, g_.out_channels - j);
      for (int64_t i = 0; i < rows; i += isa.tile_rows) {
        isa.tile(std::min(isa.tile_rows, rows - i), cols, k, a + i * in_ld_ + p, in_ld_, false, panel, isa.tile_cols,
                 c + i * out_ld_ + j, out_ld_, p > 0);
      }
    }
  }
}

void MinimalConvolution::RunTiles(int64_t first, int64_t count, float* scratch, ImageMarks* wrong) const {
  float* const zeros = scratch;
  float* const spread = zeros + in_ld_;
  float* const sums = spread + kNumbers * count * in_ld_;
  std::fill_n(zeros, in_ld_, 0.0f);
  const int64_t packed = PackedElements(g_.channels, g_.out_channels);
  for (int64_t i = 0; i < count; ++i) SpreadTile(first + i, zeros, spread + i * in_ld_, count * in_ld_);
  for (int64_t i = 0; i < kNumbers; ++i) {
    Multiply(spread + i * count * in_ld_, filter_ + i * packed, count, sums + i * count * out_ld_);
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!CollectTile(first + i, sums + i * out_ld_, count * out_ld_)) wrong->Set((first + i) / image_tiles_);
  }
}

absl::StatusOr<std::vector<ImageRange>> MinimalConvolution::Run(const Workers& workers, ScratchKeeper* keeper) const {
  const int64_t tiles = g_.batch * image_tiles_;
  const int64_t shards = CeilDiv(tiles, shard_tiles_);
  const int64_t elements = in_ld_ + kNumbers * shard_tiles_ * (in_ld_ + out_ld_);
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(float));
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, shards, bytes, keeper));
  const double shard_ns = 2.0 * static_cast<double>(kNumbers * shard_tiles_) * static_cast<double>(g_.channels) *
                          static_cast<double>(g_.out_channels) / kFlopsPerNs;
  ImageMarks wrong(g_.batch);
  SLUICE_RETURN_IF_ERROR(workers.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) {
    const int64_t first = shard * shard_tiles_, count = std::min(shard_tiles_, tiles - first);
    const int64_t image = first / image_tiles_;
    if (image == (first + count - 1) / image_tiles_ && wrong.Has(image)) return absl::OkStatus();
    RunTiles(first, count, static_cast<float*>(scratch.of(worker)), &wrong);
    return absl::OkStatus();
  }));
  return wrong.Ranges();
}

}  // namespace sluice
