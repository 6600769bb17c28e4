#ifndef SLUICE_KERNELS_PROTO_FAMILIES_H_
#define SLUICE_KERNELS_PROTO_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// DecodeProtoV2.
SLUICE_AT_START absl::Span<const KernelRow> DecodeProtoKernels();
// EncodeProto.
SLUICE_AT_START absl::Span<const KernelRow> EncodeProtoKernels();

// Adds all of them.
SLUICE_AT_START void AddProtoKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PROTO_FAMILIES_H_
