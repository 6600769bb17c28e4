#ifndef SLUICE_KERNELS_STRINGS_FAMILIES_H_
#define SLUICE_KERNELS_STRINGS_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// AsString.
absl::Span<const KernelRow> AsStringKernels();
// StringToHashBucket, StringToHashBucketFast, StringToHashBucketStrong.
absl::Span<const KernelRow> HashBucketKernels();
// StaticRegexFullMatch, of the patterns that savers write.
absl::Span<const KernelRow> StaticMatchKernels();
// DecodeRaw, ParseTensor, SerializeTensor, StringLength.
absl::Span<const KernelRow> StringBytesKernels();
// StringJoin.
absl::Span<const KernelRow> StringJoinKernels();

// Adds all of them.
void AddStringsKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_FAMILIES_H_
