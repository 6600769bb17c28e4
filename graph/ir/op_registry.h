#ifndef SLUICE_GRAPH_IR_OP_REGISTRY_H_
#define SLUICE_GRAPH_IR_OP_REGISTRY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/mutex.h"
#include "graph/ir/op_schema.h"

namespace sluice {

// Where a registry finds ops that were not added to it: the table of graph/ops, or a test's.
// Thread-safety: const methods from any thread.
class OpTable {
 public:
  virtual ~OpTable() = default;

  // The schema of `name`; NOT_FOUND (any text) when the table has no such op.
  virtual absl::StatusOr<OpSchema> Find(absl::string_view name) const = 0;
  // Calls `fn` with each name, in ascending order. The views live as long as the table.
  virtual void ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const = 0;
};

// The ops that exist: those of a table (parsed when first asked for, then kept), those of a base registry, and those
// that the host program adds.
//
//   auto ops = NewOpRegistry();  // graph/ops/op_table.h: all of TensorFlow's
//   SLUICE_RETURN_IF_ERROR(ops->Add(*OpSchemaBuilder("Twice").Input("x: T").Output("y: T").Attr("T: type").Build()));
//
// Schemas never change nor move: pointers stay valid as long as the registry (or the base, for its ops).
// Ownership: borrows table and base, which must outlive it.
// Thread-safe.
class OpRegistry {
 public:
  OpRegistry() = default;
  explicit OpRegistry(const OpTable* table) : table_(table) {}
  explicit OpRegistry(const OpRegistry* base) : base_(base) {}
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  // Null when there is no such op.
  const OpSchema* Find(absl::string_view name) const;

  // Adds an op. kOpSchema when it is unsound or when the name is taken.
  absl::Status Add(OpSchema schema);

  // Up to `max` names that look like `name`, the likeliest first; empty when none is near.
  std::vector<std::string> Nearest(absl::string_view name, size_t max) const;

  // Calls `fn` with the name of every op once, in ascending order. `fn` must not call Add.
  void ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const;

 private:
  const OpSchema* FindKept(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mu_);
  // Keeps `schema`, or gives the one kept first under its name.
  const OpSchema* Keep(OpSchema schema) const ABSL_LOCKS_EXCLUDED(mu_);

  const OpTable* table_ = nullptr;
  const OpRegistry* base_ = nullptr;
  mutable Mutex mu_;
  // Keys view the schemas' own names. Not Abseil's table, which breaks when there is no memory to grow.
  mutable std::map<absl::string_view, std::unique_ptr<const OpSchema>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_OP_REGISTRY_H_
