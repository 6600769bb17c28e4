#include "kernels/nn/filter_gradient.h"

#include <algorithm>

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/tile_runs.h"

namespace sluice {
namespace {

// Rows and columns of a part: as many as one core is busy with for long enough, and as its caches hold.
constexpr int64_t kPartRows = 528;  // A multiple of all tiles' rows.
constexpr int64_t kPartCols = 256;  // A multiple of all tiles' columns.
// Pixels of a block at most, and bytes of a strip of the image beside it.
constexpr int64_t kBlockPixels = 256;
constexpr int64_t kStripBytes = 256 << 10;
constexpr int64_t kMinPixels = 32;
// Chunks are made until there are so many shards, as long as each has some blocks.
constexpr int64_t kMinShards = 16;
constexpr int64_t kMinBlocks = 2;
// What one core does, for estimates: floating-point operations per nanosecond.
constexpr double kFlopsPerNs = 50;
constexpr double kAddNs = 0.3;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How the work is cut. A value type.
struct Cut {
  int64_t group_taps = 1;                  // Taps that lie side by side in the image: a line of a window, or one.
  int64_t groups = 1;                      // Of these.
  int64_t group_parts = 1;                 // Of a group: all of a group's rows but the last part's are kPartRows.
  int64_t part_groups = 1;                 // Of a part, where that is several groups.
  int64_t rows = 1, cols = 1;              // Pixels of the result that make a block.
  int64_t row_blocks = 1, col_blocks = 1;  // Of a plane.
  int64_t row_parts = 1, col_parts = 1, chunks = 1;
  int64_t chunk_blocks = 1;

