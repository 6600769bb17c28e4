#ifndef SLUICE_KERNELS_KERNEL_REGISTRY_H_
#define SLUICE_KERNELS_KERNEL_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
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

// The row that a node's kernel is made from.
struct KernelChoice {
  const KernelRow* row = nullptr;  // Null: none. Lives as long as the registry.
  bool is_of_host = false;         // Added by KernelRegistry::Add, not from a table.
};

// The known kernels: see Note [Kernel rows]. Tables are kept as spans and indexed on first use. Thread-safe; plans see
// rows that were added before them.
class KernelRegistry : public KernelCatalog {
 public:
  KernelRegistry() = default;

  // `rows` live as long as the registry.
  void AddTable(absl::Span<const KernelRow> rows) ABSL_LOCKS_EXCLUDED(mu_);
  // Adds a kernel of the host or of a plug-in, which precedes those of tables. kHostKernel if it and another such row
  // are for the same nodes.
  absl::Status Add(OwnedKernelRow row) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the error of adding `rows` one after another. Adds nothing.
  absl::Status CheckAdd(absl::Span<const OwnedKernelRow> rows) const ABSL_LOCKS_EXCLUDED(mu_);

  // The row for this node.
  KernelChoice Choose(const NodeProperties& node, DeviceKind device) const ABSL_LOCKS_EXCLUDED(mu_);
  // kNoKernel, naming op, types and device, if there is none; else the factory's error, with node and op.
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const KernelConstruction& construction, DeviceKind device) const;
  // The same with the result of Choose.
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const KernelConstruction& construction, DeviceKind device,
                                                 const KernelChoice& choice) const;
  // Whether equal nodes of `op` may share a kernel, judging by row and op (see Sharing).
  static bool MayBeShared(const OpSchema& op, const KernelChoice& choice);
  // Whether there is a row for some nodes of `op`.
  bool HasRows(absl::string_view op) const ABSL_LOCKS_EXCLUDED(mu_);
  // All tables, without hosts' rows; for tests and lists of ops.
  std::vector<absl::Span<const KernelRow>> Tables() const ABSL_LOCKS_EXCLUDED(mu_);
  // The rows that were added for `op`, in the order in which they are considered. They live as long as the registry.
  std::vector<const OwnedKernelRow*> HostRowsOf(absl::string_view op) const ABSL_LOCKS_EXCLUDED(mu_);

  // Grows with each added table and row, which may change the results of Choose.
  int64_t version() const ABSL_LOCKS_EXCLUDED(mu_);

  // KernelCatalog. True for ops that the propagators carry out themselves (control flow, NoOp).
  bool HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const override;
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override;
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override;

 private:
  // The rows of tables by op, and those of one op in the order in which they are considered.
  using Index = std::vector<const KernelRow*>;
  using HostRows = std::vector<std::unique_ptr<const OwnedKernelRow>>;

  // The row for a type of devices by name, or null.
  const KernelRow* FindRow(const Graph& graph, NodeId id, absl::string_view device_type) const;
  // kHostKernel when a row that was added is for nodes that `row` is for.
  absl::Status CheckOverlap(const OwnedKernelRow& row) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const Index& GetIndex() const ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::vector<absl::Span<const KernelRow>> tables_ ABSL_GUARDED_BY(mu_);
  // Added rows, by op, each op's in the order in which they are considered. Never removed. Not in the index: a host may
  // add many, one between any two plans.
  std::map<std::string, HostRows, std::less<>> host_rows_ ABSL_GUARDED_BY(mu_);
  // Spares registries without such rows the lock. Release and acquire: a thread that sees it finds the row.
  std::atomic<bool> has_host_rows_{false};
  // Every index so far: threads may still read an earlier one.
  mutable std::vector<std::unique_ptr<const Index>> indexes_ ABSL_GUARDED_BY(mu_);
  // Null after a table was added. Release and acquire: publishes the index.
  mutable std::atomic<const Index*> index_{nullptr};
};

// Whether ops of this class get no kernel from a KernelSet: the propagators carry out NoOp and control flow, and the
// executor makes those of GradSum.
bool NeedsNoKernel(OpClass op_class);

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_REGISTRY_H_
