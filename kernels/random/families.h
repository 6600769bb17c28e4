#ifndef SLUICE_KERNELS_RANDOM_FAMILIES_H_
#define SLUICE_KERNELS_RANDOM_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt.
absl::Span<const KernelRow> SeededNumbersKernels();
// StatelessRandomUniform, -Normal, StatelessTruncatedNormal, -UniformInt, -UniformFullInt and their V2;
// StatelessRandomGetKeyCounter, -GetKeyCounterAlg, -GetAlg.
absl::Span<const KernelRow> StatelessNumbersKernels();
// StatefulUniform, -StandardNormalV2, -TruncatedNormal, -UniformInt, -UniformFullInt; RngSkip, RngReadAndSkip;
// NonDeterministicInts.
absl::Span<const KernelRow> StatefulNumbersKernels();
// Multinomial, StatelessMultinomial.
absl::Span<const KernelRow> MultinomialKernels();
// RandomGamma, StatelessRandomGammaV2 and V3.
absl::Span<const KernelRow> GammaKernels();
// RandomPoisson, RandomPoissonV2, StatelessRandomPoisson.
absl::Span<const KernelRow> PoissonKernels();
// StatelessRandomBinomial, StatefulRandomBinomial.
absl::Span<const KernelRow> BinomialKernels();
// ParameterizedTruncatedNormal, StatelessParameterizedTruncatedNormal.
absl::Span<const KernelRow> ParameterizedNormalKernels();
// RandomShuffle, StatelessShuffle.
absl::Span<const KernelRow> ShuffleKernels();
// RandomIndexShuffle.
absl::Span<const KernelRow> IndexShuffleKernels();
// UniformCandidateSampler, LogUniform-, LearnedUnigram-, ThreadUnsafeUnigram-, FixedUnigram-, AllCandidateSampler.
absl::Span<const KernelRow> CandidateSamplerKernels();
// ComputeAccidentalHits.
absl::Span<const KernelRow> AccidentalHitsKernels();

// Adds all of them.
void AddRandomKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_FAMILIES_H_