  int64_t shards() const { return row_parts * col_parts * chunks; }
};

template <typename T>
Cut CutOf(const ConvGeometry& g) {
  Cut cut;
  const SlidingAxis& rows = g.axes[1];
  const SlidingAxis& cols = g.axes[2];
  const bool takes_lines = cols.dilation == 1 && cols.window <= kPartRows / g.channels;
  cut.group_taps = takes_lines ? cols.window : 1;
  cut.groups = g.taps() / cut.group_taps;
  const int64_t group_rows = cut.group_taps * g.channels;
  cut.group_parts = CeilDiv(group_rows, kPartRows);
  cut.part_groups = cut.group_parts > 1 ? 1 : std::max<int64_t>(1, std::min(cut.groups, kPartRows / group_rows));
  cut.row_parts = cut.group_parts * CeilDiv(cut.groups, cut.part_groups);
  cut.col_parts = CeilDiv(g.out_channels, kPartCols);

  const int64_t pixel_bytes = static_cast<int64_t>(sizeof(T)) * g.channels;
  // Far apart, pixels come one by one: what lies between them is not copied.
  const int64_t least = cols.stride > kMinPixels ? 1 : kMinPixels;
  const int64_t fitting = std::clamp(kStripBytes / pixel_bytes / cols.stride, least, kBlockPixels);
  cut.col_blocks = CeilDiv(cols.out, fitting);
  cut.cols = CeilDiv(cols.out, cut.col_blocks);
  cut.row_blocks = CeilDiv(rows.out, std::max<int64_t>(1, fitting / cut.cols));
  cut.rows = CeilDiv(rows.out, cut.row_blocks);
  const int64_t blocks = g.batch * g.axes[0].out * cut.row_blocks * cut.col_blocks;
  const int64_t wanted = CeilDiv(kMinShards, cut.row_parts * cut.col_parts);
  cut.chunk_blocks = CeilDiv(blocks, std::max<int64_t>(1, std::min(wanted, blocks / kMinBlocks)));
  cut.chunks = CeilDiv(blocks, cut.chunk_blocks);
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
  // The part of one shard: groups of taps, elements of each, and columns.
  struct Part {
    int64_t first_group, end_group, first_row, end_row, first_col, end_col;
  };
  // Pixels of the result.
  struct Block {
    int64_t item, plane, row, col, rows, cols;
  };
  // Where a group's elements for the first pixel of a block are; null: in the padding.
  struct Strip {
    const T* data = nullptr;
    int64_t line = 0;  // From the elements for one row of pixels to the next.
  };

  Block BlockAt(int64_t i) const;
  void AddBlock(const Part& part, const Block& block, T* to, T* scratch) const;
  void PackColumns(const Part& part, const Block& block, T* panels) const;
  Strip StripOf(int64_t group, const Block& block, T* scratch) const;
  void AddGroup(const Part& part, const Block& block, const Strip& strip, const T* panels, T* to) const;
  // Pixels of the image that a row of a block meets.
  static int64_t StripPixels(const ConvGeometry& g, const Cut& cut, int64_t cols) {
    return (cols - 1) * g.axes[2].stride + cut.group_taps;
  }

  const ConvGeometry& g_;
  const Cut& cut_;
  const T* const image_;
  const T* const result_;
  T* const filter_;
  T* const chunks_;  // The sums of all chunks but the first.
};

template <typename T>
bool Call<T>::ScratchElements(const ConvGeometry& g, const Cut& cut, int64_t* elements) {
  int64_t strip = 0, panels = 0;
  return CheckedMul(cut.cols - 1, g.axes[2].stride, &strip) && CheckedAdd(strip, cut.group_taps, &strip) &&
         CheckedMul(strip, g.channels, &strip) && CheckedMul(strip, cut.rows, &strip) &&
         CheckedMul(cut.rows * cut.cols, kPartCols, &panels) && CheckedAdd(strip, panels, elements);
}

template <typename T>
typename Call<T>::Block Call<T>::BlockAt(int64_t i) const {
  Block block;
  block.col = i % cut_.col_blocks * cut_.cols;
  i /= cut_.col_blocks;
  block.row = i % cut_.row_blocks * cut_.rows;
  i /= cut_.row_blocks;
  block.plane = i % g_.axes[0].out;
  block.item = i / g_.axes[0].out;
  block.rows = std::min(cut_.rows, g_.axes[1].out - block.row);
  block.cols = std::min(cut_.cols, g_.axes[2].out - block.col);
  return block;
}

// The part's columns of the result's gradient, panel after panel.
template <typename T>
void Call<T>::PackColumns(const Part& part, const Block& block, T* panels) const {
  const GemmIsa<T>& isa = BestGemm<T>();
  const SlidingAxis& cols = g_.axes[2];
  const int64_t made = g_.out_channels, pixels = block.rows * block.cols;
  for (int64_t y = 0; y < block.rows; ++y) {
    const int64_t line = (block.item * g_.axes[0].out + block.plane) * g_.axes[1].out + block.row + y;
    const T* const from = result_ + (line * cols.out + block.col) * made;
    for (int64_t j = part.first_col; j < part.end_col; j += isa.tile_cols) {
      isa.pack_cols(std::min(isa.tile_cols, part.end_col - j), block.cols, from + j, made,
                    panels + (j - part.first_col) * pixels + y * block.cols * isa.tile_cols, isa.tile_cols);
    }
  }
}

template <typename T>
typename Call<T>::Strip Call<T>::StripOf(int64_t group, const Block& block, T* scratch) const {
  const SlidingAxis& planes = g_.axes[0];
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t lines = cols.window / cut_.group_taps;  // Groups of a line of taps.
  const int64_t z = block.plane * planes.stride - planes.before + group / lines / rows.window * planes.dilation;
  const int64_t y = block.row * rows.stride - rows.before + group / lines % rows.window * rows.dilation;
  const int64_t x = block.col * cols.stride - cols.before + group % lines * cols.dilation;
  if (z < 0 || z >= planes.in) return {};
  const T* const plane = image_ + (block.item * planes.in + z) * rows.in * cols.in * g_.channels;
  const int64_t width = StripPixels(g_, cut_, block.cols);
  const int64_t last = y + (block.rows - 1) * rows.stride;
  if (y >= 0 && last < rows.in && x >= 0 && x + width <= cols.in) {
    return {plane + (y * cols.in + x) * g_.channels, rows.stride * cols.in * g_.channels};
  }
  // With the zeros around it.
  const int64_t first = std::clamp<int64_t>(-x, 0, width), end = std::clamp<int64_t>(cols.in - x, first, width);
  for (int64_t i = 0; i < block.rows; ++i) {
    T* const line = scratch + i * width * g_.channels;
    const int64_t row = y + i * rows.stride;
    if (row < 0 || row >= rows.in) {
      std::fill_n(line, width * g_.channels, T{0});
      continue;
    }
    std::fill_n(line, first * g_.channels, T{0});
    const T* const from = plane + (row * cols.in + x + first) * g_.channels;
    std::copy_n(from, (end - first) * g_.channels, line + first * g_.channels);
    std::fill_n(line + end * g_.channels, (width - end) * g_.channels, T{0});
  }
  return {scratch, width * g_.channels};
}

// Adds what a block gives to the part's rows of one group, at `to`.
template <typename T>
void Call<T>::AddGroup(const Part& part, const Block& block, const Strip& strip, const T* panels, T* to) const {
  const GemmIsa<T>& isa = BestGemm<T>();
  const int64_t made = g_.out_channels;
  TileRuns<T> product;
  product.k = block.cols;
  product.runs = block.rows;
  product.lda = g_.axes[2].stride * g_.channels;
  product.a_step = strip.line;
  product.ldb = isa.tile_cols;
  product.b_step = block.cols * isa.tile_cols;
  product.ldc = made;
  for (int64_t j = part.first_col; j < part.end_col; j += isa.tile_cols) {
    product.cols = std::min(isa.tile_cols, part.end_col - j);
    product.b = panels + (j - part.first_col) * block.rows * block.cols;
    for (int64_t i = part.first_row; i < part.end_row; i += isa.tile_rows) {
      product.rows = std::min(isa.tile_rows, part.end_row - i);
      product.a = strip.data + i;
      product.c = to + i * made + j;
      BestAddRuns<T>()(product);
    }
  }
}

template <typename T>
void Call<T>::AddBlock(const Part& part, const Block& block, T* to, T* scratch) const {
  T* const panels = scratch;
  T* const strips = panels + block.rows * block.cols * kPartCols;
  PackColumns(part, block, panels);
  for (int64_t group = part.first_group; group < part.end_group; ++group) {
    const Strip strip = StripOf(group, block, strips);
    if (strip.data == nullptr) continue;
    AddGroup(part, block, strip, panels, to + group * cut_.group_taps * g_.channels * g_.out_channels);
  }
}

template <typename T>
absl::Status Call<T>::RunShard(int64_t shard, const Workers& workers, T* scratch) const {
  const int64_t group_rows = cut_.group_taps * g_.channels;
  const int64_t chunk = shard % cut_.chunks, rest = shard / cut_.chunks;
  const int64_t row_part = rest / cut_.col_parts;
  Part part;
  part.first_group = row_part / cut_.group_parts * cut_.part_groups;
  part.end_group = std::min(part.first_group + cut_.part_groups, cut_.groups);
  part.first_row = row_part % cut_.group_parts * kPartRows;
  part.end_row = std::min(part.first_row + kPartRows, group_rows);
  part.first_col = rest % cut_.col_parts * kPartCols;
  part.end_col = std::min(part.first_col + kPartCols, g_.out_channels);
  T* const sums = chunk == 0 ? filter_ : chunks_ + (chunk - 1) * g_.window_elements() * g_.out_channels;
  for (int64_t group = part.first_group; group < part.end_group; ++group) {
    for (int64_t row = part.first_row; row < part.end_row; ++row) {
      std::fill(sums + (group * group_rows + row) * g_.out_channels + part.first_col,
                sums + (group * group_rows + row) * g_.out_channels + part.end_col, T{0});
    }
  }
  const int64_t blocks = g_.batch * g_.axes[0].out * cut_.row_blocks * cut_.col_blocks;
  const int64_t end = std::min((chunk + 1) * cut_.chunk_blocks, blocks);
  for (int64_t i = chunk * cut_.chunk_blocks; i < end; ++i) {
    if (workers.MustStop()) return workers.WhyStopped();
    AddBlock(part, BlockAt(i), sums, scratch);
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
