#ifndef SLUICE_KERNELS_LINALG_GEMM_LIBRARY_H_
#define SLUICE_KERNELS_LINALG_GEMM_LIBRARY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/linalg/gemm_plugin.h"

namespace sluice {

// Note [Own tiles first]
// Products of floats can be left to a plug-in library (kernels/linalg/onednn). It is used in runs whose RunContext
// names it (SessionOptions::gemm_plugin) and in no others: measured with matmul_bench on AVX-512 and AVX2, our tiles
// are as fast as oneDNN 2.6 or faster from 1 to 2048 rows, and a library of 40 MB with an OpenMP runtime need not be
// opened. It is there for processors where that is otherwise.

// Opens the plug-in library in file `path`. It stays open: what it gives is valid until the process ends.
// kHostKernel for a file that cannot be opened, or is not a plug-in of this version. Thread-safe.
absl::StatusOr<const SluiceGemmPlugin*> OpenGemmPlugin(absl::string_view path);
// The same for libsluice_gemm_onednn.so beside the program or in its runfiles.
absl::StatusOr<const SluiceGemmPlugin*> OpenBundledGemmPlugin();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_GEMM_LIBRARY_H_
