// The scheduler alone inside a host: Executor::RunAsync with the host's own arguments and results.

#include <cstdio>

#include "executor/compiled/local_executor.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/step/call_frame.h"

namespace {

// One number in, one number out. One run's.
class NumberFrame : public sluice::CallFrame {
 public:
  explicit NumberFrame(float argument) : argument_(argument) {}
  size_t num_args() const override { return 1; }
  size_t num_retvals() const override { return 1; }
  absl::StatusOr<sluice::Tensor> GetArg(size_t) override { return sluice::Tensor::Scalar(argument_); }
  absl::Status SetRetval(size_t, sluice::Tensor value) override { return result_ = std::move(value), absl::OkStatus(); }
  const sluice::Tensor& result() const { return result_; }

 private:
  const float argument_;
  sluice::Tensor result_;
};

}  // namespace

int main() {
  sluice::GraphBuilder b(sluice::NewOpRegistry());
  const sluice::Output x = b.Op("_Arg", "x", {}, {{"T", sluice::DType::kFloat}, {"index", int64_t{0}}});
  const sluice::Output y = b.Op("Mul", "square", {x, x});
  b.Op("_Retval", "y", {b.Op("AddV2", "sum", {y, x})}, {{"index", int64_t{0}}});
  absl::StatusOr<sluice::Graph> graph = b.Build();
  if (!graph.ok()) return std::fprintf(stderr, "%s\n", sluice::FormatError(graph.status()).c_str()), 1;

  sluice::CpuDevice device("/job:localhost/replica:0/task:0/device:CPU:0", /*incarnation=*/1);
  sluice::LocalExecutorParams params;
  params.device = &device;
  params.registry = &sluice::BuiltinKernels();
  auto executor = sluice::NewLocalExecutor(params, *std::move(graph));
  if (!executor.ok()) return std::fprintf(stderr, "%s\n", sluice::FormatError(executor.status()).c_str()), 1;

  NumberFrame frame(3);
  sluice::Executor::Args args;
  args.step_id = sluice::StepId(1);
  args.call_frame = &frame;
  sluice::Notification done;
  (*executor)->RunAsync(args, [&](const absl::Status& status) {
    std::printf("%s, y = %s\n", status.ToString().c_str(), frame.result().ToString().c_str());
    done.Notify();
  });
  done.WaitForNotification();
}
