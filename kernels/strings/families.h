#ifndef SLUICE_KERNELS_STRINGS_FAMILIES_H_
#define SLUICE_KERNELS_STRINGS_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// AsString.
SLUICE_AT_START absl::Span<const KernelRow> AsStringKernels();
// StringToHashBucket, StringToHashBucketFast, StringToHashBucketStrong.
SLUICE_AT_START absl::Span<const KernelRow> HashBucketKernels();
// DecodeRaw, ParseTensor, SerializeTensor.
SLUICE_AT_START absl::Span<const KernelRow> StringBytesKernels();
// StringJoin.
SLUICE_AT_START absl::Span<const KernelRow> StringJoinKernels();
// EncodeBase64, DecodeBase64.
SLUICE_AT_START absl::Span<const KernelRow> Base64Kernels();
// One string to one: StringLower, StringUpper, StringStrip, StringLength.
SLUICE_AT_START absl::Span<const KernelRow> StringChangeKernels();
// Fingerprint.
SLUICE_AT_START absl::Span<const KernelRow> FingerprintKernels();
// RegexFullMatch, RegexReplace, StaticRegexFullMatch, StaticRegexReplace.
SLUICE_AT_START absl::Span<const KernelRow> RegexKernels();
// StringFormat.
SLUICE_AT_START absl::Span<const KernelRow> StringFormatKernels();
// ReduceJoin, UnsortedSegmentJoin.
SLUICE_AT_START absl::Span<const KernelRow> StringReduceKernels();
// StringNGrams.
SLUICE_AT_START absl::Span<const KernelRow> StringNGramsKernels();
// StringSplit, StringSplitV2.
SLUICE_AT_START absl::Span<const KernelRow> StringSplitKernels();
// StringToNumber.
SLUICE_AT_START absl::Span<const KernelRow> StringToNumberKernels();
// Substr.
SLUICE_AT_START absl::Span<const KernelRow> SubstrKernels();
// ScalarSummary, HistogramSummary, TensorSummary, TensorSummaryV2, MergeSummary.
SLUICE_AT_START absl::Span<const KernelRow> SummaryKernels();
// UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeScript, UnicodeTranscode.
SLUICE_AT_START absl::Span<const KernelRow> UnicodeKernels();

// Adds all of them.
SLUICE_AT_START void AddStringsKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_FAMILIES_H_
