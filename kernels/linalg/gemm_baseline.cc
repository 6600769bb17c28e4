#include "kernels/linalg/channel_finish.h"
#include "kernels/linalg/finish_tile.h"
#include "kernels/linalg/gemm_isa.h"
#include "kernels/linalg/gemm_tile.h"
#include "kernels/linalg/tile_runs.h"

namespace sluice {
namespace {

// 16 bytes in the compiler's own vectors: for processors without AVX2, and a second opinion in tests.
template <typename Element>
struct PlainLanes {
  using T = Element;
  typedef T Reg __attribute__((vector_size(16)));
  typedef T Unaligned __attribute__((vector_size(16), aligned(sizeof(T))));
  static constexpr int kLanes = 16 / sizeof(T);
  static constexpr int kTileRows = 4;
  static Reg Zero() { return Reg{}; }
  static Reg Set(T x) { return Reg{} + x; }
  static Reg Load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static void Store(T* p, Reg v) { *reinterpret_cast<Unaligned*>(p) = v; }
  static Reg LoadPart(const T* p, int64_t n) {
    Reg v{};
    for (int64_t i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
  static void StorePart(T* p, Reg v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  static Reg Fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg Add(Reg a, Reg b) { return a + b; }
  static Reg Max(Reg a, Reg b) {
    for (int i = 0; i < kLanes; ++i) b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
  }
  static Reg Min(Reg a, Reg b) {
    for (int i = 0; i < kLanes; ++i) b[i] = a[i] < b[i] ? a[i] : b[i];
    return b;
  }
  static T Sum(Reg v) {
    T sum = v[0];
    for (int i = 1; i < kLanes; ++i) sum += v[i];
    return sum;
  }
};

}  // namespace

const GemmIsa<float>& BaselineGemmFloat() { return kGemmIsa<PlainLanes<float>>; }
const GemmIsa<double>& BaselineGemmDouble() { return kGemmIsa<PlainLanes<double>>; }
AddRunsFunction<float> BaselineAddRunsFloat() { return &AddRuns<PlainLanes<float>>; }
AddRunsFunction<double> BaselineAddRunsDouble() { return &AddRuns<PlainLanes<double>>; }
FinishFunction BaselineFinish() { return &Finish<PlainLanes<float>>; }

}  // namespace sluice
