#include "executor/stream_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/device_kernel.h"
#include "executor/off_event_thread.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

absl::Status WrongMemory(const char* port, int i, bool is_host) {
  return Error(ErrorCode::kHostKernel)
      .Text(absl::StrCat(port, " ", i, " of a kernel on a device stands in the wrong memory"))
      .Found(is_host ? "device memory" : "host memory")
      .Expected(is_host ? "host memory" : "device memory");
}

// Whether `tensor` stands where it should. What has no elements stands nowhere.
bool IsInPlace(const Tensor& tensor, bool is_host) {
  return tensor.num_elements() == 0 || IsInDeviceMemory(tensor) != is_host;
}

// Inputs that another stream writes, held while a kernel launches and until its work is done, also when it throws.
class Foreign {
 public:
  explicit Foreign(Stream& stream) : stream_(stream) {}
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  ~Foreign() { stream_.Keep(std::move(tensors_)); }

  // Makes the stream wait for the writer of `tensor`.
  absl::Status Add(const Tensor& tensor) {
    Stream* const writer = stream_.device().WriterOf(tensor);
    if (writer == &stream_) return absl::OkStatus();
    if (writer == nullptr) return Error(ErrorCode::kInternal).Text("a value stands in another device's memory");
    tensors_.push_back(tensor);
    return stream_.After(*writer);
  }

 private:
  Stream& stream_;
  KeptTensors tensors_;
};

// See OnStream. Immutable; thread-safe.
class StreamKernel final : public Kernel {
 public:
  StreamKernel(std::shared_ptr<const Kernel> kernel, StreamDevice& device, HostPorts ports)
      : kernel_(std::move(kernel)),
        device_(device),
        ports_(std::move(ports)),
        is_all_on_host_(std::find(ports_.outputs.begin(), ports_.outputs.end(), false) == ports_.outputs.end()) {}

  absl::Status Compute(KernelContext& context) const override {
    Stream& stream = device_.stream(StreamDevice::Use::kCompute);
    RunContext run = RunOn(device_, context.run());
    if (!is_all_on_host_) run.allocator = &stream.memory();
    KernelContext moved = CallIn(run, context);
    Foreign foreign(stream);
    for (int i = 0; i < moved.num_inputs(); ++i) {
      if (!moved.has_input(i)) continue;
      const bool is_host = ports_.inputs[static_cast<size_t>(i)];
      const Tensor& input = moved.input(i);
      if (!IsInPlace(input, is_host)) return WrongMemory("input", i, is_host);
      if (!is_host && input.num_elements() > 0) SLUICE_RETURN_IF_ERROR(foreign.Add(input));
    }
    SLUICE_RETURN_IF_ERROR(kernel_->Compute(moved));
    for (int i = 0; i < moved.num_outputs(); ++i) {
      const Entry& output = moved.output_entry(i);
      const bool is_host = ports_.outputs[static_cast<size_t>(i)];
      if (output.has_value() && !IsInPlace(output.value(), is_host)) return WrongMemory("output", i, is_host);
    }
    return absl::OkStatus();
  }
  const Tensor* ConstantValue() const override { return kernel_->ConstantValue(); }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::shared_ptr<const Kernel> kernel_;
  StreamDevice& device_;
  const HostPorts ports_;
  const bool is_all_on_host_;
};

// See OffEventThread. Immutable; thread-safe.
class OffEventThreadKernel final : public AsyncKernel {
 public:
  explicit OffEventThreadKernel(std::shared_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    kernel_->AsAsync()->ComputeAsync(context, [done = std::move(done)](const absl::Status& status) mutable {
      CallOffEventThread([&] { done(status); });
    });
  }
  CostHint cost_hint() const override { return kernel_->cost_hint(); }

 private:
  const std::shared_ptr<const Kernel> kernel_;
};

}  // namespace

std::shared_ptr<const Kernel> OnStream(std::shared_ptr<const Kernel> kernel, StreamDevice& device, HostPorts ports) {
  if (kernel->AsAsync() != nullptr) return OnDevice(std::move(kernel), device);
  return std::make_shared<const StreamKernel>(std::move(kernel), device, std::move(ports));
}

std::shared_ptr<const Kernel> OffEventThread(std::shared_ptr<const Kernel> kernel) {
  return std::make_shared<const OffEventThreadKernel>(std::move(kernel));
}

}  // namespace sluice
