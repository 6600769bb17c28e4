#include <cstdint>
#include <type_traits>
#include <vector>

#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/sequence/families.h"

namespace sluice {
namespace {

// Neighbours that get one value, their mean.
struct Block {
  int64_t begin = 0;
  double sum = 0;
  int64_t size = 0;

  double mean() const { return sum / static_cast<double>(size); }
};

// The blocks of the closest row that never ascends: an element above the block before it joins that block, which
// then may join the one before it.
void PoolBlocks(const std::vector<double>& row, std::vector<Block>* blocks) {
  blocks->clear();
  for (size_t i = 0; i < row.size(); ++i) {
    Block next = {static_cast<int64_t>(i), row[i], 1};
    while (!blocks->empty() && blocks->back().mean() < next.mean()) {
      next = {blocks->back().begin, blocks->back().sum + next.sum, blocks->back().size + next.size};
      blocks->pop_back();
    }
    blocks->push_back(next);
  }
}

// Half and bfloat16 convert to float only.
double AsDouble(Half value) { return static_cast<double>(static_cast<float>(value)); }
double AsDouble(BFloat16 value) { return static_cast<double>(static_cast<float>(value)); }
template <typename T>
double AsDouble(T value) {
  return static_cast<double>(value);
}

// Each row along the last axis (a scalar is one): the means, and the number of the block of each element.
absl::Status Compute(KernelContext& context) {
  const Tensor& input = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, input.shape()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const segments, context.AllocateOutput(1, input.shape()));
  if (input.num_elements() == 0) return absl::OkStatus();
  const int64_t size = input.rank() > 0 ? input.dim(input.rank() - 1) : 1;
  std::vector<double> row(static_cast<size_t>(size));
  std::vector<Block> blocks;
  for (int64_t begin = 0; begin < input.num_elements(); begin += size) {
    DispatchDType<RealCppTypes>(input.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      const T* const from = input.flat<T>().data() + begin;
      for (int64_t i = 0; i < size; ++i) row[static_cast<size_t>(i)] = AsDouble(from[i]);
    });
    PoolBlocks(row, &blocks);
    int32_t* const numbers = segments->flat<int32_t>().data() + begin;
    DispatchDType<FloatCppTypes>(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      T* const to = out->flat<T>().data() + begin;
      for (size_t b = 0; b < blocks.size(); ++b) {
        const T mean = static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(blocks[b].mean()));
        for (int64_t i = blocks[b].begin; i < blocks[b].begin + blocks[b].size; ++i) {
          to[i] = mean;
          numbers[i] = static_cast<int32_t>(b);
        }
      }
    });
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("IsotonicRegression", &Call<Compute>).Types("T", kRealTypes).Types("output_dtype", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> IsotonicRegressionKernels() { return kRows; }

}  // namespace sluice
