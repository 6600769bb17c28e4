#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/value/tstring.h"
#include "kernels/control/constant_kernel.h"
#include "kernels/control/families.h"
#include "kernels/device/device.h"
#include "kernels/dispatch.h"
#include "kernels/forward_or_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/step/call_frame.h"

namespace sluice {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeConst(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(Tensor value, construction.Get<Tensor>("value"));
  if (value.dtype() != construction.output_type(0)) {
    return Error(ErrorCode::kTensorDType)
        .Attr("value")
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(construction.output_type(0)))
        .Text("differs from attr 'dtype'");
  }
  return std::make_unique<ConstantKernel>(std::move(value));
}

// Hands every input on: Identity, IdentityN, Snapshot, StopGradient, PreventGradient, ...
class IdentityKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    if (context.num_inputs() != context.num_outputs()) {
      return Error(ErrorCode::kOpAttr)
          .Found(absl::StrCat(context.num_inputs(), " inputs, ", context.num_outputs(), " outputs"))
          .Expected("as many outputs as inputs");
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (IsRef(context.output_type(i))) {
        RefCell* const cell = context.input_ref(i);
        if (cell == nullptr) {
          return Error(ErrorCode::kRefExpected).Input(i).Text("is not a reference to a variable");
        }
        context.SetRefOutput(i, cell);
      } else {
        context.SetOutput(i, context.TakeInput(i));
      }
    }
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// The value of the input now, whatever is written to its memory later.
class SnapshotKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override { return ForwardOrCopy(context, 0); }
};

// A value that must come from outside.
class PlaceholderKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext&) const override {
    return Error(ErrorCode::kFeedMissing).Text("must be fed with a value");
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// Fills in for the result of a branch that does not run: zeros of the stated shape, with unknown sizes as 0.
absl::StatusOr<std::unique_ptr<Kernel>> MakeFakeParam(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const PartialShape stated, construction.Get<PartialShape>("shape"));
  std::vector<int64_t> dims;
  for (int d = 0; d < stated.rank(); ++d) dims.push_back(std::max<int64_t>(stated.dim(d), 0));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  const DType type = construction.output_type(0);
  const int64_t most = LoadLimits().max_tensor_bytes / static_cast<int64_t>(std::max<size_t>(DTypeSize(type), 1));
  if (shape.num_elements() > most) {
    return Error(ErrorCode::kTensorTooLarge)
        .Found(shape.ToString())
        .Expected(absl::StrCat("at most ", most, " elements"));
  }
  const bool has_own = construction.device() != nullptr && construction.device()->AsStreamDevice() == nullptr;
  Allocator& memory = has_own ? construction.device()->allocator() : HostAllocator();
  SLUICE_ASSIGN_OR_RETURN(Tensor value, Tensor::MakeZeros(type, shape, memory));
  return std::make_unique<ConstantKernel>(std::move(value));
}

// Which of the listed kinds of devices this is: the number of kinds if it is not listed.
absl::StatusOr<std::unique_ptr<Kernel>> MakeDeviceIndex(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          construction.Get<std::vector<std::string>>("device_names"));
  const auto found = std::find(names.begin(), names.end(), "CPU");
  return std::make_unique<ConstantKernel>(Tensor::Scalar<int32_t>(static_cast<int32_t>(found - names.begin())));
}

// Seconds since 1970.
class TimestampKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    context.SetScalar(0, static_cast<double>(absl::GetCurrentTimeNanos() / 1000) * 1e-6);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

absl::Status NoCallFrame() {
  return Error(ErrorCode::kFacilityMissing).Text("the run has no call frame to take values from and leave results in");
}

absl::StatusOr<size_t> Index(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t index, construction.Get<int64_t>("index"));
  if (index < 0) return Error(ErrorCode::kAttrValue).Attr("index").Found(absl::StrCat(index)).Expected("0 or more");
  return static_cast<size_t>(index);
}

