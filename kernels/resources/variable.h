#ifndef SLUICE_KERNELS_RESOURCES_VARIABLE_H_
#define SLUICE_KERNELS_RESOURCES_VARIABLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "graph/value/ref_cell.h"
#include "graph/value/resource_handle.h"

namespace sluice {

// A tensor that outlives steps: the value, its lock and what the node declared, as a RefCell.
// Owned by the resource manager (by the step container for temporary ones, by its handle for anonymous ones) together
// with the kernels that hold it. Thread-safe under the cell's lock.
class VariableResource : public Resource {
 public:
  RefCell& cell() { return cell_; }
  const RefCell& cell() const { return cell_; }
  DType dtype() const { return cell_.dtype(); }
  // "Var float32 [2,3]", with "not set" before the first assignment.
  std::string DebugString() const override;
  // Bytes of the value, which others may share.
  int64_t MemoryUsed() const override;

 protected:
  VariableResource(absl::string_view type_name, DType dtype, PartialShape shape)
      : Resource(type_name), cell_(dtype, std::move(shape)) {}

 private:
  RefCell cell_;  // Its own count stays 1: the resource is what is counted.
};

// What VarHandleOp's handles lead to.
class Variable final : public VariableResource {
 public:
  static constexpr absl::string_view kTypeName = "Var";
  explicit Variable(DType dtype, PartialShape shape = PartialShape())
      : VariableResource(kTypeName, dtype, std::move(shape)) {}
};

// What Variable, VariableV2 and TemporaryVariable give references to.
class RefVariable final : public VariableResource {
 public:
  static constexpr absl::string_view kTypeName = "LegacyVar";
  explicit RefVariable(DType dtype, PartialShape shape = PartialShape())
      : VariableResource(kTypeName, dtype, std::move(shape)) {}
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RESOURCES_VARIABLE_H_
