#ifndef SLUICE_KERNELS_QUEUES_STAGING_SPEC_H_
#define SLUICE_KERNELS_QUEUES_STAGING_SPEC_H_

// What staging areas and staging maps have in common.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"
#include "kernels/queues/named_resource.h"
#include "kernels/queues/queue_store.h"

namespace sluice {

// How much is held; 0: any amount. A value type.
struct StagingSpec {
  static absl::StatusOr<StagingSpec> Make(const KernelConstruction& construction);

  int64_t capacity = 0;      // Elements.
  int64_t memory_limit = 0;  // Bytes.

  // kOutOfMemory for more bytes than there is ever room for.
  absl::Status CheckFits(int64_t bytes) const;
  // Whether there is room in memory for `bytes` beside `held`.
  bool HasRoom(int64_t held, int64_t bytes) const { return memory_limit == 0 || held <= memory_limit - bytes; }
};

// Of all tensors.
int64_t BytesOf(const QueueElement& element);

// kOutputType unless tensor `number` of an element is of dtype `wanted`.
absl::Status CheckStagedType(const Tensor& tensor, size_t number, DType wanted);

// Inputs [first, end) of a call, in memory that may be kept.
absl::StatusOr<QueueElement> InputsToKeep(KernelContext& context, int first);

std::vector<DType> OutputTypes(const KernelContext& context, int first = 0);

// Which R a node means: all nodes of one shared_name mean one. Immutable.
template <typename R>
struct StagedOfNode {
  ResourceName name;
  StagingSpec spec;

  static absl::StatusOr<StagedOfNode> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(ResourceName name,
                            ResourceName::Make(construction, R::kTypeName, ResourceName::Unnamed::kNodeName));
    SLUICE_ASSIGN_OR_RETURN(const StagingSpec spec, StagingSpec::Make(construction));
    return StagedOfNode{std::move(name), spec};
  }
  absl::StatusOr<CountedPtr<R>> Find(const KernelContext& context) const {
    return name.template LookupOrCreate<R>(context, spec);
  }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_STAGING_SPEC_H_
