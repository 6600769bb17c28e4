#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/resources/variable.h"
#include "kernels/state/cell_ops.h"
#include "kernels/state/families.h"
#include "kernels/state/handles.h"
#include "kernels/state/step_resource.h"

namespace sluice {
namespace {

// A variable of a container under its shared_name, or else the node's name. It is looked up in the first run and kept
// until the resources are cleared; the kernel holds it after that, too, for references that are still under way.
class VariableKernel : public Kernel {
 public:
  VariableKernel(std::string container, std::string name, DType dtype, PartialShape shape)
      : container_(std::move(container)), name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
    const Bound* bound = last_.load(std::memory_order_acquire);  // Acquire: sees what Bind wrote.
    if (bound == nullptr || bound->generation != resources->generation()) {
      SLUICE_ASSIGN_OR_RETURN(bound, Bind(*resources, context.allocator()));
    }
    context.SetRefOutput(0, &bound->variable->cell());
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  // The variable in one resource manager, between two calls of Clear. Never changed.
  struct Bound {
    const ResourceManager* manager;  // The manager that the value is of; only compared.
    uint64_t generation;
    CountedPtr<RefVariable> variable;
  };

  // Without a value, unless it has no elements: then there is nothing to wait for.
  absl::StatusOr<CountedPtr<RefVariable>> MakeNew(Allocator& allocator) const {
    CountedPtr<RefVariable> variable = MakeCounted<RefVariable>(dtype_, shape_);
    if (shape_.IsFullyDefined() && shape_.ToShape().num_elements() == 0) {
      SLUICE_ASSIGN_OR_RETURN(Tensor empty, Tensor::Make(dtype_, shape_.ToShape(), allocator));
      SLUICE_RETURN_IF_ERROR(
          StoreValue(variable->cell(), std::move(empty), /*same_shape=*/false, allocator, VariableReadMode::kAlias));
    }
    return variable;
  }

  // Frees the values that `resources` has cleared: those of all variables but `current`. The variables stay, without a
  // value: a step that began before the Clear may hold references to them.
  void DropCleared(const ResourceManager& resources, const RefVariable* current) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (const auto& bound : bound_) {
      if (bound->manager != &resources || bound->variable.get() == current) continue;
      Tensor value;  // Freed outside of the cell's lock.
      RefCell& cell = bound->variable->cell();
      MutexLock lock(&cell.mu);
      std::swap(cell.tensor, value);
    }
  }

  absl::StatusOr<const Bound*> Bind(ResourceManager& resources, Allocator& allocator) const ABSL_LOCKS_EXCLUDED(mu_) {
    const uint64_t generation = resources.generation();  // Before the look-up: a Clear in between ends this Bound.
    MutexLock lock(&mu_);
    const Bound* found = nullptr;
    for (const auto& bound : bound_) {
      if (bound->generation == generation) found = bound.get();
    }
    if (found == nullptr) {
      SLUICE_ASSIGN_OR_RETURN(CountedPtr<RefVariable> variable,
                              resources.LookupOrCreate<RefVariable>(
                                  container_, name_, [this, &allocator]() { return MakeNew(allocator); }));
      if (variable->dtype() != dtype_) {
        return Error(ErrorCode::kResourceType)
            .Found(variable->DebugString())
            .Expected(DTypeName(dtype_))
            .Text("another node makes a variable of this name with another dtype");
      }
      DropCleared(resources, variable.get());
      bound_.push_back(std::make_unique<const Bound>(Bound{&resources, generation, std::move(variable)}));
      found = bound_.back().get();
    }
    last_.store(found, std::memory_order_release);  // Release: publishes the Bound.
    return found;
  }

