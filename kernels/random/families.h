#ifndef SLUICE_KERNELS_RANDOM_FAMILIES_H_
#define SLUICE_KERNELS_RANDOM_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt.
SLUICE_AT_START absl::Span<const KernelRow> SeededNumbersKernels();
// StatelessRandomUniform, -Normal, StatelessTruncatedNormal, -UniformInt, -UniformFullInt and their V2;
// StatelessRandomGetKeyCounter, -GetKeyCounterAlg, -GetAlg.
SLUICE_AT_START absl::Span<const KernelRow> StatelessNumbersKernels();
// StatefulUniform, -StandardNormalV2, -TruncatedNormal, -UniformInt, -UniformFullInt; RngSkip, RngReadAndSkip;
// NonDeterministicInts.
SLUICE_AT_START absl::Span<const KernelRow> StatefulNumbersKernels();
// Multinomial, StatelessMultinomial.
SLUICE_AT_START absl::Span<const KernelRow> MultinomialKernels();
// RandomGamma, StatelessRandomGammaV2 and V3.
SLUICE_AT_START absl::Span<const KernelRow> GammaKernels();
// RandomPoisson, RandomPoissonV2, StatelessRandomPoisson.
SLUICE_AT_START absl::Span<const KernelRow> PoissonKernels();
// StatelessRandomBinomial, StatefulRandomBinomial.
SLUICE_AT_START absl::Span<const KernelRow> BinomialKernels();
// ParameterizedTruncatedNormal, StatelessParameterizedTruncatedNormal.
SLUICE_AT_START absl::Span<const KernelRow> ParameterizedNormalKernels();
// RandomShuffle, StatelessShuffle.
SLUICE_AT_START absl::Span<const KernelRow> ShuffleKernels();
// RandomIndexShuffle.
SLUICE_AT_START absl::Span<const KernelRow> IndexShuffleKernels();
// UniformCandidateSampler, LogUniform-, LearnedUnigram-, ThreadUnsafeUnigram-, FixedUnigram-, AllCandidateSampler.
SLUICE_AT_START absl::Span<const KernelRow> CandidateSamplerKernels();
// ComputeAccidentalHits.
SLUICE_AT_START absl::Span<const KernelRow> AccidentalHitsKernels();

// Adds all of them.
SLUICE_AT_START void AddRandomKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_FAMILIES_H_
