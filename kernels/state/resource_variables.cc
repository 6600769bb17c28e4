#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/device/device.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/resources/variable.h"
#include "kernels/state/cell_ops.h"
#include "kernels/state/families.h"
#include "kernels/state/handles.h"
#include "kernels/state/variable_input.h"

namespace sluice {
namespace {

// The shared_name that asks for a new variable in each run, which lives as long as its handle.
constexpr absl::string_view kAnonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

ResourceHandleData HandleData(const KernelConstruction& construction, std::string container, std::string name,
                              DType dtype, PartialShape shape) {
  ResourceHandleData data;
  if (construction.device() != nullptr) data.device = construction.device()->name();
  data.container = container.empty() ? std::string(kDefaultContainer) : std::move(container);
  data.name = name.empty() ? std::string(construction.name()) : std::move(name);
  data.maybe_type_name = std::string(Variable::kTypeName);
  data.dtypes_and_shapes.push_back({dtype, std::move(shape)});
  return data;
}

// A handle that is the same in every run. The variable behind it comes with the first assignment.
class VarHandleKernel : public Kernel {
 public:
  explicit VarHandleKernel(Tensor handle) : handle_(std::move(handle)) {}
  absl::Status Compute(KernelContext& context) const override {
    context.SetOutput(0, handle_);
    return absl::OkStatus();
  }
  const Tensor* ConstantValue() const override { return &handle_; }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const Tensor handle_;
};

// A new variable, held by its handle alone.
class AnonymousVarHandleKernel : public Kernel {
 public:
  explicit AnonymousVarHandleKernel(ResourceHandleData data) : data_(std::move(data)) {}
  absl::Status Compute(KernelContext& context) const override {
    ResourceHandleData data = data_;
    const ResourceHandleData::Element& element = data.dtypes_and_shapes.front();
    data.resource = MakeCounted<Variable>(element.dtype, element.shape);
    context.SetOutput(0, HandleTensor(std::move(data)));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const ResourceHandleData data_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeVarHandle(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(std::string container, construction.Get<std::string>("container"));
  SLUICE_ASSIGN_OR_RETURN(std::string name, construction.Get<std::string>("shared_name"));
  SLUICE_ASSIGN_OR_RETURN(const DType dtype, construction.Get<DType>("dtype"));
  SLUICE_ASSIGN_OR_RETURN(PartialShape shape, construction.Get<PartialShape>("shape"));
  const bool is_anonymous = name == kAnonymous;
  ResourceHandleData data = HandleData(construction, std::move(container), std::move(name), dtype, std::move(shape));
  if (is_anonymous) return std::make_unique<AnonymousVarHandleKernel>(std::move(data));
  return std::make_unique<VarHandleKernel>(HandleTensor(std::move(data)));
}

// The error of reads of a variable that does not exist: FAILED_PRECONDITION, whatever the reason, as TensorFlow does.
absl::Status CannotRead(const KernelContext& context, int i, const absl::Status& why) {
  const absl::StatusOr<const ResourceHandle*> handle = InputHandle(context, i);
  if (!handle.ok()) return handle.status();
  // In the text, which is never shortened: the name is what a reader needs.
  const std::string name = absl::StrCat("'", PrintableName((*handle)->data().name), "'");
  return Error(ErrorCode::kUninitialized)
      .Input(i)
      .Text(why.code() == absl::StatusCode::kNotFound
                ? absl::StrCat("is the handle of variable ", name, ", which has no value yet")
                : absl::StrCat("is a handle of ", name, " that does not lead to a variable"));
}

absl::StatusOr<Tensor> ReadInput(const KernelContext& context, int i, DType dtype) {
  const absl::StatusOr<CountedPtr<Variable>> variable = LookupInput<Variable>(context, i);
  if (!variable.ok()) return CannotRead(context, i, variable.status());
  if ((*variable)->dtype() != dtype) {
    return Error(ErrorCode::kResourceType)
        .Input(i)
        .Found((*variable)->DebugString())
        .Expected(absl::StrCat("a variable of ", DTypeName(dtype)));
  }
  Tensor value = (*variable)->cell().Read();
  if (!value.has_value()) return CannotRead(context, i, absl::NotFoundError(""));
  return value;
}

// ReadVariableOp and _ReadVariablesOp: the values, sharing the variables' buffers.
class ReadVariablesKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    for (int i = 0; i < context.num_outputs(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(Tensor value, ReadInput(context, i, context.output_type(i)));
      context.SetOutput(i, std::move(value));
    }
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// N says how many handles there are and dtypes how many values: two attrs that need not agree.
absl::StatusOr<std::unique_ptr<Kernel>> MakeReadVariables(const KernelConstruction& construction) {
  if (construction.num_inputs() != construction.num_outputs()) {
    return AttrError("dtypes",
                     absl::StrCat(construction.num_outputs(), " types for ", construction.num_inputs(), " variables"),
                     "one type per variable");
  }
  return std::make_unique<ReadVariablesKernel>();
}

// Gives the variable behind the handle a value; makes the variable if it is not there.
class AssignVariableKernel : public Kernel {
 public:
  explicit AssignVariableKernel(bool same_shape) : same_shape_(same_shape) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, FindOrMake(context));
    return StoreValue(variable->cell(), context.TakeInput(1), same_shape_, context.allocator(),
                      VariableReadMode::kSnapshot);
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static absl::StatusOr<CountedPtr<Variable>> FindOrMake(const KernelContext& context) {
    SLUICE_ASSIGN_OR_RETURN(const ResourceHandle* const handle, InputHandle(context, 0));
    if (Variable* const held = handle->Get<Variable>()) return CountedPtr<Variable>::Share(held);
    SLUICE_RETURN_IF_ERROR(CheckHandleKind(*handle, Variable::kTypeName));
    SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
    const DType dtype = context.input_type(1);
    return resources->LookupOrCreate<Variable>(
        handle->data().container, handle->data().name,
        [dtype]() -> absl::StatusOr<CountedPtr<Variable>> { return MakeCounted<Variable>(dtype); });
  }

  const bool same_shape_;
};

// AssignAddVariableOp and AssignSubVariableOp.
template <DenseUpdate kUpdate>
class UpdateVariableKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupVariable(context, context.input_type(1)));
    return UpdateDense(variable->cell(), kUpdate, context.TakeInput(1), context.allocator(),
                       VariableReadMode::kSnapshot);
  }
};

// Whether the handle leads to a variable with a value.
class VarIsInitializedKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const absl::StatusOr<CountedPtr<Variable>> variable = LookupInput<Variable>(context, 0);
    context.SetScalar(0, variable.ok() && (*variable)->cell().Read().has_value());
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// Whether updates of single rows copy the variable first. Ours never do: this looks whether there is a variable.
absl::Status DisableCopyOnRead(KernelContext& context) {
  return LookupInput<Variable>(context, 0).ok() ? absl::OkStatus() : NotInitialized();
}

// The shape that the value has now.
class VariableShapeKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupInput<Variable>(context, 0));
    const Tensor value = variable->cell().Read();
    if (!value.has_value()) return NotInitialized();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({value.rank()})));
    for (int axis = 0; axis < value.rank(); ++axis) {
      const int64_t size = value.dim(axis);
      if (out->dtype() == DType::kInt32 && size > std::numeric_limits<int32_t>::max()) {
        return ValueError(value.shape().ToString(), "sizes that fit int32");
      }
      SetIndexAt(*out, axis, size);
    }
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// Gives the value and counts it up, until the limit.
class ResourceCountUpToKernel : public Kernel {
 public:
  explicit ResourceCountUpToKernel(int64_t limit) : limit_(limit) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupVariable(context, context.output_type(0)));
    SLUICE_ASSIGN_OR_RETURN(Tensor before, CountUp(variable->cell(), limit_, VariableReadMode::kSnapshot));
    context.SetOutput(0, std::move(before));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const int64_t limit_;
};

