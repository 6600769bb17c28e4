#ifndef SLUICE_KERNELS_LINALG_GEMM_LIBRARY_H_
#define SLUICE_KERNELS_LINALG_GEMM_LIBRARY_H_

#include <string>

#include "kernels/linalg/gemm_plugin.h"

namespace sluice {

// Note [Own tiles first]
// Products of floats can be left to a plug-in library (kernels/linalg/onednn). It is not used unless a host asks:
// measured with matmul_bench on AVX-512 and AVX2, our tiles are as fast as oneDNN 2.6 or faster from 1 to 2048 rows,
// and a library of 40 MB with an OpenMP runtime need not be opened. It is there for processors where that is otherwise.

// Which plug-in to use from now on: a path; "auto" for libsluice_gemm_onednn.so beside the program or in its runfiles;
// "" for none. Without a call, the environment variable SLUICE_GEMM_PLUGIN decides. Call it before the first product:
// a plug-in that was opened stays. Thread-safe.
void SetGemmPlugin(std::string path);

// The plug-in, opened at the first call, or null: none was asked for, or it cannot be opened. Thread-safe.
const SluiceGemmPlugin* FindGemmPlugin();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_GEMM_LIBRARY_H_
