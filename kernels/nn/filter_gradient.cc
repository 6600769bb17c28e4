#include "kernels/nn/filter_gradient.h"

#include <algorithm>

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "kernels/linalg/gemm.h"
#include "kernels/nn/window_rows.h"

namespace sluice {
namespace {

// Rows and columns of a part: as many as one core is busy with for long enough, and as its caches hold.
constexpr int64_t kPartRows = 512;
constexpr int64_t kPartCols = 256;  // A multiple of all tiles' columns.
// Pixels at a time, where windows are single pixels.
constexpr int64_t kPointwisePixels = 192;
// Chunks are made until there are so many shards, as long as each has work for some blocks of pixels.
constexpr int64_t kMinShards = 16;
constexpr int64_t kMinBlocks = 4;
// What one core does, for estimates: floating-point operations per nanosecond.
constexpr double kFlopsPerNs = 50;
constexpr double kAddNs = 0.3;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How the work is cut. A value type.
struct Cut {
  bool gathers = true;
  int64_t taps = 1;    // Of a part, at most.
  int64_t pixels = 1;  // At a time.
  int64_t tap_parts = 1, col_parts = 1, chunks = 1;
  int64_t chunk_pixels = 1;

  int64_t shards() const { return tap_parts * col_parts * chunks; }
};

template <typename T>
Cut CutOf(const ConvGeometry& g) {
  Cut cut;
  cut.gathers = !g.IsPointwise();
  cut.taps = std::max<int64_t>(1, std::min(g.taps(), kPartRows / g.channels));
  cut.pixels = cut.gathers ? WindowsAtATime(cut.taps * g.channels, sizeof(T), 4) : kPointwisePixels;
  cut.pixels = std::min(cut.pixels, g.pixels());
  cut.tap_parts = CeilDiv(g.taps(), cut.taps);
  cut.col_parts = CeilDiv(g.out_channels, kPartCols);
  const int64_t blocks = CeilDiv(g.pixels(), cut.pixels);
  const int64_t wanted = CeilDiv(kMinShards, cut.tap_parts * cut.col_parts);
  const int64_t chunk_blocks = CeilDiv(blocks, std::max<int64_t>(1, std::min(wanted, blocks / kMinBlocks)));
  cut.chunk_pixels = chunk_blocks * cut.pixels;
  cut.chunks = CeilDiv(g.pixels(), cut.chunk_pixels);
  return cut;
}

// One call. Borrows everything.
template <typename T>
class Call {
 public:
  Call(const ConvGeometry& g, const Cut& cut, const T* image, const T* result, T* filter, T* chunks)
      : g_(g), cut_(cut), image_(image), result_(result), filter_(filter), chunks_(chunks) {}

  // Elements of scratch memory for a shard. False when they cannot be counted.
  static bool ScratchElements(const ConvGeometry& g, const Cut& cut, int64_t* elements);

  absl::Status RunShard(int64_t shard, const Workers& workers, T* scratch) const;

 private:
  // The part of one shard: rows of the filter's gradient, and columns.
  struct Part {
    int64_t first_tap, end_tap, first_col, end_col;
  };

  // Adds what pixels [first, first + count) give, or begins with them.
  void AddPixels(const Part& part, int64_t first, int64_t count, bool accumulate, T* to, T* scratch) const;