// Takes a resource of any kind out of its container. One that its handle holds goes with the handle.
class DestroyResourceKernel : public Kernel {
 public:
  explicit DestroyResourceKernel(bool may_be_missing) : may_be_missing_(may_be_missing) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ResourceHandle* const handle, InputHandle(context, 0));
    const ResourceHandleData& data = handle->data();
    if (data.resource) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
    const absl::Status deleted = resources->Delete(data.container, data.maybe_type_name, data.name);
    return may_be_missing_ && absl::IsNotFound(deleted) ? absl::OkStatus() : deleted;
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const bool may_be_missing_;
};

constexpr KernelRow kRows[] = {
    KernelRow("VarHandleOp", &MakeVarHandle),
    KernelRow("ReadVariableOp", &MakeReadVariables),
    KernelRow("_ReadVariablesOp", &MakeReadVariables),
    KernelRow("AssignVariableOp", FromAttr<AssignVariableKernel, bool>("validate_shape")),
    KernelRow("AssignAddVariableOp", &New<UpdateVariableKernel<DenseUpdate::kAdd>>).Types("dtype", kNumberTypes),
    KernelRow("AssignSubVariableOp", &New<UpdateVariableKernel<DenseUpdate::kSubtract>>).Types("dtype", kNumberTypes),
    KernelRow("VarIsInitializedOp", &New<VarIsInitializedKernel>),
    KernelRow("VariableShape", &New<VariableShapeKernel>),
    KernelRow("ResourceCountUpTo", FromAttr<ResourceCountUpToKernel, int64_t>("limit")).Types("T", kIndexTypes),
    KernelRow("DisableCopyOnRead", &Call<DisableCopyOnRead>).Cheap(),
    KernelRow("DestroyResourceOp", FromAttr<DestroyResourceKernel, bool>("ignore_lookup_error")),
};

}  // namespace

absl::Span<const KernelRow> ResourceVariableKernels() { return kRows; }

}  // namespace sluice
