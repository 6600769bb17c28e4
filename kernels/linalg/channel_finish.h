#ifndef SLUICE_KERNELS_LINALG_CHANNEL_FINISH_H_
#define SLUICE_KERNELS_LINALG_CHANNEL_FINISH_H_

#include <cstdint>
#include <limits>

namespace sluice {

// The epilogue of a product, applied to each element: (x - mean) * factor + offset by its column, each step rounded,
// then a clamp, which leaves NaNs and zeros as they are. A small value; borrows.
struct ChannelFinish {
  const float* means = nullptr;  // Null, with `factors`: x stays.
  const float* factors = nullptr;
  const float* offsets = nullptr;  // Null: nothing is added.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Finishes `rows` rows of `cols` elements, `ldc` apart, whose first column is that of the numbers' first.
using FinishFunction = void (*)(const ChannelFinish& finish, float* c, int64_t ldc, int64_t rows, int64_t cols);

// The function for an instruction set: see gemm_isa.h. The same bits from each.
FinishFunction BaselineFinish();
FinishFunction Avx2Finish();
FinishFunction Avx512Finish();
// The implementation for this machine.
FinishFunction BestFinish();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_CHANNEL_FINISH_H_
