#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/device/device.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/state/families.h"
#include "kernels/state/handles.h"
#include "kernels/step/session_state.h"

namespace sluice {
namespace {

absl::StatusOr<SessionState*> SessionOf(const KernelContext& context) {
  if (context.run().session_state != nullptr) return context.run().session_state;
  return Error(ErrorCode::kFacilityMissing).Text("the run belongs to no session that keeps tensors");
}

// The handle in input 0, a string.
absl::StatusOr<std::string> HandleText(const KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.num_elements() != 1) return ShapeError(0, "handle", input.shape(), "one handle");
  return std::string(input.flat<TString>()[0].view());
}

// Asks that its input be kept when the step has succeeded, under the handle that it gives.
class GetHandleKernel : public Kernel {
 public:
  explicit GetHandleKernel(std::string node) : node_(std::move(node)) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    return std::make_unique<GetHandleKernel>(std::string(construction.name()));
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(SessionState* const session, SessionOf(context));
    TensorStore* const store = context.run().tensor_store;
    if (store == nullptr) return Error(ErrorCode::kFacilityMissing).Text("the run keeps no tensors for its session");
    const Device* const device = context.run().device;
    const std::string device_name = device != nullptr ? device->name() : "";
    const std::string handle = absl::StrCat(node_, ";", session->NextId(), ";", device_name);
    SLUICE_RETURN_IF_ERROR(store->Add(node_, handle, context.TakeInput(0)));
    if (context.output_type(0) == DType::kString) {
      context.SetOutput(0, Tensor::String(handle));
      return absl::OkStatus();
    }
    ResourceHandleData data;
    data.device = device_name;
    data.container = "TensorHandle";
    data.name = handle;
    data.maybe_type_name = "Tensor";
    context.SetOutput(0, HandleTensor(std::move(data)));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::string node_;
};

absl::Status ComputeGetTensor(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(SessionState* const session, SessionOf(context));
  SLUICE_ASSIGN_OR_RETURN(const std::string handle, HandleText(context));
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, session->Get(handle));
  if (tensor.dtype() != context.output_type(0)) {
    return Error(ErrorCode::kTensorHandle)
        .Found(DTypeName(tensor.dtype()))
        .Expected(DTypeName(context.output_type(0)))
        .Text("the tensor under this handle has another dtype");
  }
  context.SetOutput(0, std::move(tensor));
  return absl::OkStatus();
}

absl::Status ComputeDeleteTensor(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(SessionState* const session, SessionOf(context));
  SLUICE_ASSIGN_OR_RETURN(const std::string handle, HandleText(context));
  return session->Delete(handle);
}

constexpr KernelRow kRows[] = {
    KernelRow("GetSessionHandle", &New<GetHandleKernel>),
    KernelRow("GetSessionHandleV2", &New<GetHandleKernel>),
    KernelRow("GetSessionTensor", &Call<ComputeGetTensor>).Cheap().Shared(Sharing::kEqualNodes),
    KernelRow("DeleteSessionTensor", &Call<ComputeDeleteTensor>).Cheap().Shared(Sharing::kEqualNodes),
};

}  // namespace

absl::Span<const KernelRow> SessionHandleKernels() { return kRows; }

}  // namespace sluice
