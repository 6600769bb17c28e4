#include <algorithm>
#include <cstring>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/philox.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Blocks that a call takes from the sequence for each number that it gives, as in TensorFlow, whose ops may throw
// numbers away: what comes next depends on it.
constexpr uint64_t kBlocksPerNumber = 256;
// Nanoseconds a block takes, for the cut into parts.
constexpr double kBlockNs = 12;

template <typename To, typename From>
To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "of one size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Numbers of [0, 1) from a block: random bits become the fraction of a number of [1, 2), and 1 is taken away.
template <typename T>
struct Uniform;

template <>
struct Uniform<float> {
  static constexpr int64_t kPerBlock = 4;
  static float At(const Philox::Block& block, size_t i) {
    return BitCast<float>((block[i] & 0x7fffffu) | (127u << 23)) - 1.0f;
  }
};

template <>
struct Uniform<double> {
  static constexpr int64_t kPerBlock = 2;
  static double At(const Philox::Block& block, size_t i) {
    const uint64_t fraction = (uint64_t{block[2 * i] & 0xfffffu} << 32) | block[2 * i + 1];
    return BitCast<double>(fraction | (uint64_t{1023} << 52)) - 1.0;
  }
};

template <>
struct Uniform<Half> {
  static constexpr int64_t kPerBlock = 4;
  static Half At(const Philox::Block& block, size_t i) {
    return Half(static_cast<float>(Half::FromBits(static_cast<uint16_t>((block[i] & 0x3ffu) | (15u << 10)))) - 1.0f);
  }
};

template <>
struct Uniform<BFloat16> {
  static constexpr int64_t kPerBlock = 4;
  static BFloat16 At(const Philox::Block& block, size_t i) {
    return BFloat16(static_cast<float>(BFloat16::FromBits(static_cast<uint16_t>((block[i] & 0x7fu) | (127u << 7)))) -
                    1.0f);
  }
};

template <typename T>
absl::Status FillUniform(const Workers& workers, const Philox& first, absl::Span<T> out) {
  constexpr int64_t kPerBlock = Uniform<T>::kPerBlock;
  const int64_t size = static_cast<int64_t>(out.size());
  T* const numbers = out.data();
  return workers.ForEachPart((size + kPerBlock - 1) / kPerBlock, kBlockNs, [=](int64_t begin, int64_t end) {
    Philox generator = first;
    generator.Skip(static_cast<uint64_t>(begin));
    for (int64_t block = begin; block < end; ++block) {
      const Philox::Block bits = generator.Next();
      const int64_t at = block * kPerBlock;
      const int64_t count = std::min(kPerBlock, size - at);
      for (int64_t i = 0; i < count; ++i) numbers[at + i] = Uniform<T>::At(bits, static_cast<size_t>(i));
    }
    return absl::OkStatus();
  });
}

// Numbers of [0, 1), of the shape in input 0.
class RandomUniformKernel final : public Kernel {
 public:
  explicit RandomUniformKernel(const SeededGenerator::Seeds& seeds) : generator_(seeds) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const Philox first = generator_.Reserve(static_cast<uint64_t>(output->num_elements()) * kBlocksPerNumber);
    absl::Status status;
    DispatchDType<FloatCppTypes>(output->dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      status = FillUniform<T>(Workers(context.run()), first, output->flat<T>());
    });
    return status;
  }

 private:
  mutable SeededGenerator generator_;
};

constexpr KernelRow kRows[] = {
    KernelRow("RandomUniform", &NewWith<RandomUniformKernel, &SeededGenerator::ReadSeeds>)
        .Types("dtype", {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16})
        .HostInput("shape"),
};

}  // namespace

absl::Span<const KernelRow> RandomUniformKernels() { return kRows; }

}  // namespace sluice
