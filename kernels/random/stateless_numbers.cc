// The stateless forms of uniform, normal and truncated normal numbers, integers and bits: V1 with a seed, V2 with key,
// counter and algorithm. Also the ops that make key, counter and algorithm from a seed.

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The inputs that select the numbers of a call.
enum class Version { kSeed, kKeyCounter };

absl::StatusOr<Philox> ReadGenerator(const KernelContext& context, Version version) {
  return version == Version::kSeed ? ReadSeedGenerator(context, 1) : ReadKeyCounterGenerator(context, 1);
}

template <Version kVersion, Distribution kDistribution>
absl::Status Numbers(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadGenerator(context, kVersion));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  return FillRandom(Workers(context.run()), first, kDistribution, output);
}

template <Version kVersion>
absl::Status Ints(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadGenerator(context, kVersion));
  constexpr int kMin = kVersion == Version::kSeed ? 2 : 4;
  SLUICE_ASSIGN_OR_RETURN(const IntRange range, ReadIntRange(context, kMin, shape.num_elements() == 0));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  return FillRandomInts(Workers(context.run()), first, range, output);
}

// Those outputs that the op has: key, counter, algorithm.
absl::Status KeyCounterAlgorithm(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadSeedGenerator(context, 0));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const key, context.AllocateOutput(0, Shape::Of({1})));
  key->flat<uint64_t>()[0] = first.key();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const counter, context.AllocateOutput(1, Shape::Of({2})));
  counter->flat<uint64_t>()[0] = first.low();
  counter->flat<uint64_t>()[1] = first.high();
  if (context.num_outputs() > 2) context.SetScalar(2, static_cast<int32_t>(RandomAlgorithm::kPhilox));
  return absl::OkStatus();
}

absl::Status Algorithm(KernelContext& context) {
  context.SetScalar(0, static_cast<int32_t>(RandomAlgorithm::kPhilox));
  return absl::OkStatus();
}

constexpr DTypeSet kWords = {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};
constexpr absl::string_view kInts1[] = {"shape", "seed", "minval", "maxval"};
constexpr absl::string_view kInts2[] = {"shape", "alg", "minval", "maxval"};
constexpr absl::string_view kKeyCounterAlg[] = {"key", "counter", "alg"};

template <Distribution kDistribution>
constexpr KernelRow SeedRow(absl::string_view op, DTypeSet types) {
  return KernelRow(op, &Call<&Numbers<Version::kSeed, kDistribution>>)
      .Types("dtype", types)
      .HostInput("shape")
      .HostInput("seed");
}

template <Distribution kDistribution>
constexpr KernelRow KeyRow(absl::string_view op, DTypeSet types) {
  return KernelRow(op, &Call<&Numbers<Version::kKeyCounter, kDistribution>>)
      .Types("dtype", types)
      .HostInput("shape")
      .HostInput("alg");
}

constexpr KernelRow kRows[] = {
    SeedRow<Distribution::kUniform>("StatelessRandomUniform", kFloatTypes),
    SeedRow<Distribution::kNormal>("StatelessRandomNormal", kFloatTypes),
    SeedRow<Distribution::kTruncatedNormal>("StatelessTruncatedNormal", kFloatTypes),
    SeedRow<Distribution::kBits>("StatelessRandomUniformFullInt", kWords),
    KernelRow("StatelessRandomUniformInt", &Call<&Ints<Version::kSeed>>).Types("dtype", kIndexTypes).HostInputs(kInts1),
    KeyRow<Distribution::kUniform>("StatelessRandomUniformV2", kFloatTypes),
    KeyRow<Distribution::kNormal>("StatelessRandomNormalV2", kFloatTypes),
    KeyRow<Distribution::kTruncatedNormal>("StatelessTruncatedNormalV2", kFloatTypes),
    KeyRow<Distribution::kBits>("StatelessRandomUniformFullIntV2", kWords),
    KernelRow("StatelessRandomUniformIntV2", &Call<&Ints<Version::kKeyCounter>>)
        .Types("dtype", kIndexTypes)
        .HostInputs(kInts2),
    KernelRow("StatelessRandomGetKeyCounter", &Call<&KeyCounterAlgorithm>)
        .HostInput("seed")
        .HostOutputs(absl::MakeConstSpan(kKeyCounterAlg).first(2))
        .Cheap(),
    KernelRow("StatelessRandomGetKeyCounterAlg", &Call<&KeyCounterAlgorithm>)
        .HostInput("seed")
        .HostOutputs(kKeyCounterAlg)
        .Cheap(),
    KernelRow("StatelessRandomGetAlg", &Call<&Algorithm>).HostOutput("alg").Cheap(),
};

}  // namespace

absl::Span<const KernelRow> StatelessNumbersKernels() { return kRows; }

}  // namespace sluice
