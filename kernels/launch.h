#ifndef SLUICE_KERNELS_LAUNCH_H_
#define SLUICE_KERNELS_LAUNCH_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/device/stream.h"
#include "kernels/kernel_context.h"

namespace sluice {

// What a kernel of a device with streams needs of a call: the stream that it launches on, and memory of either kind.
// Inputs and outputs that its row names (HostInput, HostOutput), strings and handles are in host memory; all others are
// not, and their pointers are for the device alone. Tensors without elements may have no memory.
//
//   absl::Status Compute(KernelContext& context) const override {
//     const Launch launch(context);
//     SLUICE_ASSIGN_OR_RETURN(Tensor* const out, launch.AllocateOutput(0, context.input(0).shape()));
//     return QueueAdd(launch.stream(), context.input(0).raw_data(), context.input(1).raw_data(), ...);
//   }
//
// Inputs and temporary tensors may be freed when Compute returns: their memory is reused later on the stream only. If
// all outputs of a kernel are on the host, KernelContext's own methods give host memory, so that kernels that only read
// shapes or pass values on are those of the CPU.
// Lives as long as the call.
class Launch {
 public:
  // REQUIRES: the run is on a StreamDevice, as it is wherever an executor calls kernels of one.
  explicit Launch(KernelContext& context)
      : context_(context), stream_(context.run().device->AsStreamDevice()->stream(StreamDevice::Use::kCompute)) {}

  Stream& stream() const { return stream_; }
  absl::StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape) const { return Make(i, shape, stream_.memory()); }
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) const {
    return Tensor::Make(dtype, shape, stream_.memory(), stream_.tag());
  }

 private:
  absl::StatusOr<Tensor*> Make(int i, const Shape& shape, Allocator& allocator) const {
    const StreamTag tag = allocator.IsHostMemory() ? kHostStream : stream_.tag();
    absl::StatusOr<Tensor> made = Tensor::Make(BaseType(context_.output_type(i)), shape, allocator, tag);
    if (!made.ok()) return made.status();
    Entry& entry = context_.output_entry(i);
    entry.SetValue(*std::move(made));
    return &entry.value();
  }

  KernelContext& context_;
  Stream& stream_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LAUNCH_H_
