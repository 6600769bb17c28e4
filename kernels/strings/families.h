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
// DecodeRaw, ParseTensor, SerializeTensor.
absl::Span<const KernelRow> StringBytesKernels();
// StringJoin.
absl::Span<const KernelRow> StringJoinKernels();
// EncodeBase64, DecodeBase64.
absl::Span<const KernelRow> Base64Kernels();
// One string to one: StringLower, StringUpper, StringStrip, StringLength.
absl::Span<const KernelRow> StringChangeKernels();
// Fingerprint.
absl::Span<const KernelRow> FingerprintKernels();
// RegexFullMatch, RegexReplace, StaticRegexFullMatch, StaticRegexReplace.
absl::Span<const KernelRow> RegexKernels();
// StringFormat.
absl::Span<const KernelRow> StringFormatKernels();
// ReduceJoin, UnsortedSegmentJoin.
absl::Span<const KernelRow> StringReduceKernels();
// StringNGrams.
absl::Span<const KernelRow> StringNGramsKernels();
// StringSplit, StringSplitV2.
absl::Span<const KernelRow> StringSplitKernels();
// StringToNumber.
absl::Span<const KernelRow> StringToNumberKernels();
// Substr.
absl::Span<const KernelRow> SubstrKernels();
// ScalarSummary, HistogramSummary, TensorSummary, TensorSummaryV2, MergeSummary.
absl::Span<const KernelRow> SummaryKernels();
// UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeScript, UnicodeTranscode.
absl::Span<const KernelRow> UnicodeKernels();

// Adds all of them.
void AddStringsKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_FAMILIES_H_
