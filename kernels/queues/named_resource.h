#ifndef SLUICE_KERNELS_QUEUES_NAMED_RESOURCE_H_
#define SLUICE_KERNELS_QUEUES_NAMED_RESOURCE_H_

// Handles of resources that a node makes under a name: queues, barriers, accumulators.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "graph/value/ref_cell.h"
#include "graph/value/resource_handle.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/state/handles.h"
#include "kernels/state/step_resource.h"

namespace sluice {

// Container and name of the resource that a node makes, and its handle in the form of the node's output: a resource
// handle, or a reference to the two strings. Immutable; thread-safe.
class ResourceName {
 public:
  // The name, as in TensorFlow, of the resource of a node without a shared_name.
  enum class Unnamed {
    kOwn,       // A name that only this node has.
    kNodeName,  // The node's, which others may have as their shared_name.
  };
  // By attrs container and shared_name. kOpAttr for names that TensorFlow refuses. `type_name` lives for ever.
  static absl::StatusOr<ResourceName> Make(const KernelConstruction& construction, absl::string_view type_name,
                                           Unnamed unnamed = Unnamed::kOwn);

  // Sets output 0. REQUIRES: the node has an output for a handle.
  void SetHandle(KernelContext& context) const;
  // Finds the R of this name, or makes it (from `spec`, if R takes one).
  template <typename R, typename... Spec>
  absl::StatusOr<CountedPtr<R>> LookupOrCreate(const KernelContext& context, const Spec&... spec) const {
    SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
    return resources->LookupOrCreate<R>(
        container_, name_, [&spec...]() -> absl::StatusOr<CountedPtr<R>> { return MakeCounted<R>(spec...); });
  }

 private:
  ResourceName() = default;

  std::string container_, name_;
  Tensor handle_;              // For outputs of kResource.
  CountedPtr<RefCell> names_;  // For references.
};

// Makes the resource R of a node at its first use, and outputs its handle. R has a `spec()`, whose Make reads it from
// the node and whose CheckSame compares it with that of a node that has made the resource before.
template <typename R, typename Spec>
class NamedResourceKernel final : public Kernel {
 public:
  NamedResourceKernel(ResourceName name, Spec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(ResourceName name, ResourceName::Make(construction, R::kTypeName));
    SLUICE_ASSIGN_OR_RETURN(Spec spec, Spec::Make(construction));
    return std::make_unique<NamedResourceKernel>(std::move(name), std::move(spec));
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<R> resource, name_.LookupOrCreate<R>(context, spec_));
    SLUICE_RETURN_IF_ERROR(resource->spec().CheckSame(spec_));
    name_.SetHandle(context);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const ResourceName name_;
  const Spec spec_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_NAMED_RESOURCE_H_
