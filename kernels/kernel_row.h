#ifndef SLUICE_KERNELS_KERNEL_ROW_H_
#define SLUICE_KERNELS_KERNEL_ROW_H_

// The rows of kernel tables.
//
// Note [Kernel rows]
// A row states which nodes a kernel is for, its facts for the rest of the program, and how it is made. Rows are
// constants in tables, one table a family, which a registry holds as spans:
//
//   constexpr KernelRow kRows[] = {
//       KernelRow("Size", &Call<ComputeSize>).Cheap(),
//       KernelRow("ConcatV2", &New<ConcatKernel>).Types("T", kNumberTypes).HostInput("axis").On(DeviceKind::kCuda),
//   };
//
// Kernels of host programs and of plug-ins are rows too, made at run time (owned_kernel_row.h).
//  1. A row is for the nodes of its op, on devices of its kind, whose attrs satisfy all of its constraints.
//  2. Of several such rows a host's go first, then those with the label that the node states (attr "_kernel"), then the
//     higher priority. Only one row may remain: a table test finds rows that overlap.
//  3. Arguments are named as in the op's schema; a list is one argument.
//  4. Equal nodes (op, types, attrs) share a kernel unless the op keeps state that is not behind a handle, or the
//     kernel depends on its own node (KernelConstruction::is_of_one_node). See Sharing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/cost_hint.h"
#include "kernels/device/device_kind.h"
#include "kernels/dtype_set.h"

namespace sluice {

class Kernel;
class KernelConstruction;

// Makes a kernel: a function and, for kernels added at run time, its data, which must outlive the row.
class KernelFactory {
 public:
  using Plain = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelConstruction& construction);
  using WithData = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelConstruction& construction,
                                                               const void* data);

  constexpr KernelFactory() = default;
  constexpr KernelFactory(Plain make) : plain_(make) {}  // NOLINT(google-explicit-constructor): as rows need it.
  constexpr KernelFactory(WithData make, const void* data) : with_data_(make), data_(data) {}

  // Thread-safe as far as the function is. REQUIRES: not default-constructed.
  absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) const;

 private:
  Plain plain_ = nullptr;
  WithData with_data_ = nullptr;
  const void* data_ = nullptr;
};

// An attr of kind type or list(type), and the dtypes for which there is a kernel; of a list: those of all elements.
struct TypeConstraint {
  absl::string_view attr;
  DTypeSet types = kAllTypes;
};

// Which nodes share a kernel object.
enum class Sharing : uint8_t {
  kBySchema,    // Equal nodes, if the op is not stateful or its state is behind a handle or reference among its inputs.
  kEqualNodes,  // Equal nodes: the op is stateful, but its kernels keep nothing.
  kNone,
};

namespace kernel_row_internal {

// Up to kFew values in place; more, or another owner's, as a span.
template <typename T, size_t kFew>
class RowList {
 public:
  constexpr RowList() = default;
  // Too many, or one more than those of another owner: not a constant expression; throws at run time.
  constexpr void Add(const T& value) { few_.at(elsewhere_ != nullptr ? kFew : count_++) = value; }
  constexpr void Refer(absl::Span<const T> all) {
    elsewhere_ = all.data();
    count_ = all.size();
  }
  constexpr absl::Span<const T> view() const { return {elsewhere_ != nullptr ? elsewhere_ : few_.data(), count_}; }

 private:
  std::array<T, kFew> few_{};
  const T* elsewhere_ = nullptr;
  size_t count_ = 0;
};

}  // namespace kernel_row_internal

// One row; see Note [Kernel rows]. A constant that borrows its texts and data. Setters return the row, so that they can
// be chained.
class KernelRow {
 public:
  constexpr KernelRow(absl::string_view op, KernelFactory factory) : op_(op), factory_(factory) {}

  // --- What it is for --------------------------------------------------------------------------------------------
  constexpr KernelRow& On(DeviceKind device) {
    device_ = device;
    return *this;
  }
  // One more constraint; at most two this way, and none after AllTypes.
  constexpr KernelRow& Types(absl::string_view attr, DTypeSet types) {
    types_.Add({attr, types});
    return *this;
  }
  // All constraints, any number. The span must outlive the row.
  constexpr KernelRow& AllTypes(absl::Span<const TypeConstraint> types) {
    types_.Refer(types);
    return *this;
  }
  constexpr KernelRow& Priority(int8_t priority) {
    priority_ = priority;
    return *this;
  }
  // For nodes that choose it by attr "_kernel".
  constexpr KernelRow& Label(absl::string_view label) {
    label_ = label;
    return *this;
  }

  // --- What is known of its kernels ------------------------------------------------------------------------------
  // The argument is in host memory, on devices that have another. At most two inputs and one output this way, and
  // none after HostInputs and HostOutputs.
  constexpr KernelRow& HostInput(absl::string_view name) {
    host_inputs_.Add(name);
    return *this;
  }
  constexpr KernelRow& HostOutput(absl::string_view name) {
    host_outputs_.Add(name);
    return *this;
  }
  // All such arguments, any number. The spans must outlive the row.
  constexpr KernelRow& HostInputs(absl::Span<const absl::string_view> names) {
    host_inputs_.Refer(names);
    return *this;
  }
  constexpr KernelRow& HostOutputs(absl::Span<const absl::string_view> names) {
    host_outputs_.Refer(names);
    return *this;
  }
  constexpr KernelRow& Cost(CostHint hint) {
    cost_ = hint;
    return *this;
  }
  constexpr KernelRow& Cheap() { return Cost(CostHint::kCheap); }
  constexpr KernelRow& Heavy() { return Cost(CostHint::kHeavy); }
  constexpr KernelRow& Shared(Sharing sharing) {
    sharing_ = sharing;
    return *this;
  }

  // --- For registries and lists of ops ---------------------------------------------------------------------------
  constexpr absl::string_view op() const { return op_; }
  constexpr const KernelFactory& factory() const { return factory_; }
  constexpr DeviceKind device() const { return device_; }
  constexpr absl::Span<const TypeConstraint> types() const { return types_.view(); }
  constexpr int8_t priority() const { return priority_; }
  constexpr absl::string_view label() const { return label_; }
  constexpr absl::Span<const absl::string_view> host_inputs() const { return host_inputs_.view(); }
  constexpr absl::Span<const absl::string_view> host_outputs() const { return host_outputs_.view(); }
  // For kernels that do not override Kernel::cost_hint.
  constexpr CostHint cost() const { return cost_; }
  constexpr Sharing sharing() const { return sharing_; }

  // The dtypes that the row allows for `attr`: all if it has no constraint.
  DTypeSet TypesOf(absl::string_view attr) const;

 private:
  absl::string_view op_;
  KernelFactory factory_;
  kernel_row_internal::RowList<TypeConstraint, 2> types_;
  kernel_row_internal::RowList<absl::string_view, 2> host_inputs_;
  kernel_row_internal::RowList<absl::string_view, 1> host_outputs_;
  absl::string_view label_;
  DeviceKind device_ = DeviceKind::kCpu;
  CostHint cost_ = CostHint::kByBytes;
  Sharing sharing_ = Sharing::kBySchema;
  int8_t priority_ = 0;
};

// Whether some node may match both rows equally: same op, device, label and priority, and no attr with disjoint dtypes.
bool Overlap(const KernelRow& a, const KernelRow& b);

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_ROW_H_
