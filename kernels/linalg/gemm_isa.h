#ifndef SLUICE_KERNELS_LINALG_GEMM_ISA_H_
#define SLUICE_KERNELS_LINALG_GEMM_ISA_H_

#include <cstdint>

// Note [One source, three instruction sets]
// gemm_tile.h holds the inner loops as templates over a vector class. gemm_{baseline,avx2,avx512}.cc instantiate them,
// each compiled for its instruction set, and offer them as a GemmIsa: a table of function pointers, chosen once at run
// time. Those files include nothing but intrinsics, and the templates have internal linkage: an inline function of a
// shared header, compiled for AVX-512 there, could otherwise be the copy that the linker keeps for everybody.

namespace sluice {

// Products channel by channel, for convolutions of each channel alone: for i < pixels and c < channels,
//   out[i*out_pixel + c] = sum over r < rows, q < cols of a[i*a_pixel + r*a_row + q*a_col + c] * b[r*b_row + q*b_col +
//   c]
// or +=. The bits of a result do not depend on the others that are made with it.
template <typename T>
struct ChannelProducts {
  int64_t channels = 0;
  int64_t pixels = 1;
  int64_t rows = 1;
  int64_t cols = 1;
  const T* a = nullptr;
  int64_t a_pixel = 0, a_row = 0, a_col = 0;
  const T* b = nullptr;
  int64_t b_row = 0, b_col = 0;
  T* out = nullptr;
  int64_t out_pixel = 0;
  bool accumulate = false;
};

// The inner loops for one element type on one instruction set. Constant data. Matrices are row-major with a leading
// dimension; sizes are positive.
template <typename T>
struct GemmIsa {
  // Size of the tile of C that Tile computes at most.
  int64_t tile_rows;
  int64_t tile_cols;

  // C[rows, cols] = A*B, or += with `accumulate`; rows, cols at most a tile.
  // A(i, p) is at a[i*lda + p], or at a[i + p*lda] with `a_by_columns`. B(p, j) is at b[p*ldb + j].
  void (*tile)(int64_t rows, int64_t cols, int64_t k, const T* a, int64_t lda, bool a_by_columns, const T* b,
               int64_t ldb, T* c, int64_t ldc, bool accumulate);
  // One row of C, or += with `accumulate`: row_panels tiles' columns, each from a panel of B (see Tile: ldb is
  // tile_cols); the panels stand one after the other. x(p) at x[p*step]. The bits that as many calls of tile would
  // give.
  int64_t row_panels;
  void (*row)(int64_t k, const T* x, int64_t step, const T* panels, T* c, bool accumulate);
  // C[rows, n] = A[rows, k]*B[k, n] for few rows: reads B once, in the order of memory. A(i, p) at a[i*lda + p*step].
  void (*skinny)(int64_t rows, int64_t n, int64_t k, const T* a, int64_t lda, int64_t step, const T* b, int64_t ldb,
                 T* c, int64_t ldc);
  // y[j] = sum over p of x[p] * b[j*ldb + p], for j < n.
  void (*dots)(int64_t n, int64_t k, const T* x, const T* b, int64_t ldb, T* y);
  // out[p*width + r] = from[r*ld + p], for r < rows, zero for rows <= r < width; p < k.
  void (*pack_rows)(int64_t rows, int64_t k, const T* from, int64_t ld, T* out, int64_t width);
  // out[p*width + r] = from[p*ld + r], for r < cols, zero for cols <= r < width; p < k.
  void (*pack_cols)(int64_t cols, int64_t k, const T* from, int64_t ld, T* out, int64_t width);
  void (*channels)(const ChannelProducts<T>& products);
  // The transforms of Note [Minimal filtering] (kernels/nn/winograd.h), channel by channel. From a tile of 4 x 4
  // pixels, row by row, 16 numbers, `step` apart at `out`.
  void (*spread)(int64_t channels, const T* const* pixels, T* out, int64_t step);
  // From 16 sums, `step` apart, 2 x 2 pixels (null: not wanted). False where one of them is large (floats: 2^20 or
  // more), infinite or NaN.
  bool (*collect)(int64_t channels, const T* sums, int64_t step, T* const* pixels);
};

const GemmIsa<float>& BaselineGemmFloat();
const GemmIsa<double>& BaselineGemmDouble();
// REQUIRES of their use: a processor with AVX2 and FMA; with AVX-512F.
const GemmIsa<float>& Avx2GemmFloat();
const GemmIsa<double>& Avx2GemmDouble();
const GemmIsa<float>& Avx512GemmFloat();
const GemmIsa<double>& Avx512GemmDouble();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_GEMM_ISA_H_
