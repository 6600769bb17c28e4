#ifndef SLUICE_KERNELS_LINALG_GEMM_TILE_H_
#define SLUICE_KERNELS_LINALG_GEMM_TILE_H_

// The inner loops of GEMM over a vector class `V`: see Note [One source, three instruction sets]. `V` has
//   T, Reg, kLanes; kTileRows (accumulators: 2 * kTileRows);
//   Zero(), Load(p), Store(p, v), Set(x), Fma(a, b, c) = a*b + c, Add(a, b), Sum(v),
//   LoadPart(p, n), StorePart(p, v, n): the first n lanes, others zero or untouched; n may be 0 or all.
// Included by the files of the instruction sets only.

#include "kernels/linalg/channel_tile.h"
#include "kernels/linalg/gemm_isa.h"
#include "kernels/linalg/tile_runs.h"
#include "kernels/linalg/winograd_tile.h"

namespace sluice {
namespace {

// The pieces of a product's depth: see TileRuns.
struct Runs {
  int64_t count = 1;
  int64_t a_step = 0, b_step = 0;
};

// C tile of kRows x (kVectors * lanes) columns, with `cols` columns in use. kByColumns: A(i, p) = a[i + p*lda]. Without
// kRuns the depth is in one piece, and the loop over pieces costs nothing.
template <typename V, int kRows, int kVectors, bool kPart, bool kByColumns, bool kRuns>
void Tile(int64_t cols, int64_t k, const typename V::T* a, int64_t lda, const typename V::T* b_begin, int64_t ldb,
          typename V::T* c, int64_t ldc, bool accumulate, const Runs& runs) {
  using T = typename V::T;
  typename V::Reg sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[i][v] = V::Zero();
  }
  const int64_t last = cols - (kVectors - 1) * V::kLanes;  // Lanes in the last vector.
  // C comes from far away: ask for it before the sums are made.
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    __builtin_prefetch(c + i * ldc, 1);
    if (kVectors > 1) __builtin_prefetch(c + i * ldc + V::kLanes, 1);
  }
  const int64_t lda2 = 2 * lda;
  const int64_t lda3 = 3 * lda;
  for (int64_t run = 0; run < (kRuns ? runs.count : 1); ++run) {
    // Four rows share a pointer: more do not fit the registers.
    const T* rows[(kRows + 3) / 4];
#pragma GCC unroll 16
    for (int i = 0; i < (kRows + 3) / 4; ++i) rows[i] = a + run * runs.a_step + (kByColumns ? 4 * i : 4 * i * lda);
    const T* b = b_begin + run * runs.b_step;
    for (int64_t p = 0; p < k; ++p) {
      typename V::Reg bs[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        bs[v] = kPart && v == kVectors - 1 ? V::LoadPart(b + v * V::kLanes, last) : V::Load(b + v * V::kLanes);
      }
      b += ldb;
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const T* const row = rows[i / 4];
        const int q = i % 4;
        const typename V::Reg x = V::Set(kByColumns ? row[q] : row[q == 0 ? 0 : q == 1 ? lda : q == 2 ? lda2 : lda3]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[i][v] = V::Fma(x, bs[v], sums[i][v]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < (kRows + 3) / 4; ++i) rows[i] += kByColumns ? lda : 1;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      T* const to = c + i * ldc + v * V::kLanes;
      if (kPart && v == kVectors - 1) {
        V::StorePart(to, accumulate ? V::Add(sums[i][v], V::LoadPart(to, last)) : sums[i][v], last);
      } else {
        V::Store(to, accumulate ? V::Add(sums[i][v], V::Load(to)) : sums[i][v]);
      }
    }
  }
}

// Tile for a number of rows that is known at run time only.
template <typename V, int kRows, bool kByColumns, bool kRuns = false>
void TileOfRows(int64_t rows, int64_t cols, int64_t k, const typename V::T* a, int64_t lda, const typename V::T* b,
                int64_t ldb, typename V::T* c, int64_t ldc, bool accumulate, const Runs& runs = Runs()) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      TileOfRows<V, kRows - 1, kByColumns, kRuns>(rows, cols, k, a, lda, b, ldb, c, ldc, accumulate, runs);
      return;
    }
  }
  if (cols == 2 * V::kLanes) {
    Tile<V, kRows, 2, false, kByColumns, kRuns>(cols, k, a, lda, b, ldb, c, ldc, accumulate, runs);
  } else if (cols > V::kLanes) {
    Tile<V, kRows, 2, true, kByColumns, kRuns>(cols, k, a, lda, b, ldb, c, ldc, accumulate, runs);
  } else {
    Tile<V, kRows, 1, true, kByColumns, kRuns>(cols, k, a, lda, b, ldb, c, ldc, accumulate, runs);
  }
}