// An argument of the graph.
class ArgKernel : public Kernel {
 public:
  explicit ArgKernel(size_t index) : index_(index) {}
  absl::Status Compute(KernelContext& context) const override {
    CallFrame* const frame = context.run().call_frame;
    if (frame == nullptr) return NoCallFrame();
    if (index_ >= frame->num_args()) {  // Frames of hosts need not look.
      return Error(ErrorCode::kFeedMissing)
          .Text(absl::StrCat("argument ", index_, " is missing: the call gives ", frame->num_args()));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor value, frame->GetArg(index_));
    if (value.dtype() != context.output_type(0)) {
      return Error(ErrorCode::kFeedType)
          .Found(DTypeName(value.dtype()))
          .Expected(DTypeName(context.output_type(0)))
          .Text(absl::StrCat("argument ", index_, " has the wrong dtype"));
    }
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const size_t index_;
};

// A result of the graph.
class RetvalKernel : public Kernel {
 public:
  explicit RetvalKernel(size_t index) : index_(index) {}
  absl::Status Compute(KernelContext& context) const override {
    CallFrame* const frame = context.run().call_frame;
    if (frame == nullptr) return NoCallFrame();
    if (index_ >= frame->num_retvals()) {
      return Error(ErrorCode::kWrongUse)
          .Text(absl::StrCat("there is no place for result ", index_, ": the call takes ", frame->num_retvals()));
    }
    return frame->SetRetval(index_, context.TakeInput(0));
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const size_t index_;
};

// Whether conditionals and loops take the value for true: a number that is not 0, text that is not empty, a list with
// elements.
class ToBoolKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    bool is_true = input.num_elements() > 0;
    if (input.rank() == 0) {
      const bool is_known = DispatchDType<ScalarCppTypes>(input.dtype(), [&](auto type) {
        using T = typename decltype(type)::Type;
        if constexpr (std::is_same<T, TString>::value) {
          is_true = !input.flat<T>()[0].view().empty();
        } else {
          is_true = input.flat<T>()[0] != T(0);
        }
      });
      if (!is_known) {
        return ValueError(0, "", DTypeName(input.dtype()), "float32, float64, a signed integer, uint8, bool or string");
      }
    }
    context.SetScalar(0, is_true);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  using ScalarCppTypes = TypeList<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, bool, TString>;
};

constexpr KernelRow kRows[] = {
    KernelRow("Const", &MakeConst),
    KernelRow("HostConst", &MakeConst),
    KernelRow("Identity", &New<IdentityKernel>),
    KernelRow("RefIdentity", &New<IdentityKernel>),
    KernelRow("IdentityN", &New<IdentityKernel>),
    KernelRow("Snapshot", &New<SnapshotKernel>),
    KernelRow("StopGradient", &New<IdentityKernel>),
    KernelRow("PreventGradient", &New<IdentityKernel>),
    // Debuggers put these in; nothing is published here, whatever their attrs say.
    KernelRow("Copy", &New<SnapshotKernel>),
    KernelRow("CopyHost", &New<SnapshotKernel>),
    KernelRow("DebugIdentity", &New<IdentityKernel>),
    KernelRow("DeepCopy", &New<SnapshotKernel>).Shared(Sharing::kEqualNodes),
    KernelRow("DeviceIndex", &MakeDeviceIndex).Cheap().Shared(Sharing::kEqualNodes),
    KernelRow("FakeParam", &MakeFakeParam).Cheap(),
    KernelRow("Timestamp", &New<TimestampKernel>).Shared(Sharing::kEqualNodes),
    KernelRow("PlaceholderWithDefault", &New<IdentityKernel>),
    KernelRow("Placeholder", &New<PlaceholderKernel>),
    KernelRow("PlaceholderV2", &New<PlaceholderKernel>),
    KernelRow("ToBool", &New<ToBoolKernel>),
    KernelRow("_Arg", &NewWith<ArgKernel, Index>).Shared(Sharing::kEqualNodes),
    KernelRow("_DeviceArg", &NewWith<ArgKernel, Index>).Shared(Sharing::kEqualNodes),
    KernelRow("_Retval", &NewWith<RetvalKernel, Index>).Shared(Sharing::kEqualNodes),
    KernelRow("_DeviceRetval", &NewWith<RetvalKernel, Index>).Shared(Sharing::kEqualNodes),
};

}  // namespace

absl::Span<const KernelRow> BasicKernels() { return kRows; }

}  // namespace sluice