  // Immutable after construction.
  const std::string container_, name_;
  const DType dtype_;
  const PartialShape shape_;
  // One for each device that the kernel's plan ran with: nearly always one.
  mutable Mutex mu_;
  mutable std::vector<std::unique_ptr<const Bound>> bound_ ABSL_GUARDED_BY(mu_);
  mutable std::atomic<const Bound*> last_{nullptr};
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeVariable(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(std::string container, construction.Get<std::string>("container"));
  SLUICE_ASSIGN_OR_RETURN(std::string name, construction.Get<std::string>("shared_name"));
  SLUICE_ASSIGN_OR_RETURN(const DType dtype, construction.Get<DType>("dtype"));
  SLUICE_ASSIGN_OR_RETURN(PartialShape shape, construction.Get<PartialShape>("shape"));
  if (name.empty()) name = std::string(construction.name());
  return std::make_unique<VariableKernel>(std::move(container), std::move(name), dtype, std::move(shape));
}

// Temporary variables of the step, and those that are gone but that references may still lead to.
constexpr absl::string_view kTemporary = "temporary_variables";
constexpr absl::string_view kEnded = "ended_temporary_variables";

// The name of a temporary variable: its own in each iteration of a loop.
std::string TemporaryName(const KernelContext& context, absl::string_view name) {
  return absl::StrCat(name, "/", context.frame_id(), ":", context.iteration());
}

// A variable that lives until DestroyTemporaryVariable, at most as long as the step. Zeros at first.
class TemporaryVariableKernel : public Kernel {
 public:
  TemporaryVariableKernel(std::string name, DType dtype, PartialShape shape)
      : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(StepContainer* const step, StepOf(context));
    const CountedPtr<RefVariable> variable = MakeCounted<RefVariable>(dtype_, shape_);
    SLUICE_ASSIGN_OR_RETURN(Tensor zeros, Tensor::MakeZeros(dtype_, shape_.ToShape(), context.allocator()));
    SLUICE_RETURN_IF_ERROR(StoreValue(variable->cell(), std::move(zeros), /*same_shape=*/false, context.allocator(),
                                      VariableReadMode::kAlias));
    SLUICE_RETURN_IF_ERROR(step->resources().Create(kTemporary, TemporaryName(context, name_), variable));
    context.SetRefOutput(0, &variable->cell());
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTemporaryVariable(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(std::string name, construction.Get<std::string>("var_name"));
  SLUICE_ASSIGN_OR_RETURN(const DType dtype, construction.Get<DType>("dtype"));
  SLUICE_ASSIGN_OR_RETURN(PartialShape shape, construction.Get<PartialShape>("shape"));
  if (!shape.IsFullyDefined()) return AttrError("shape", shape.ToString(), "a fully known shape");
  if (name.empty()) name = std::string(construction.name());
  return std::make_unique<TemporaryVariableKernel>(std::move(name), dtype, std::move(shape));
}

// Gives the last value of a temporary variable and takes the variable away.
class DestroyTemporaryVariableKernel : public Kernel {
 public:
  explicit DestroyTemporaryVariableKernel(std::string name) : name_(std::move(name)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(StepContainer* const step, StepOf(context));
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
    const std::string name = TemporaryName(context, name_);
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<RefVariable> variable,
                            step->resources().Lookup<RefVariable>(kTemporary, name));
    SLUICE_RETURN_IF_ERROR(step->resources().Delete(kTemporary, RefVariable::kTypeName, name));
    SLUICE_RETURN_IF_ERROR(step->resources().Create(kEnded, absl::StrCat(step->NextNumber()), variable));
    Tensor value;
    {
      MutexLock lock(&cell->mu);
      // Another variable, which the input may refer to as well, keeps its value.
      value = cell == &variable->cell() ? std::exchange(cell->tensor, Tensor()) : cell->tensor;
    }
    if (!value.has_value()) return NotInitialized();
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::string name_;
};

// The variable takes the value over.
class AssignKernel : public Kernel {
 public:
  explicit AssignKernel(bool same_shape) : same_shape_(same_shape) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
    SLUICE_RETURN_IF_ERROR(
        StoreValue(*cell, context.TakeInput(1), same_shape_, context.allocator(), VariableReadMode::kAlias));
    context.SetRefOutput(0, cell);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const bool same_shape_;
};

// AssignAdd and AssignSub.
template <DenseUpdate kUpdate>
class UpdateKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
    SLUICE_RETURN_IF_ERROR(
        UpdateDense(*cell, kUpdate, context.TakeInput(1), context.allocator(), VariableReadMode::kAlias));
    context.SetRefOutput(0, cell);
    return absl::OkStatus();
  }
};

// Whether anything was assigned yet.
class IsInitializedKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
    context.SetScalar(0, cell->Read().has_value());
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// Gives the value and counts it up, until the limit.
class CountUpToKernel : public Kernel {
 public:
  explicit CountUpToKernel(int64_t limit) : limit_(limit) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
    SLUICE_ASSIGN_OR_RETURN(Tensor before, CountUp(*cell, limit_, VariableReadMode::kAlias));
    context.SetOutput(0, std::move(before));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const int64_t limit_;
};

// Hands on the reference that its first input chooses.
class RefSelectKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& choice = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "index"));
    const int32_t index = choice.flat<int32_t>()[0];
    const int count = context.num_inputs() - 1;
    if (index < 0 || index >= count) return ValueError(0, "index", index, absl::StrCat("0 to ", count - 1));
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, index + 1));
    context.SetRefOutput(0, cell);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

constexpr KernelRow kRows[] = {
    KernelRow("Variable", &MakeVariable),
    KernelRow("VariableV2", &MakeVariable),
    KernelRow("TemporaryVariable", &MakeTemporaryVariable),
    KernelRow("DestroyTemporaryVariable", FromAttr<DestroyTemporaryVariableKernel, std::string>("var_name")),
    KernelRow("Assign", FromAttr<AssignKernel, bool>("validate_shape")),
    KernelRow("AssignAdd", &New<UpdateKernel<DenseUpdate::kAdd>>).Types("T", kNumberTypes),
    KernelRow("AssignSub", &New<UpdateKernel<DenseUpdate::kSubtract>>).Types("T", kNumberTypes),
    KernelRow("IsVariableInitialized", &New<IsInitializedKernel>),
    KernelRow("CountUpTo", FromAttr<CountUpToKernel, int64_t>("limit")).Types("T", kIndexTypes),
    KernelRow("RefSelect", &New<RefSelectKernel>),
};

}  // namespace

absl::Span<const KernelRow> RefVariableKernels() { return kRows; }

}  // namespace sluice
