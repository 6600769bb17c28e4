#include "tests/testing/plain_kernels.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "kernels/control/families.h"
#include "kernels/dispatch.h"
#include "kernels/new_kernel.h"
#include "rendezvous/rendezvous.h"

namespace sluice {
namespace {

using PlainTypes = TypeList<float, int32_t>;

enum class PlainOp { kAdd, kSub, kMul, kLess, kGreater };

// Integers wrap around.
template <PlainOp op, typename T>
auto Apply(T a, T b) {
  if constexpr (std::is_same_v<T, int32_t> && (op == PlainOp::kAdd || op == PlainOp::kSub || op == PlainOp::kMul)) {
    return static_cast<int32_t>(Apply<op, uint32_t>(static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
  }
  if constexpr (op == PlainOp::kAdd) return a + b;
  if constexpr (op == PlainOp::kSub) return a - b;
  if constexpr (op == PlainOp::kMul) return a * b;
  if constexpr (op == PlainOp::kLess) return a < b;
  if constexpr (op == PlainOp::kGreater) return a > b;
}

// One op of two operands, either of which may be a scalar.
template <PlainOp op>
class PlainBinary : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    absl::Status status = absl::OkStatus();
    DispatchDType<PlainTypes>(context.input_type(0), [&](auto type) {
      using T = typename decltype(type)::Type;
      status = Run<T>(context);
    });
    return status;
  }

 private:
  template <typename T>
  static absl::Status Run(KernelContext& context) {
    using R = decltype(Apply<op, T>(T(), T()));
    const absl::Span<const T> a = context.input(0).flat<T>(), b = context.input(1).flat<T>();
    if (a.size() == 1 && b.size() == 1) {
      context.SetScalar<R>(0, Apply<op, T>(a[0], b[0]));
      return absl::OkStatus();
    }
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return Error(ErrorCode::kOpShapes);
    const Shape shape = a.size() == 1 ? context.input(1).shape() : context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0, 1}));
    const absl::Span<R> out = output->flat<R>();
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = Apply<op, T>(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    }
    return absl::OkStatus();
  }
};

class PlainAddN : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    if (context.input_type(0) != DType::kFloat) return Error(ErrorCode::kOpUnimplemented);
    float sum = 0;
    for (int i = 0; i < context.num_inputs(); ++i) sum += context.input(i).flat<float>()[0];
    context.SetScalar(0, sum);
    return absl::OkStatus();
  }
};

// In place where it may be.
class PlainGradSum : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    if (context.input_type(0) != DType::kFloat) return Error(ErrorCode::kOpUnimplemented);
    std::vector<float> sum;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const absl::Span<const float> in = context.input(i).flat<float>();
      if (i == 0) sum.assign(in.size(), 0);
      if (in.size() != sum.size()) return Error(ErrorCode::kOpShapes);
      for (size_t k = 0; k < in.size(); ++k) sum[k] = i == 0 ? in[k] : sum[k] + in[k];
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.ForwardOrAllocate(0, context.input(0).shape(), {0}));
    std::copy(sum.begin(), sum.end(), out->flat<float>().begin());
    return absl::OkStatus();
  }
};

absl::Status NoRendezvous() { return Error(ErrorCode::kFacilityMissing).Text("the run has no rendezvous"); }

// The edge that a Send and its Recv share.
absl::StatusOr<EdgeNumber> EdgeOf(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string src, construction.Get<std::string>("send_device"));
  SLUICE_ASSIGN_OR_RETURN(const std::string dst, construction.Get<std::string>("recv_device"));
  SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("tensor_name"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t incarnation, construction.Get<int64_t>("send_device_incarnation"));
  return construction.edges()->Number(EdgeText(src, static_cast<uint64_t>(incarnation), dst, name));
}

class PlainSend : public Kernel {
 public:
  explicit PlainSend(EdgeNumber edge) : edge_(edge) {}
  absl::Status Compute(KernelContext& context) const override {
    if (context.run().rendezvous == nullptr) return NoRendezvous();
    RendezvousValue value;
    value.is_dead = context.is_input_dead();
    if (context.has_input(0)) value.tensor = context.TakeInput(0);
    return context.run().rendezvous->Send({edge_, context.frame_id(), context.iteration()}, {}, std::move(value));
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const EdgeNumber edge_;
};

class PlainRecv : public AsyncKernel {
 public:
  explicit PlainRecv(EdgeNumber edge) : edge_(edge) {}
  void ComputeAsync(KernelContext& context, Done done) const override {
    if (context.run().rendezvous == nullptr) return done(NoRendezvous());
    context.run().rendezvous->RecvAsync(
        {edge_, context.frame_id(), context.iteration()}, {}, context.run().cancellation,
        [&context, done = std::move(done)](absl::Status status, RendezvousValue value, const TransferArgs&,
                                           const TransferArgs&) mutable {
          if (status.ok() && value.is_dead) context.SetDeadOutput(0);
          if (status.ok() && !value.is_dead) context.SetOutput(0, std::move(value.tensor));
          done(std::move(status));
        });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const EdgeNumber edge_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Add", &New<PlainBinary<PlainOp::kAdd>>),
    KernelRow("AddV2", &New<PlainBinary<PlainOp::kAdd>>),
    KernelRow("Sub", &New<PlainBinary<PlainOp::kSub>>),
    KernelRow("Mul", &New<PlainBinary<PlainOp::kMul>>),
    KernelRow("Less", &New<PlainBinary<PlainOp::kLess>>),
    KernelRow("Greater", &New<PlainBinary<PlainOp::kGreater>>),
    KernelRow("AddN", &New<PlainAddN>),
    KernelRow("GradSum", &New<PlainGradSum>),
    KernelRow("_Send", &NewWith<PlainSend, EdgeOf>),
    KernelRow("_HostSend", &NewWith<PlainSend, EdgeOf>),
    KernelRow("_Recv", &NewWith<PlainRecv, EdgeOf>),
    KernelRow("_HostRecv", &NewWith<PlainRecv, EdgeOf>),
};

}  // namespace

void AddPlainKernels(KernelRegistry& registry) {
  registry.AddTable(BasicKernels());
  registry.AddTable(kRows);
}

}  // namespace sluice
