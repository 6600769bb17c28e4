#ifndef SLUICE_KERNELS_LINALG_GEMM_PLUGIN_H_
#define SLUICE_KERNELS_LINALG_GEMM_PLUGIN_H_

// The interface of plug-in libraries that multiply matrices of floats: plain C, so that no library's ABI matters.
// A plug-in exports `sluice_gemm_plugin`. All functions may be called from any thread, each uses one thread, and none
// throws.

#include <stdint.h>

#define SLUICE_GEMM_PLUGIN_VERSION 1
#define SLUICE_GEMM_PLUGIN_SYMBOL "sluice_gemm_plugin"

extern "C" {

// C[m,n] = op(A)*op(B), row-major, with leading dimensions in elements; op transposes where the flag is not 0.
typedef struct SluiceGemmProblem {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int32_t transpose_a, transpose_b;
} SluiceGemmProblem;

// A problem prepared for execution; owned by the plug-in, which keeps it for equal problems.
typedef struct SluiceGemmProduct SluiceGemmProduct;

typedef struct SluiceGemmPlugin {
  uint32_t version;
  // For B as it lies in memory. Null: the plug-in does not do it.
  const SluiceGemmProduct* (*prepare)(const SluiceGemmProblem* problem);
  // For a B in the plug-in's own order, which `packed_like` chose (null: chosen now). ldb and transpose_b say how B
  // lies before it is packed.
  const SluiceGemmProduct* (*prepare_packed)(const SluiceGemmProblem* problem, const SluiceGemmProduct* packed_like);
  // Size of B in that order, and the way there. 0 for success.
  uint64_t (*packed_bytes)(const SluiceGemmProduct* product);
  int32_t (*pack)(const SluiceGemmProduct* product, const float* b, void* packed);
  // `b` as prepared: the matrix or its packed form. 0 for success.
  int32_t (*execute)(const SluiceGemmProduct* product, const float* a, const void* b, float* c);
} SluiceGemmPlugin;

// Null unless the plug-in speaks `version`.
typedef const SluiceGemmPlugin* (*SluiceGetGemmPlugin)(uint32_t version);

}  // extern "C"

#endif  // SLUICE_KERNELS_LINALG_GEMM_PLUGIN_H_
