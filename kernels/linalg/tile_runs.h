#ifndef SLUICE_KERNELS_LINALG_TILE_RUNS_H_
#define SLUICE_KERNELS_LINALG_TILE_RUNS_H_

#include <cstdint>

namespace sluice {

// C[rows, cols] += the sum of A_r*B_r over r < runs, rows and cols at most a tile (GemmIsa): for products whose depth
// lies in several pieces, as that of windows does. A_r(i, p) is at a[r*a_step + p*lda + i], B_r(p, j) at
// b[r*b_step + p*ldb + j], p < k. Constant arguments give constant bits. A small value; borrows.
template <typename T>
struct TileRuns {
  int64_t rows = 0, cols = 0, k = 0, runs = 0;
  const T* a = nullptr;
  int64_t lda = 0, a_step = 0;
  const T* b = nullptr;
  int64_t ldb = 0, b_step = 0;
  T* c = nullptr;
  int64_t ldc = 0;
};

// The function for an instruction set: see gemm_isa.h.
template <typename T>
using AddRunsFunction = void (*)(const TileRuns<T>& product);

AddRunsFunction<float> BaselineAddRunsFloat();
AddRunsFunction<double> BaselineAddRunsDouble();
AddRunsFunction<float> Avx2AddRunsFloat();
AddRunsFunction<double> Avx2AddRunsDouble();
AddRunsFunction<float> Avx512AddRunsFloat();
AddRunsFunction<double> Avx512AddRunsDouble();

// The implementation that BestGemm<T>() in gemm.h uses. T is float or double.
template <typename T>
AddRunsFunction<T> BestAddRuns();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_TILE_RUNS_H_
