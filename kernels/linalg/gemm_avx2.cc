#include <immintrin.h>

#include "kernels/linalg/channel_finish.h"
#include "kernels/linalg/finish_tile.h"
#include "kernels/linalg/gemm_isa.h"
#include "kernels/linalg/gemm_tile.h"
#include "kernels/linalg/tile_runs.h"

namespace sluice {
namespace {

// Ones and zeros from which masks are cut.
alignas(64) constexpr int32_t kMask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
alignas(64) constexpr int64_t kMask64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

// 8 floats.
struct Float8Lanes {
  using T = float;
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 6;
  static __m256i Mask(int64_t n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask32 + 8 - n)); }
  static Reg Zero() { return _mm256_setzero_ps(); }
  static Reg Set(float x) { return _mm256_set1_ps(x); }
  static Reg Load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg LoadPart(const float* p, int64_t n) { return _mm256_maskload_ps(p, Mask(n)); }
  static void Store(float* p, Reg v) { _mm256_storeu_ps(p, v); }
  static void StorePart(float* p, Reg v, int64_t n) { _mm256_maskstore_ps(p, Mask(n), v); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg Add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg Max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg Min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  static float Sum(Reg v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

// 4 doubles.
struct Double4Lanes {
  using T = double;
  using Reg = __m256d;
  static constexpr int kLanes = 4;
  static constexpr int kTileRows = 6;
  static __m256i Mask(int64_t n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask64 + 4 - n)); }
  static Reg Zero() { return _mm256_setzero_pd(); }
  static Reg Set(double x) { return _mm256_set1_pd(x); }
  static Reg Load(const double* p) { return _mm256_loadu_pd(p); }
  static Reg LoadPart(const double* p, int64_t n) { return _mm256_maskload_pd(p, Mask(n)); }
  static void Store(double* p, Reg v) { _mm256_storeu_pd(p, v); }
  static void StorePart(double* p, Reg v, int64_t n) { _mm256_maskstore_pd(p, Mask(n), v); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  static Reg Add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static double Sum(Reg v) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};

}  // namespace

const GemmIsa<float>& Avx2GemmFloat() { return kGemmIsa<Float8Lanes>; }
const GemmIsa<double>& Avx2GemmDouble() { return kGemmIsa<Double4Lanes>; }
AddRunsFunction<float> Avx2AddRunsFloat() { return &AddRuns<Float8Lanes>; }
AddRunsFunction<double> Avx2AddRunsDouble() { return &AddRuns<Double4Lanes>; }
FinishFunction Avx2Finish() { return &Finish<Float8Lanes>; }

}  // namespace sluice
