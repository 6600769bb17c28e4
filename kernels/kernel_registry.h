#ifndef SLUICE_KERNELS_KERNEL_REGISTRY_H_
#define SLUICE_KERNELS_KERNEL_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/mutex.h"
#include "graph/ir/node_properties.h"
#include "graph/ir/op_class.h"
#include "graph/placement/kernel_catalog.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_row.h"

namespace sluice {

using MakeKernel = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelConstruction& construction);

// One row of a kernel table: static, constant data.
struct KernelDef {
  absl::string_view op;
  MakeKernel make = nullptr;
  // Attrs that decide whether this row is for a node; those without a name hold for all.
  TypeConstraint types[3] = {};
  DeviceKind device = DeviceKind::kCpu;
  // Equal nodes (op, types, attrs) get one kernel object together. False for kernels that know their node.
  bool is_shared = true;
  // Bit i: input (output) i is in host memory, on devices that have another.
  uint32_t host_inputs = 0;
  uint32_t host_outputs = 0;
};

// A kernel factory of a host program.
using CustomKernel = absl::AnyInvocable<absl::StatusOr<std::unique_ptr<Kernel>>(const KernelConstruction&) const>;

// Which kernels there are. Tables are kept as spans and indexed when the first kernel is asked for.
// Thread-safe; rows that are added are seen by plans made afterwards.
class KernelRegistry : public KernelCatalog {
 public:
  KernelRegistry() = default;

  // `defs` live as long as the registry.
  void AddTable(absl::Span<const KernelDef> defs) ABSL_LOCKS_EXCLUDED(mu_);
  // A host's own kernel for all nodes of `op`; it goes before those of tables. kHostKernel when there is one already.
  absl::Status AddCustom(absl::string_view op, DeviceKind device, CustomKernel make) ABSL_LOCKS_EXCLUDED(mu_);

  // kNoKernel naming op, types and device when there is none; or what the factory says, with node and op.
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const KernelConstruction& construction, DeviceKind device) const;
  // Whether equal nodes may share the kernel of this one.
  bool IsShared(const NodeProperties& node, DeviceKind device) const;
  // All tables; for tests and lists of ops.
  std::vector<absl::Span<const KernelDef>> Tables() const ABSL_LOCKS_EXCLUDED(mu_);

  // KernelCatalog. Ops that the propagators carry out themselves (control flow, NoOp) count as everywhere.
  bool HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const override;
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override;
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override;

 private:
  struct Custom {
    DeviceKind device;
    CustomKernel make;
  };

  // The rows of all tables, by op.
  using Index = absl::flat_hash_map<absl::string_view, std::vector<const KernelDef*>>;

  // The first row that is for this node, or null.
  const KernelDef* FindRow(const NodeProperties& node, DeviceKind device) const ABSL_LOCKS_EXCLUDED(mu_);
  // The row that says how Create makes the kernel of this node; null also where a host's own kernel goes before.
  const KernelDef* FindRowInUse(const Graph& graph, NodeId id, absl::string_view device_type) const;
  const CustomKernel* FindCustom(absl::string_view op, DeviceKind device) const ABSL_LOCKS_EXCLUDED(mu_);
  const Index& MakeIndex() const ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::vector<absl::Span<const KernelDef>> tables_ ABSL_GUARDED_BY(mu_);
  // Every index that was in use: threads may still look into an earlier one.
  mutable std::vector<std::unique_ptr<const Index>> indexes_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::vector<std::unique_ptr<Custom>>> custom_ ABSL_GUARDED_BY(mu_);
  // Null after AddTable. Release and acquire: publishes the index.
  mutable std::atomic<const Index*> index_{nullptr};
  // Release and acquire, so that what was added before is found.
  std::atomic<bool> has_custom_{false};
};

// Whether ops of this class get no kernel from a KernelSet: the propagators carry NoOp and control flow out themselves,
// and the executor makes those of GradSum.
bool NeedsNoKernel(OpClass op_class);

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_REGISTRY_H_