  const ConvGeometry& g_;
  const Cut& cut_;
  const T* const image_;
  const T* const result_;
  T* const filter_;
  T* const chunks_;  // The sums of all chunks but the first.
};

template <typename T>
bool Call<T>::ScratchElements(const ConvGeometry& g, const Cut& cut, int64_t* elements) {
  const GemmIsa<T>& isa = BestGemm<T>();
  int64_t rows = 0;
  if (!CheckedMul(cut.taps, g.channels, &rows)) return false;
  const int64_t packed_rows = CeilDiv(rows, isa.tile_rows) * isa.tile_rows;
  return CheckedMul(cut.pixels, (cut.gathers ? rows : 0) + packed_rows + isa.tile_cols, elements);
}

template <typename T>
void Call<T>::AddPixels(const Part& part, int64_t first, int64_t count, bool accumulate, T* to, T* scratch) const {
  const GemmIsa<T>& isa = BestGemm<T>();
  const int64_t rows = (part.end_tap - part.first_tap) * g_.channels;
  const int64_t cols = g_.out_channels;
  T* const panel = scratch;
  T* const packed = panel + count * isa.tile_cols;
  const T* windows = image_ + first * g_.channels;
  if (cut_.gathers) {
    T* const gathered = packed + count * CeilDiv(rows, isa.tile_rows) * isa.tile_rows;
    GatherWindows(g_, {first, count, 0, part.first_tap, part.end_tap}, sizeof(T), image_, gathered);
    windows = gathered;
  }
  for (int64_t i = 0; i < rows; i += isa.tile_rows) {
    isa.pack_cols(std::min(isa.tile_rows, rows - i), count, windows + i, rows, packed + i * count, isa.tile_rows);
  }
  for (int64_t j = part.first_col; j < part.end_col; j += isa.tile_cols) {
    const int64_t width = std::min(isa.tile_cols, part.end_col - j);
    isa.pack_cols(width, count, result_ + first * cols + j, cols, panel, isa.tile_cols);
    for (int64_t i = 0; i < rows; i += isa.tile_rows) {
      isa.tile(std::min(isa.tile_rows, rows - i), width, count, packed + i * count, isa.tile_rows, true, panel,
               isa.tile_cols, to + i * cols + j, cols, accumulate);
    }
  }
}

template <typename T>
absl::Status Call<T>::RunShard(int64_t shard, const Workers& workers, T* scratch) const {
  const int64_t chunk = shard % cut_.chunks;
  const int64_t col = shard / cut_.chunks % cut_.col_parts * kPartCols;
  const int64_t tap = shard / cut_.chunks / cut_.col_parts * cut_.taps;
  const Part part = {tap, std::min(tap + cut_.taps, g_.taps()), col, std::min(col + kPartCols, g_.out_channels)};
  const int64_t elements = g_.window_elements() * g_.out_channels;
  T* const sums = chunk == 0 ? filter_ : chunks_ + (chunk - 1) * elements;
  T* const to = sums + tap * g_.channels * g_.out_channels;
  const int64_t begin = chunk * cut_.chunk_pixels;
  const int64_t end = std::min(begin + cut_.chunk_pixels, g_.pixels());
  for (int64_t first = begin; first < end; first += cut_.pixels) {
    if (workers.MustStop()) return workers.WhyStopped();
    AddPixels(part, first, std::min(cut_.pixels, end - first), first > begin, to, scratch);
  }
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status FilterGradient(const ConvGeometry& geometry, const T* image, const T* result, T* filter,
                            const Workers& workers, ScratchKeeper* keeper) {
  const Cut cut = CutOf<T>(geometry);
  const int64_t elements = geometry.window_elements() * geometry.out_channels;
  int64_t bytes = 0;
  if (!Call<T>::ScratchElements(geometry, cut, &bytes) || !CheckedMul(bytes, sizeof(T), &bytes)) {
    return Error(ErrorCode::kOutOfMemory).Text("windows of more bytes than can be counted");
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor chunks,
                          Tensor::Make(DTypeOf<T>::value, Shape::Of({cut.chunks - 1, elements}), workers.allocator()));
  T* const sums = chunks.flat<T>().data();
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, cut.shards(), bytes, keeper));
  const Call<T> call(geometry, cut, image, result, filter, sums);
  const double shard_ns = 2.0 * static_cast<double>(elements) * static_cast<double>(geometry.pixels()) /
                          static_cast<double>(cut.shards()) / (kFlopsPerNs * 4 / sizeof(T));
  SLUICE_RETURN_IF_ERROR(workers.ForEachShard(cut.shards(), shard_ns, [&](int64_t shard, int worker) {
    return call.RunShard(shard, workers, static_cast<T*>(scratch.of(worker)));
  }));
  if (cut.chunks == 1) return absl::OkStatus();
  const double element_ns = kAddNs * static_cast<double>(cut.chunks);
  return workers.ForEachPart(elements, element_ns, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = 0; chunk < cut.chunks - 1; ++chunk) {
      const T* const more = sums + chunk * elements;
      for (int64_t i = begin; i < end; ++i) filter[i] += more[i];
    }
    return absl::OkStatus();
  });
}

template absl::Status FilterGradient(const ConvGeometry&, const float*, const float*, float*, const Workers&,
                                     ScratchKeeper*);
template absl::Status FilterGradient(const ConvGeometry&, const double*, const double*, double*, const Workers&,
                                     ScratchKeeper*);

}  // namespace sluice
