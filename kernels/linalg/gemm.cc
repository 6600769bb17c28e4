#include "kernels/linalg/gemm.h"

#include <algorithm>

namespace sluice {
namespace {

// Blocks, so that one of A and a panel of B (all rows, one tile's columns) stay in the second-level cache. Deep ones:
// C is read and written once for each. Measured with matmul_bench.
constexpr int64_t kBlockRows = 192;         // Of A.
constexpr int64_t kBlockDepthBytes = 2048;  // Of one row of A in a block.
constexpr int64_t kBlockBytes = 4096;       // Of one row of B in a block.
// Products up to this size of B read it in place.
constexpr int64_t kDirectBytes = 48 << 10;
constexpr int64_t kSkinnyRows = 6;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Blocks of equal depth, none deeper than kBlockDepthBytes.
template <typename T>
int64_t DepthOf(int64_t k) {
  return k == 0 ? 1 : CeilDiv(k, CeilDiv(k, kBlockDepthBytes / static_cast<int64_t>(sizeof(T))));
}

template <typename T>
int64_t BlockCols() {
  return kBlockBytes / static_cast<int64_t>(sizeof(T));
}

// Panels of B, one behind the other: `depth` rows each of a tile's columns, zeros beyond the last column.
template <typename T>
void PackB(const GemmIsa<T>& isa, const MatrixView<T>& b, int64_t depth, int64_t n, T* out) {
  const int64_t width = isa.tile_cols;
  if (b.transposed) {
    for (int64_t j = 0; j < n; j += width) {
      isa.pack_rows(std::min(width, n - j), depth, b.data + j * b.ld, b.ld, out + j * depth, width);
    }
    return;
  }
  // Some rows at a time: few streams to read, and whole lines to write.
  for (int64_t p = 0; p < depth; p += 8) {
    const int64_t rows = std::min<int64_t>(8, depth - p);
    for (int64_t j = 0; j < n; j += width) {
      isa.pack_cols(std::min(width, n - j), rows, b.data + p * b.ld + j, b.ld, out + j * depth + p * width, width);
    }
  }
}

// Tiles of A, one behind the other: `depth` columns each of a tile's rows.
template <typename T>
void PackA(const GemmIsa<T>& isa, const MatrixView<T>& a, int64_t m, int64_t depth, T* out) {
  const int64_t height = isa.tile_rows;
  for (int64_t i = 0; i < m; i += height) {
    const int64_t rows = std::min(height, m - i);
    if (a.transposed) {
      isa.pack_cols(rows, depth, a.data + i, a.ld, out + i * depth, height);
    } else {
      isa.pack_rows(rows, depth, a.data + i * a.ld, a.ld, out + i * depth, height);
    }
  }
}

// C = or += A*B for one block: A as it is, or packed at `packed_a`; panels of B at `packed_b`.
template <typename T>
void MultiplyBlock(const GemmIsa<T>& isa, const GemmSize& size, const MatrixView<T>& a, const T* packed_a,
                   const T* packed_b, T* c, int64_t ldc, bool accumulate) {
  int64_t done = 0;  // Columns of a single row.
  for (const int64_t wide = isa.row_panels * isa.tile_cols; size.m == 1 && done + wide <= size.n; done += wide) {
    isa.row(size.k, a.data, a.transposed ? a.ld : 1, packed_b + done * size.k, c + done, accumulate);
  }
  for (int64_t j = done; j < size.n; j += isa.tile_cols) {
    const int64_t cols = std::min(isa.tile_cols, size.n - j);
    for (int64_t i = 0; i < size.m; i += isa.tile_rows) {
      const int64_t rows = std::min(isa.tile_rows, size.m - i);
      const T* const panel = packed_b + j * size.k;
      T* const to = c + i * ldc + j;
      if (packed_a != nullptr) {
        isa.tile(rows, cols, size.k, packed_a + i * size.k, isa.tile_rows, true, panel, isa.tile_cols, to, ldc,
                 accumulate);
      } else {
        isa.tile(rows, cols, size.k, a.Rows(i).data, a.ld, a.transposed, panel, isa.tile_cols, to, ldc, accumulate);
      }
    }
  }
}

// Copying A pays when many columns use the copy, and when its rows lie far apart.
template <typename T>
bool PacksA(const GemmIsa<T>& isa, const GemmSize& size) {
  return size.n >= 4 * isa.tile_cols && size.m > isa.tile_rows;
}

template <typename T>
int64_t PackedAElements(const GemmIsa<T>& isa, const GemmSize& size) {
  if (!PacksA(isa, size)) return 0;
  return CeilDiv(std::min(size.m, kBlockRows), isa.tile_rows) * isa.tile_rows * DepthOf<T>(size.k);
}

// Where in the sums a block stands, and what follows the last one.
template <typename T>
struct BlockPlace {
  bool is_first;
  bool is_last;
  int64_t col;
  const GemmFinish<T>& finish;
};

// The rows of one block of columns: packs A where that pays. Ends early where `stop` says so.
template <typename T>
void MultiplyRows(const GemmIsa<T>& isa, const GemmSize& size, const MatrixView<T>& a, const T* packed_b, T* c,
                  int64_t ldc, const BlockPlace<T>& place, bool packs_a, T* scratch, GemmStop stop) {
  for (int64_t i = 0; i < size.m && !stop(); i += kBlockRows) {
    const GemmSize block = {std::min(kBlockRows, size.m - i), size.n, size.k};
    const MatrixView<T> rows = a.Rows(i);
    if (packs_a) PackA(isa, rows, block.m, block.k, scratch);
    MultiplyBlock(isa, block, rows, packs_a ? scratch : nullptr, packed_b, c + i * ldc, ldc, !place.is_first);
    if (place.is_last) place.finish(c + i * ldc, ldc, block.m, place.col, block.n);
  }
}

}  // namespace

IsaLevel BestIsaLevel() {
  static const IsaLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return IsaLevel::kAvx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return IsaLevel::kAvx2;
    return IsaLevel::kBaseline;
  }();
  return level;
}

