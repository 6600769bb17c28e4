#include "executor/plan/stream_kernel.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/plan/device_kernel.h"
#include "executor/threads/off_event_thread.h"
#include "graph/base/as_status.h"
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

// Whether `tensor` stands where it should. A tensor without elements has no memory.
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

// Where the values of a node stand, and on which device. Immutable; thread-safe.
struct Place {
  Place(StreamDevice& of_node, HostPorts of_values)
      : device(of_node),
        ports(std::move(of_values)),
        is_all_on_host(std::find(ports.outputs.begin(), ports.outputs.end(), false) == ports.outputs.end()) {}

  Stream& stream() const { return device.stream(StreamDevice::Use::kCompute); }
  // The run as its kernel finds it.
  RunContext RunOf(const RunContext& run) const {
    RunContext moved = RunOn(device, run);
    if (!is_all_on_host) moved.allocator = &stream().memory();
    return moved;
  }
  // Before the kernel: what it launches comes after what writes its inputs.
  absl::Status TakeInputs(const KernelContext& context, Foreign& foreign) const {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!context.has_input(i)) continue;
      const bool is_host = ports.inputs[static_cast<size_t>(i)];
      const Tensor& input = context.input(i);
      if (!IsInPlace(input, is_host)) return WrongMemory("input", i, is_host);
      if (!is_host && input.num_elements() > 0) SLUICE_RETURN_IF_ERROR(foreign.Add(input));
    }
    return absl::OkStatus();
  }
  // After it.
  absl::Status CheckOutputs(KernelContext& context) const {
    for (int i = 0; i < context.num_outputs(); ++i) {
      const Entry& output = context.output_entry(i);
      const bool is_host = ports.outputs[static_cast<size_t>(i)];
      if (output.has_value() && !IsInPlace(output.value(), is_host)) return WrongMemory("output", i, is_host);
    }
    return absl::OkStatus();
  }

  StreamDevice& device;
  const HostPorts ports;
  const bool is_all_on_host;
};

// See OnStream. Immutable; thread-safe.
class StreamKernel final : public Kernel {
 public:
  StreamKernel(std::shared_ptr<const Kernel> kernel, StreamDevice& device, HostPorts ports)
      : kernel_(std::move(kernel)), place_(device, std::move(ports)) {}

  absl::Status Compute(KernelContext& context) const override {
    const RunContext run = place_.RunOf(context.run());
    KernelContext moved = CallIn(run, context);
    Foreign foreign(place_.stream());
    SLUICE_RETURN_IF_ERROR(place_.TakeInputs(moved, foreign));
    SLUICE_RETURN_IF_ERROR(kernel_->Compute(moved));
    return place_.CheckOutputs(moved);
  }
  const Tensor* ConstantValue() const override { return kernel_->ConstantValue(); }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::shared_ptr<const Kernel> kernel_;
  const Place place_;
};

// See OnStream. Its callback may be called on a thread that waits for events. Immutable; thread-safe.
class AsyncStreamKernel final : public AsyncKernel {
 public:
  AsyncStreamKernel(std::shared_ptr<const Kernel> kernel, StreamDevice& device, HostPorts ports)
      : kernel_(std::move(kernel)), place_(device, std::move(ports)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    auto call = std::make_unique<Call>(place_, context);
    absl::Status taken = place_.TakeInputs(call->context, call->foreign);
    if (!taken.ok()) return done(std::move(taken));
    KernelContext& moved = call->context;
    kernel_->AsAsync()->ComputeAsync(
        moved, [this, call = std::move(call), done = std::move(done)](absl::Status status) mutable {
          if (status.ok()) status = AsStatus([&] { return place_.CheckOutputs(call->context); });
          call.reset();  // After `done` the device may be gone.
          CallOffEventThread([&] { done(std::move(status)); });
        });
  }
  CostHint cost_hint() const override { return kernel_->cost_hint(); }

 private:
  // Owns what the kernel uses until it is done.
  struct Call {
    Call(const Place& place, KernelContext& of_run)
        : run(place.RunOf(of_run.run())), context(CallIn(run, of_run)), foreign(place.stream()) {}
    const RunContext run;
    KernelContext context;
    Foreign foreign;
  };

  const std::shared_ptr<const Kernel> kernel_;
  const Place place_;
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
  if (kernel->AsAsync() != nullptr) {
    return std::make_shared<const AsyncStreamKernel>(std::move(kernel), device, std::move(ports));
  }
  return std::make_shared<const StreamKernel>(std::move(kernel), device, std::move(ports));
}

std::shared_ptr<const Kernel> OffEventThread(std::shared_ptr<const Kernel> kernel) {
  return std::make_shared<const OffEventThreadKernel>(std::move(kernel));
}

}  // namespace sluice
