#include <immintrin.h>

#include "kernels/linalg/channel_finish.h"
#include "kernels/linalg/finish_tile.h"
#include "kernels/linalg/gemm_isa.h"
#include "kernels/linalg/gemm_tile.h"
#include "kernels/linalg/tile_runs.h"

namespace sluice {
namespace {

// 16 floats.
struct Float16Lanes {
  using T = float;
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 12;
  static __mmask16 Mask(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
  static Reg Zero() { return _mm512_setzero_ps(); }
  static Reg Set(float x) { return _mm512_set1_ps(x); }
  static Reg Load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg LoadPart(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(Mask(n), p); }
  static void Store(float* p, Reg v) { _mm512_storeu_ps(p, v); }
  static void StorePart(float* p, Reg v, int64_t n) { _mm512_mask_storeu_ps(p, Mask(n), v); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static Reg Add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  // All lanes, of the form that needs no unwritten register: GCC 12 warns of the other's.
  static Reg Max(Reg a, Reg b) { return _mm512_maskz_max_ps(0xffff, a, b); }
  static Reg Min(Reg a, Reg b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static float Sum(Reg v) {
    float lanes[kLanes];
    Store(lanes, v);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }
};

// 8 doubles.
struct Double8Lanes {
  using T = double;
  using Reg = __m512d;
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 12;
  static __mmask8 Mask(int64_t n) { return static_cast<__mmask8>((1u << n) - 1); }
  static Reg Zero() { return _mm512_setzero_pd(); }
  static Reg Set(double x) { return _mm512_set1_pd(x); }
  static Reg Load(const double* p) { return _mm512_loadu_pd(p); }
  static Reg LoadPart(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(Mask(n), p); }
  static void Store(double* p, Reg v) { _mm512_storeu_pd(p, v); }
  static void StorePart(double* p, Reg v, int64_t n) { _mm512_mask_storeu_pd(p, Mask(n), v); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static Reg Add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static double Sum(Reg v) {
    double lanes[kLanes];
    Store(lanes, v);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }
};

}  // namespace

const GemmIsa<float>& Avx512GemmFloat() { return kGemmIsa<Float16Lanes>; }
const GemmIsa<double>& Avx512GemmDouble() { return kGemmIsa<Double8Lanes>; }
AddRunsFunction<float> Avx512AddRunsFloat() { return &AddRuns<Float16Lanes>; }
AddRunsFunction<double> Avx512AddRunsDouble() { return &AddRuns<Double8Lanes>; }
FinishFunction Avx512Finish() { return &Finish<Float16Lanes>; }

}  // namespace sluice