template <>
const GemmIsa<float>& GemmOf(IsaLevel level) {
  if (level == IsaLevel::kAvx512) return Avx512GemmFloat();
  return level == IsaLevel::kAvx2 ? Avx2GemmFloat() : BaselineGemmFloat();
}

template <>
const GemmIsa<double>& GemmOf(IsaLevel level) {
  if (level == IsaLevel::kAvx512) return Avx512GemmDouble();
  return level == IsaLevel::kAvx2 ? Avx2GemmDouble() : BaselineGemmDouble();
}

template <typename T>
const GemmIsa<T>& BestGemm() {
  static const GemmIsa<T>& isa = GemmOf<T>(BestIsaLevel());
  return isa;
}

template <typename T>
Gemm<T>::Gemm(const GemmIsa<T>& isa, const GemmSize& size, const MatrixView<T>& a, const MatrixView<T>& b)
    : isa_(isa), size_(size), way_(Choose(a, b)) {
  if (way_ == Way::kBlocked) {
    const int64_t cols = CeilDiv(std::min(size.n, BlockCols<T>()), isa.tile_cols) * isa.tile_cols;
    scratch_ = PackedAElements(isa, size) + cols * DepthOf<T>(size.k);
  } else if (way_ == Way::kDots || way_ == Way::kColumn) {
    scratch_ = size.k;  // For a vector that does not lie in one piece.
  }
}

template <typename T>
typename Gemm<T>::Way Gemm<T>::Choose(const MatrixView<T>& a, const MatrixView<T>& b) const {
  if (size_.k == 0) return Way::kZero;
  if (size_.n == 1 && size_.m > 1) return Way::kColumn;
  if (size_.m == 1 && b.transposed) return Way::kDots;
  if (b.transposed) return Way::kBlocked;
  const int64_t bytes = size_.k * b.ld * static_cast<int64_t>(sizeof(T));
  if (bytes <= kDirectBytes) return Way::kDirect;
  if (size_.m <= kSkinnyRows) return Way::kSkinny;
  static_cast<void>(a);
  return Way::kBlocked;
}

// x*B for a row x.
template <typename T>
void Gemm<T>::RunRow(const MatrixView<T>& a, const MatrixView<T>& b, T* c, T* scratch) const {
  const int64_t n = way_ == Way::kColumn ? size_.m : size_.n;
  const int64_t step = a.transposed ? a.ld : 1;
  if (!b.transposed) {
    isa_.skinny(1, n, size_.k, a.data, 0, step, b.data, b.ld, c, n);
    return;
  }
  const T* x = a.data;
  if (step != 1) {
    for (int64_t p = 0; p < size_.k; ++p) scratch[p] = a.data[p * step];
    x = scratch;
  }
  isa_.dots(n, size_.k, x, b.data, b.ld, c);
}

