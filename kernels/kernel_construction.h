#ifndef SLUICE_KERNELS_KERNEL_CONSTRUCTION_H_
#define SLUICE_KERNELS_KERNEL_CONSTRUCTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/status_macros.h"
#include "graph/ir/node_properties.h"
#include "graph/value/tensor.h"
#include "kernels/function_finder.h"

namespace sluice {

class Device;
class EdgeTable;

// The inputs (outputs) that one argument of the op stands for: [first, first + count).
struct ArgRange {
  int first = 0;
  int count = 0;
};

// What a kernel is made from: the properties of a node, which need not be in a graph, and the device. Lives, as perhaps
// the node, during the construction only: kernels with state are kept for later plans of the session, so a kernel
// copies what it needs. Not thread-safe.
class KernelConstruction {
 public:
  // `device`, `edges` and `functions` may be null, for kernels that are only inspected.
  explicit KernelConstruction(const NodeProperties& node, Device* device = nullptr, EdgeTable* edges = nullptr,
                              FunctionFinder* functions = nullptr)
      : node_(node), device_(device), edges_(edges), functions_(functions) {}
  KernelConstruction(const KernelConstruction&) = delete;
  KernelConstruction& operator=(const KernelConstruction&) = delete;

  absl::string_view op() const { return node_.op().name; }
  Device* device() const { return device_; }
  EdgeTable* edges() const { return edges_; }

  // --- Arguments -------------------------------------------------------------------------------------------------
  // References as RefType.
  int num_inputs() const { return static_cast<int>(node_.signature().inputs.size()); }
  int num_outputs() const { return static_cast<int>(node_.signature().outputs.size()); }
  // kInvalid if there is no such input or output: lists may be empty.
  DType input_type(int i) const { return i < num_inputs() ? node_.signature().inputs[Index(i)] : DType::kInvalid; }
  DType output_type(int i) const { return i < num_outputs() ? node_.signature().outputs[Index(i)] : DType::kInvalid; }
  // The argument called `name` in the op's schema. kHostKernel when there is none.
  absl::StatusOr<ArgRange> InputRange(absl::string_view name) const;
  absl::StatusOr<ArgRange> OutputRange(absl::string_view name) const;

  // --- Attrs -----------------------------------------------------------------------------------------------------
  // The node's value, else the op's default; errors name node, op and attr, kAttrMissing when there is neither.
  // T: int64_t, float, bool, std::string, DType, PartialShape, Tensor, FunctionAttr, or a std::vector of these.
  // Large tensors share the memory of the imported file if their bytes are aligned there. Attrs whose names begin with
  // '_' are not the op's: a kernel that reads one is not shared with equal nodes, which may have another value.
  template <typename T>
  absl::StatusOr<T> Get(absl::string_view name) const;
  // `missing` when there is neither.
  template <typename T>
  absl::StatusOr<T> GetOr(absl::string_view name, T missing) const {
    return HasAttr(name) ? Get<T>(name) : absl::StatusOr<T>(std::move(missing));
  }
  bool HasAttr(absl::string_view name) const;

  // --- Functions -------------------------------------------------------------------------------------------------
  // Returns the function that the attr names, which the kernel may call as long as it lives: see Note [Functions of
  // kernels] in function_finder.h. kFacilityMissing without a FunctionFinder.
  absl::StatusOr<std::shared_ptr<const CallableFunction>> Function(absl::string_view attr) const;
  // The same for functions whose names the kernel has from elsewhere.
  absl::StatusOr<std::shared_ptr<const CallableFunction>> FindFunction(const FunctionAttr& function) const;

  // --- What only this node knows ---------------------------------------------------------------------------------
  // A kernel that calls this is not shared with equal nodes.
  const NodeProperties& node() const {
    is_of_one_node_ = true;
    return node_;
  }
  // In an inlined function whose calls share their state, the name that the node has in the function (Note [State of
  // calls] in graph/functions/call_states.h).
  absl::string_view name() const;
  // Whether input `i` is constant: a hint, see NodeProperties.
  bool InputIsConstant(int i) const {
    is_of_one_node_ = true;
    return node_.InputIsConstant(i);
  }
  // Whether the kernel has called node() or the like.
  bool is_of_one_node() const { return is_of_one_node_; }

 private:
  friend class KernelRegistry;  // Reads the node to choose a row without making the kernel its own.

  static size_t Index(int i) { return static_cast<size_t>(i); }
  bool FindAttr(absl::string_view name, AttrView* value) const;
  absl::StatusOr<AttrView> Find(absl::string_view name) const;

  const NodeProperties& node_;
  Device* const device_;
  EdgeTable* const edges_;
  FunctionFinder* const functions_;
  mutable bool is_of_one_node_ = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_CONSTRUCTION_H_
