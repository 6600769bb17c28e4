#ifndef SLUICE_KERNELS_KERNEL_REGISTRY_H_
#define SLUICE_KERNELS_KERNEL_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/mutex.h"
#include "graph/ir/node_properties.h"
#include "graph/ir/op_class.h"
#include "graph/placement/kernel_catalog.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_row.h"
#include "kernels/owned_kernel_row.h"

namespace sluice {

// Which kernels there are: see Note [Kernel rows]. Tables are kept as spans and indexed when the first kernel is asked
// for. Thread-safe; rows that are added are seen by plans made afterwards.
class KernelRegistry : public KernelCatalog {
 public:
  KernelRegistry() = default;

  // `rows` live as long as the registry.
  void AddTable(absl::Span<const KernelRow> rows) ABSL_LOCKS_EXCLUDED(mu_);
  // A kernel of the host or of a plug-in; it goes before those of tables. kHostKernel when it and another such row are
  // for the same nodes.
  absl::Status Add(OwnedKernelRow row) ABSL_LOCKS_EXCLUDED(mu_);

  // kNoKernel naming op, types and device when there is none; or what the factory says, with node and op.
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const KernelConstruction& construction, DeviceKind device) const;
  // Whether equal nodes may share the kernel of this one: as far as its row and its op tell (see Sharing).
  bool MayBeShared(const NodeProperties& node, DeviceKind device) const;
  // All tables, without hosts' rows; for tests and lists of ops.
  std::vector<absl::Span<const KernelRow>> Tables() const ABSL_LOCKS_EXCLUDED(mu_);

  // KernelCatalog. Ops that the propagators carry out themselves (control flow, NoOp) count as everywhere.
  bool HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const override;
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override;
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override;

 private:
  // A row with its place among those of its op.
  struct Ranked {
    const KernelRow* row;
    bool is_of_host;
  };
  // All rows by op, and those of one op in the order in which they are considered.
  using Index = std::vector<Ranked>;

  // The row for this node, or null.
  const KernelRow* FindRow(const NodeProperties& node, DeviceKind device) const ABSL_LOCKS_EXCLUDED(mu_);
  // The same for a type of devices by name.
  const KernelRow* FindRow(const Graph& graph, NodeId id, absl::string_view device_type) const;
  const Index& MakeIndex() const ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::vector<absl::Span<const KernelRow>> tables_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<const OwnedKernelRow>> owned_ ABSL_GUARDED_BY(mu_);
  // Every index that was in use: threads may still look into an earlier one.
  mutable std::vector<std::unique_ptr<const Index>> indexes_ ABSL_GUARDED_BY(mu_);
  // Null after a row was added. Release and acquire: publishes the index.
  mutable std::atomic<const Index*> index_{nullptr};
};

// Whether ops of this class get no kernel from a KernelSet: the propagators carry NoOp and control flow out themselves,
// and the executor makes those of GradSum.
bool NeedsNoKernel(OpClass op_class);

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_REGISTRY_H_