template <typename T>
void Gemm<T>::RunUnblocked(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t ldc, T* scratch) const {
  switch (way_) {
    case Way::kZero:
      for (int64_t i = 0; i < size_.m; ++i) std::fill(c + i * ldc, c + i * ldc + size_.n, T{0});
      return;
    case Way::kDots:
      RunRow(a, b, c, scratch);
      return;
    case Way::kSkinny:
      isa_.skinny(size_.m, size_.n, size_.k, a.data, a.transposed ? 1 : a.ld, a.transposed ? a.ld : 1, b.data, b.ld, c,
                  ldc);
      return;
    case Way::kColumn:
      // (A*b)' = b'*A'. C is a column: its elements are ldc apart, and only ldc 1 lies in one piece.
      if (ldc == 1) {
        RunRow({b.data, b.ld, !b.transposed}, {a.data, a.ld, !a.transposed}, c, scratch);
        return;
      }
      for (int64_t i = 0; i < size_.m; i += isa_.tile_rows) {
        isa_.tile(std::min(isa_.tile_rows, size_.m - i), 1, size_.k, a.Rows(i).data, a.ld, a.transposed, b.data,
                  b.transposed ? 1 : b.ld, c + i * ldc, ldc, false);
      }
      return;
    case Way::kDirect:
      for (int64_t j = 0; j < size_.n; j += isa_.tile_cols) {
        const int64_t cols = std::min(isa_.tile_cols, size_.n - j);
        for (int64_t i = 0; i < size_.m; i += isa_.tile_rows) {
          isa_.tile(std::min(isa_.tile_rows, size_.m - i), cols, size_.k, a.Rows(i).data, a.ld, a.transposed,
                    b.data + j, b.ld, c + i * ldc + j, ldc, false);
        }
      }
      return;
    case Way::kBlocked:
      return;
  }
}

template <typename T>
void Gemm<T>::Run(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t ldc, T* scratch, GemmStop stop,
                  const GemmFinish<T>& finish) const {
  if (way_ != Way::kBlocked) {
    RunUnblocked(a, b, c, ldc, scratch);
    return finish(c, ldc, size_.m, 0, size_.n);
  }
  const bool packs_a = PacksA(isa_, size_);
  T* const packed_b = scratch + PackedAElements(isa_, size_);
  const int64_t depth = DepthOf<T>(size_.k);
  for (int64_t j = 0; j < size_.n; j += BlockCols<T>()) {
    for (int64_t p = 0; p < size_.k; p += depth) {
      const GemmSize block = {size_.m, std::min(BlockCols<T>(), size_.n - j), std::min(depth, size_.k - p)};
      if (stop()) return;
      PackB(isa_, b.Rows(p).Cols(j), block.k, block.n, packed_b);
      const BlockPlace<T> place = {p == 0, p + block.k == size_.k, j, finish};
      MultiplyRows(isa_, block, a.Cols(p), packed_b, c + j, ldc, place, packs_a, scratch, stop);
    }
  }
}

template <typename T>
int64_t PackedGemm<T>::PackedElements(const GemmIsa<T>& isa, int64_t k, int64_t n) {
  return CeilDiv(n, isa.tile_cols) * isa.tile_cols * k;
}

template <typename T>
int64_t PackedGemm<T>::BlockDepth(int64_t k) {
  return DepthOf<T>(k);
}

template <typename T>
void PackedGemm<T>::Pack(const GemmIsa<T>& isa, const MatrixView<T>& b, int64_t k, int64_t n, T* out) {
  const int64_t depth = DepthOf<T>(k);
  const int64_t cols = CeilDiv(n, isa.tile_cols) * isa.tile_cols;
  for (int64_t p = 0; p < k; p += depth) PackB(isa, b.Rows(p), std::min(depth, k - p), n, out + p * cols);
}

template <typename T>
int64_t PackedGemm<T>::scratch_elements() const {
  return PackedAElements(isa_, size_);
}

template <typename T>
void PackedGemm<T>::Run(const MatrixView<T>& a, const T* packed, int64_t first_col, T* c, int64_t ldc, T* scratch,
                        GemmStop stop, const GemmFinish<T>& finish) const {
  if (size_.k == 0) {
    for (int64_t i = 0; i < size_.m; ++i) std::fill(c + i * ldc, c + i * ldc + size_.n, T{0});
    return finish(c, ldc, size_.m, 0, size_.n);
  }
  const bool packs_a = PacksA(isa_, size_);
  const int64_t depth = DepthOf<T>(size_.k);
  const int64_t all_cols = CeilDiv(total_cols_, isa_.tile_cols) * isa_.tile_cols;
  for (int64_t j = 0; j < size_.n; j += BlockCols<T>()) {
    for (int64_t p = 0; p < size_.k; p += depth) {
      const GemmSize block = {size_.m, std::min(BlockCols<T>(), size_.n - j), std::min(depth, size_.k - p)};
      if (stop()) return;
      const T* const panels = packed + p * all_cols + (first_col + j) * block.k;
      const BlockPlace<T> place = {p == 0, p + block.k == size_.k, j, finish};
      MultiplyRows(isa_, block, a.Cols(p), panels, c + j, ldc, place, packs_a, scratch, stop);
    }
  }
}

template class Gemm<float>;
template class Gemm<double>;
template class PackedGemm<float>;
template class PackedGemm<double>;
template const GemmIsa<float>& BestGemm();
template const GemmIsa<double>& BestGemm();

}  // namespace sluice