template <typename V>
void AnyTile(int64_t rows, int64_t cols, int64_t k, const typename V::T* a, int64_t lda, bool a_by_columns,
             const typename V::T* b, int64_t ldb, typename V::T* c, int64_t ldc, bool accumulate) {
  if (a_by_columns) {
    TileOfRows<V, V::kTileRows, true>(rows, cols, k, a, lda, b, ldb, c, ldc, accumulate);
  } else {
    TileOfRows<V, V::kTileRows, false>(rows, cols, k, a, lda, b, ldb, c, ldc, accumulate);
  }
}

template <typename V>
void AddRuns(const TileRuns<typename V::T>& product) {
  TileOfRows<V, V::kTileRows, true, true>(product.rows, product.cols, product.k, product.a, product.lda, product.b,
                                          product.ldb, product.c, product.ldc, /*accumulate=*/true,
                                          {product.runs, product.a_step, product.b_step});
}

// Panels that Row reads at once: as many streams of memory, and sums enough to hide what one multiply-add takes.
constexpr int kRowPanels = 4;

template <typename V>
void Row(int64_t k, const typename V::T* x, int64_t step, const typename V::T* panels, typename V::T* c,
         bool accumulate) {
  constexpr int64_t kWidth = 2 * V::kLanes;
  typename V::Reg sums[kRowPanels][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRowPanels; ++i) sums[i][0] = sums[i][1] = V::Zero();
  const int64_t panel = k * kWidth;
  for (int64_t p = 0; p < k; ++p) {
    const typename V::Reg xp = V::Set(x[p * step]);
    const typename V::T* const b = panels + p * kWidth;
#pragma GCC unroll 16
    for (int i = 0; i < kRowPanels; ++i) {
      sums[i][0] = V::Fma(xp, V::Load(b + i * panel), sums[i][0]);
      sums[i][1] = V::Fma(xp, V::Load(b + i * panel + V::kLanes), sums[i][1]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRowPanels; ++i) {
    for (int v = 0; v < 2; ++v) {
      typename V::T* const to = c + i * kWidth + v * V::kLanes;
      V::Store(to, accumulate ? V::Add(sums[i][v], V::Load(to)) : sums[i][v]);
    }
  }
}

// c[0, n) (+)= sum over kDepth rows p of x[p*step] * b[p*ldb + j].
template <typename V, int kDepth>
void AddRows(int64_t n, const typename V::T* x, int64_t step, const typename V::T* b, int64_t ldb, typename V::T* c,
             bool accumulate) {
  typename V::Reg xs[kDepth];
#pragma GCC unroll 16
  for (int p = 0; p < kDepth; ++p) xs[p] = V::Set(x[p * step]);
  int64_t j = 0;
  for (; j + V::kLanes <= n; j += V::kLanes) {
    typename V::Reg sum = accumulate ? V::Load(c + j) : V::Zero();
#pragma GCC unroll 16
    for (int p = 0; p < kDepth; ++p) sum = V::Fma(xs[p], V::Load(b + p * ldb + j), sum);
    V::Store(c + j, sum);
  }
  if (j == n) return;
  typename V::Reg sum = accumulate ? V::LoadPart(c + j, n - j) : V::Zero();
#pragma GCC unroll 16
  for (int p = 0; p < kDepth; ++p) sum = V::Fma(xs[p], V::LoadPart(b + p * ldb + j, n - j), sum);
  V::StorePart(c + j, sum, n - j);
}

template <typename V>
void Skinny(int64_t rows, int64_t n, int64_t k, const typename V::T* a, int64_t lda, int64_t step,
            const typename V::T* b, int64_t ldb, typename V::T* c, int64_t ldc) {
  constexpr int kDepth = 8;  // Rows of B at a time: as many streams of memory.
  int64_t p = 0;
  for (; p + kDepth <= k; p += kDepth) {
    for (int64_t i = 0; i < rows; ++i) {
      AddRows<V, kDepth>(n, a + i * lda + p * step, step, b + p * ldb, ldb, c + i * ldc, p > 0);
    }
  }
  for (; p < k; ++p) {
    for (int64_t i = 0; i < rows; ++i) {
      AddRows<V, 1>(n, a + i * lda + p * step, step, b + p * ldb, ldb, c + i * ldc, p > 0);
    }
  }
}

// y[0, kRows) = the products of rows of b with x.
template <typename V, int kRows>
void DotRows(int64_t k, const typename V::T* x, const typename V::T* b, int64_t ldb, typename V::T* y) {
  typename V::Reg sums[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = V::Zero();
  int64_t p = 0;
  for (; p + 2 * V::kLanes <= k; p += 2 * V::kLanes) {
    const typename V::Reg x0 = V::Load(x + p);
    const typename V::Reg x1 = V::Load(x + p + V::kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = V::Fma(x0, V::Load(b + i * ldb + p), sums[i][0]);
      sums[i][1] = V::Fma(x1, V::Load(b + i * ldb + p + V::kLanes), sums[i][1]);
    }
  }
  for (; p < k; p += V::kLanes) {
    const int64_t lanes = k - p < V::kLanes ? k - p : V::kLanes;
    const typename V::Reg x0 = V::LoadPart(x + p, lanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) sums[i][0] = V::Fma(x0, V::LoadPart(b + i * ldb + p, lanes), sums[i][0]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) y[i] = V::Sum(V::Add(sums[i][0], sums[i][1]));
}

template <typename V>
void Dots(int64_t n, int64_t k, const typename V::T* x, const typename V::T* b, int64_t ldb, typename V::T* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) DotRows<V, 4>(k, x, b + j * ldb, ldb, y + j);
  for (; j < n; ++j) DotRows<V, 1>(k, x, b + j * ldb, ldb, y + j);
}

// Four rows of four at a time, so that each line of memory is read and written in one go.
template <typename T>
void PackRows(int64_t rows, int64_t k, const T* from, int64_t ld, T* out, int64_t width) {
  typedef T Vec4 __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T))));
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* const in = from + r * ld;
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
      const Vec4 r0 = *reinterpret_cast<const Vec4*>(in + p);
      const Vec4 r1 = *reinterpret_cast<const Vec4*>(in + ld + p);
      const Vec4 r2 = *reinterpret_cast<const Vec4*>(in + 2 * ld + p);
      const Vec4 r3 = *reinterpret_cast<const Vec4*>(in + 3 * ld + p);
      const Vec4 lo01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
      const Vec4 hi01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
      const Vec4 lo23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
      const Vec4 hi23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
      T* const to = out + p * width + r;
      *reinterpret_cast<Vec4*>(to) = __builtin_shufflevector(lo01, lo23, 0, 1, 4, 5);
      *reinterpret_cast<Vec4*>(to + width) = __builtin_shufflevector(lo01, lo23, 2, 3, 6, 7);
      *reinterpret_cast<Vec4*>(to + 2 * width) = __builtin_shufflevector(hi01, hi23, 0, 1, 4, 5);
      *reinterpret_cast<Vec4*>(to + 3 * width) = __builtin_shufflevector(hi01, hi23, 2, 3, 6, 7);
    }
    for (; p < k; ++p) {
      for (int64_t i = 0; i < 4; ++i) out[p * width + r + i] = in[i * ld + p];
    }
  }
  for (; r < width; ++r) {
    for (int64_t p = 0; p < k; ++p) out[p * width + r] = r < rows ? from[r * ld + p] : T{0};
  }
}

template <typename V>
void PackCols(int64_t cols, int64_t k, const typename V::T* from, int64_t ld, typename V::T* out, int64_t width) {
  if (cols == 2 * V::kLanes && width == cols) {  // A whole tile of B.
    for (int64_t p = 0; p < k; ++p) {
      V::Store(out + p * width, V::Load(from + p * ld));
      V::Store(out + p * width + V::kLanes, V::Load(from + p * ld + V::kLanes));
    }
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t r = 0; r < width; r += V::kLanes) {
      const int64_t there = cols - r < 0 ? 0 : cols - r < V::kLanes ? cols - r : V::kLanes;
      const int64_t wanted = width - r < V::kLanes ? width - r : V::kLanes;
      V::StorePart(out + p * width + r, V::LoadPart(from + p * ld + r, there), wanted);
    }
  }
}

template <typename V>
constexpr GemmIsa<typename V::T> kGemmIsa = {V::kTileRows, 2 * V::kLanes, &AnyTile<V>, kRowPanels,
                                             &Row<V>,      &Skinny<V>,    &Dots<V>,    &PackRows<typename V::T>,
                                             &PackCols<V>, &Channels<V>,  &Spread<V>,  &Collect<V>};

}  // namespace
}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_GEMM_TILE_H_
