// Kernels that a host program adds for a device that works on its own.

#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/function_finder.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/launch.h"
#include "kernels/owned_kernel_row.h"
#include "tests/executor/streams/streams_fixture.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

// Ends a call on the thread that waits for events, as kernels do that wait for the device.
class EndOfCall final : public EventWaiter::Task {
 public:
  EndOfCall(AsyncKernel::Done done, std::thread::id* thread) : done_(std::move(done)), thread_(thread) {}

  void EventHasCome() noexcept override {
    const std::unique_ptr<EndOfCall> self(this);
    *thread_ = std::this_thread::get_id();
    done_(absl::OkStatus());
  }

 private:
  AsyncKernel::Done done_;
  std::thread::id* const thread_;
};

// Twice its input, on the device; over when that is done.
class AsyncTwice final : public AsyncKernel {
 public:
  explicit AsyncTwice(std::thread::id* event_thread) : event_thread_(event_thread) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    const absl::Status status = Queue(context);
    if (!status.ok()) return done(status);
    Stream& stream = Launch(context).stream();
    stream.device().events().Add(stream.Record().value(), new EndOfCall(std::move(done), event_thread_));
  }

 private:
  static absl::Status Queue(KernelContext& context) {
    const Launch launch(context);
    const absl::StatusOr<Tensor*> output = launch.AllocateOutput(0, context.input(0).shape());
    if (!output.ok()) return output.status();
    const FakeMemory& memory = static_cast<FakeDevice&>(launch.stream().device()).memory();
    const float* const in = memory.ForDevice(static_cast<float*>(const_cast<void*>(context.input(0).raw_data())));
    float* const out = memory.ForDevice(static_cast<float*>((*output)->mutable_raw_data()));
    return static_cast<FakeStream&>(launch.stream()).Launch([in, out, count = context.input(0).num_elements()] {
      for (int64_t i = 0; i < count; ++i) out[i] = 2 * in[i];
      return absl::OkStatus();
    });
  }

  std::thread::id* const event_thread_;
};

// Hands its input on, and notes the thread.
class NoteThread final : public Kernel {
 public:
  explicit NoteThread(std::thread::id* thread) : thread_(thread) {}
  absl::Status Compute(KernelContext& context) const override {
    *thread_ = std::this_thread::get_id();
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  }

 private:
  std::thread::id* const thread_;
};

// Calls a function with two numbers of its own, and hands its input on.
class CallOfHost final : public Kernel {
 public:
  CallOfHost(std::shared_ptr<const CallableFunction> body, std::vector<float>* result)
      : body_(std::move(body)), result_(*result) {}
  absl::Status Compute(KernelContext& context) const override {
    Tensor arguments[] = {Tensor::Vector<float>({1, 2})}, results[1];
    SLUICE_RETURN_IF_ERROR(body_->Run(context, arguments, absl::MakeSpan(results)));
    for (const float value : results[0].flat<float>()) result_.push_back(value);
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const CallableFunction> body_;
  std::vector<float>& result_;
};

class CountElements final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    context.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(context.input(0).num_elements())));
    return absl::OkStatus();
  }
};

// Its input comes by another stream, and what comes after it does not run on the thread that waits for events.
TEST_F(StreamsFixture, AnAsynchronousKernelComesAfterItsInputsAndItsRunGoesOnElsewhere) {
  std::thread::id event_thread, next_thread;
  ASSERT_OK(registry_.Add(OwnedKernelRow("Exp", [&](const KernelConstruction&) {
                            return std::make_unique<AsyncTwice>(&event_thread);
                          }).On(DeviceKind::kCuda)));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Square", [&](const KernelConstruction&) {
                            return std::make_unique<NoteThread>(&next_thread);
                          }).On(DeviceKind::kCuda)));
  FakeDevice::Options device;
  device.max_delay = absl::Milliseconds(2);
  MakeDevices(device);
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  b_.Op("Square", "next", {b_.Op("Exp", "twice", {x})});
  SessionOptions options;
  options.num_threads = 1;
  Open(options);
  for (int i = 0; i < 10; ++i) {
    const Tensor fed = Floats(5000, static_cast<float>(i + 1));
    std::promise<absl::StatusOr<std::vector<Tensor>>> ended;
    session_->RunAsync({{"x", fed}}, {"next"}, {}, {},
                       [&ended](absl::StatusOr<std::vector<Tensor>> values) { ended.set_value(std::move(values)); });
    const absl::StatusOr<std::vector<Tensor>> values = ended.get_future().get();
    ASSERT_OK(values);
    for (size_t k = 0; k < 5000; ++k) ASSERT_EQ((*values)[0].flat<float>()[k], 2 * fed.flat<float>()[k]) << k;
    EXPECT_NE(next_thread, event_thread);
  }
}

// Two equal nodes share a kernel, but not where they find their inputs.
TEST_F(StreamsFixture, EqualNodesWithTheirInputsInOtherMemory) {
  ASSERT_OK(
      registry_.Add(OwnedKernelRow("Size", [](const KernelConstruction&) { return std::make_unique<CountElements>(); })
                        .On(DeviceKind::kCuda)
                        .HostOutput("output")
                        .Shared(Sharing::kBySchema)));
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  const Output y = b_.Op("Neg", "y", {x});
  b_.Op("Size", "of_device", {y});
  b_.Op("Size", "of_host", {y}, {{"_input_hostmem", std::vector<int64_t>{0}}});
  Open();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> sizes,
                       session_->Run({{"x", Floats(300)}}, {"of_device", "of_host"}, {}));
  EXPECT_EQ(*sizes[0].AsScalar<int32_t>(), 300);
  EXPECT_EQ(*sizes[1].AsScalar<int32_t>(), 300);
}

// Functions that kernels of a device call run on the host: in its memory, not in that of the kernel's outputs.
TEST_F(StreamsFixture, AFunctionThatAKernelCallsHasTheHostsMemory) {
  std::vector<float> result;
  ASSERT_OK(registry_.Add(
      OwnedKernelRow("MapDefun",
                     [&](const KernelConstruction& construction) -> absl::StatusOr<std::unique_ptr<Kernel>> {
                       SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const CallableFunction> body,
                                               construction.Function("f"));
                       return std::make_unique<CallOfHost>(std::move(body), &result);
                     })
          .On(DeviceKind::kCuda)));
  FunctionText("Twice")
      .Arg("x: float")
      .Result("y: float", "y:output:0")
      .Node("y = Pack(x, x)", {{"N", int64_t{2}}, {"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  b_.Op("MapDefun", "map", {x},
        {{"Targuments", std::vector<DType>{DType::kFloat}},
         {"Tcaptured", std::vector<DType>()},
         {"output_types", std::vector<DType>{DType::kFloat}},
         {"output_shapes", std::vector<PartialShape>{PartialShape()}},
         {"f", AttrValue::Func("Twice", {})}});
  Open();
  ASSERT_OK(Fetch("map", {{"x", Floats(300)}}));
  EXPECT_EQ(result, (std::vector<float>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace sluice
