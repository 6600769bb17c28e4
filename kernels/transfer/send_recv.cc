#include <memory>
#include <string>
#include <utility>

#include "absl/base/optimization.h"
#include "graph/base/error.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/transfer/families.h"
#include "rendezvous/key.h"
#include "rendezvous/rendezvous.h"

namespace sluice {
namespace {

// The pair of nodes that a kernel is one half of. Its number is resolved once, when the kernel is made; where the
// rendezvous of a run has another edge table than the plan's, by each call. Immutable; thread-safe.
class Edge {
 public:
  static absl::StatusOr<Edge> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("tensor_name"));
    SLUICE_ASSIGN_OR_RETURN(const std::string from, construction.Get<std::string>("send_device"));
    SLUICE_ASSIGN_OR_RETURN(const std::string to, construction.Get<std::string>("recv_device"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t incarnation, construction.Get<int64_t>("send_device_incarnation"));
    Edge edge;
    edge.text_ = EdgeText(from, static_cast<uint64_t>(incarnation), to, name);
    edge.edges_ = construction.edges();
    if (edge.edges_ != nullptr) edge.number_ = edge.edges_->Number(edge.text_);
    return edge;
  }

  // The key of the value that belongs to this call. kFacilityMissing when the run has no rendezvous, or one without a
  // table of edges.
  absl::StatusOr<RendezvousKey> Key(const KernelContext& context) const {
    const RunContext& run = context.run();
    if (run.rendezvous == nullptr) return Error(ErrorCode::kFacilityMissing).Text("the run has no rendezvous");
    EdgeTable* const edges = run.rendezvous->edges();
    if (ABSL_PREDICT_FALSE(edges == nullptr)) {
      return Error(ErrorCode::kFacilityMissing).Text("the run has a rendezvous, but no edge table for it");
    }
    // In another table the plan's number is another edge's.
    const EdgeNumber number = ABSL_PREDICT_TRUE(edges == edges_) ? number_ : edges->Number(text_);
    return RendezvousKey{number, context.frame_id(), context.iteration()};
  }

 private:
  Edge() = default;

  std::string text_;
  EdgeTable* edges_ = nullptr;
  EdgeNumber number_;
};

TransferArgs ArgsOf(const KernelContext& context) {
  TransferArgs args;
  if (context.run().device != nullptr) args.device_context = context.run().device->context();
  return args;
}

// Sends its input, or that it is dead, to the receiver of the key. Never waits.
class SendKernel : public Kernel {
 public:
  explicit SendKernel(Edge edge) : edge_(std::move(edge)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const RendezvousKey key, edge_.Key(context));
    RendezvousValue value;
    value.is_dead = context.is_input_dead();
    if (!value.is_dead) value.tensor = context.TakeInput(0);
    return context.run().rendezvous->Send(key, ArgsOf(context), std::move(value));
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const Edge edge_;
};

// Waits for what is sent. A dead value leaves the output dead.
class RecvKernel : public AsyncKernel {
 public:
  explicit RecvKernel(Edge edge) : edge_(std::move(edge)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    const absl::StatusOr<RendezvousKey> key = edge_.Key(context);
    if (!key.ok()) {
      done(key.status());
      return;
    }
    context.run().rendezvous->RecvAsync(
        *key, ArgsOf(context), context.run().cancellation,
        [&context, done = std::move(done)](absl::Status status, RendezvousValue value, const TransferArgs&,
                                           const TransferArgs&) mutable {
          done(status.ok() ? Take(context, std::move(value)) : std::move(status));
        });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static absl::Status Take(KernelContext& context, RendezvousValue value) {
    if (value.is_dead) {
      context.SetDeadOutput(0);
      return absl::OkStatus();
    }
    if (value.tensor.dtype() != context.output_type(0)) {
      return Error(ErrorCode::kOutputType)
          .Found(DTypeName(value.tensor.dtype()))
          .Expected(DTypeName(context.output_type(0)))
          .Text("what was sent has another dtype");
    }
    context.SetOutput(0, std::move(value.tensor));
    return absl::OkStatus();
  }

  const Edge edge_;
};

constexpr KernelRow kRows[] = {
    KernelRow("_Send", &NewWith<SendKernel, Edge::Make>),
    KernelRow("_HostSend", &NewWith<SendKernel, Edge::Make>),
    KernelRow("_Recv", &NewWith<RecvKernel, Edge::Make>),
    KernelRow("_HostRecv", &NewWith<RecvKernel, Edge::Make>),
    // The same on accelerators: all values of these ops stand in host memory (graph/placement/memory_types.h).
    KernelRow("_Send", &NewWith<SendKernel, Edge::Make>).On(DeviceKind::kCuda),
    KernelRow("_HostSend", &NewWith<SendKernel, Edge::Make>).On(DeviceKind::kCuda),
    KernelRow("_Recv", &NewWith<RecvKernel, Edge::Make>).On(DeviceKind::kCuda),
    KernelRow("_HostRecv", &NewWith<RecvKernel, Edge::Make>).On(DeviceKind::kCuda),
};

}  // namespace

absl::Span<const KernelRow> SendRecvKernels() { return kRows; }

}  // namespace sluice
