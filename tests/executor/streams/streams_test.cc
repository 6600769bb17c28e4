// Graphs that are partly on devices which work on their own: what users write, and what comes back.

#include <cstring>
#include <thread>

#include "executor/compiled/local_executor.h"
#include "graph/placement/copy_nodes.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/streams/streams_fixture.h"

namespace sluice {
namespace {

class StreamsTest : public StreamsFixture, public ::testing::WithParamInterface<bool> {
 protected:
  void OpenAsParam() {
    SessionOptions options;
    options.cut_by_device = GetParam();
    Open(options);
  }
};

INSTANTIATE_TEST_SUITE_P(Steps, StreamsTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Cut" : "Joined"; });

TEST_P(StreamsTest, AValueGoesToADeviceAndComesBack) {
  AddScaled(b_.Placeholder("x", DType::kFloat));
  OpenAsParam();
  for (const int64_t count : {1, 3, 100, 5000, 30000}) {
    const Tensor x = Floats(count);
    ASSERT_OK_AND_ASSIGN(const Tensor y, Fetch("y", {{"x", x}}));
    ASSERT_EQ(y.num_elements(), count);
    for (int64_t i = 0; i < count; ++i) {
      const size_t at = static_cast<size_t>(i);
      ASSERT_EQ(y.flat<float>()[at], 2 * x.flat<float>()[at] + 1) << i;
    }
  }
  EXPECT_EQ(gpu().num_launches(), 10);
}

// The copies go on where they wait, block after block: not one inside of another.
TEST_P(StreamsTest, WithoutAThreadForEventsALongCopyNeedsNoLongStack) {
  FakeDevice::Options options;
  options.has_event_thread = false;
  options.staging_block_bytes = 64;
  options.max_delay = absl::ZeroDuration();
  MakeDevices(options);
  AddScaled(b_.Placeholder("x", DType::kFloat));
  OpenAsParam();
  const Tensor x = Floats(30'000 * 16);
  ASSERT_OK_AND_ASSIGN(const Tensor y, Fetch("y", {{"x", x}}));
  ASSERT_EQ(y.num_elements(), x.num_elements());
  for (size_t i = 0; i < static_cast<size_t>(x.num_elements()); i += 997) {
    ASSERT_EQ(y.flat<float>()[i], 2 * x.flat<float>()[i] + 1) << i;
  }
}

TEST_P(StreamsTest, WhatHasNoElementsNeedsNoMemory) {
  AddScaled(b_.Placeholder("x", DType::kFloat));
  OpenAsParam();
  ASSERT_OK_AND_ASSIGN(const Tensor y, Fetch("y", {{"x", *Tensor::Make(DType::kFloat, Shape::Of({0, 3}))}}));
  EXPECT_EQ(y.shape(), Shape::Of({0, 3}));
  EXPECT_EQ(gpu().num_launches(), 0);
}

// Feeds and fetches are in host memory.
TEST_F(StreamsFixture, ASessionNeedsAHostDeviceFirst) {
  MakeDevices();
  auto only = std::make_shared<std::vector<std::unique_ptr<Device>>>();
  only->push_back(std::make_unique<FakeDevice>(FakeDevice::Options()));
  SessionOptions options;
  options.devices = only;
  options.kernels = &registry_;
  EXPECT_THAT(Session::Create(options, b_.graph()).status(), IsError(ErrorCode::kWrongUse, "device:GPU:0"));
  std::swap(devices_->all->front(), devices_->all->back());
  options.devices = devices_->all;
  EXPECT_THAT(Session::Create(options, b_.graph()).status(), IsError(ErrorCode::kWrongUse, "device:GPU:1"));
  std::swap(devices_->all->front(), devices_->all->back());
  EXPECT_OK(Session::Create(options, b_.graph()));
}

// The axis is read when the kernel launches, and may itself come from the device.
TEST_P(StreamsTest, ConcatReadsItsAxisOnTheHost) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output axis = b_.Placeholder("axis", DType::kInt32);
  b_.WithDevice(kGpu);
  const Output zero = b_.Op("Sub", "zero", {axis, axis});
  const Output same = b_.Op("AddV2", "same", {axis, zero});
  b_.Op("ConcatV2", "joined", {b_.Op("Neg", "neg", {x}), x, axis});
  b_.Op("ConcatV2", "by_device", {x, x, same});
  OpenAsParam();
  const Tensor value = Tensor::Of<float>(Shape::Of({2, 2}), {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const Tensor joined, Fetch("joined", {{"x", value}, {"axis", Tensor::Scalar(int32_t{1})}}));
  EXPECT_EQ(joined.ToString(8), "float32 [2,4] {-1, -2, 1, 2, -3, -4, 3, 4}");
  ASSERT_OK_AND_ASSIGN(const Tensor other, Fetch("by_device", {{"x", value}, {"axis", Tensor::Scalar(int32_t{0})}}));
  EXPECT_EQ(other.ToString(8), "float32 [4,2] {1, 2, 3, 4, 1, 2, 3, 4}");
}

TEST_P(StreamsTest, ShapesAreTheHosts) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  b_.Op("Shape", "shape", {b_.Op("Neg", "neg", {x})});
  OpenAsParam();
  ASSERT_OK_AND_ASSIGN(const Tensor shape, Fetch("shape", {{"x", Floats(7)}}));
  EXPECT_EQ(shape.flat<int32_t>()[0], 7);
}

// The counter is int32 and on the host, the value on the device: one copy of it goes out, one comes back.
TEST_P(StreamsTest, ALoopTurnsOnADeviceWithItsCounterOnTheHost) {
  const Output x = b_.Placeholder("x", DType::kFloat), n = b_.Placeholder("n", DType::kInt32);
  const GraphBuilder::Attrs frame = {{"frame_name", "f"}};
  const Output zero = b_.Const("zero", Tensor::Scalar(int32_t{0}));
  const Output i =
      b_.Op("Merge", "i", {b_.Op("Enter", "i0", {zero}, frame), Output()}, {{"T", DType::kInt32}, {"N", 2}});
  const Output limit = b_.Op("Enter", "limit", {n}, {{"frame_name", "f"}, {"is_constant", true}});
  const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {i, limit})});
  const Output of_i = b_.Op("Switch", "of_i", {i, condition});
  const Output step = b_.Const("step", Tensor::Scalar(int32_t{1}));
  b_.AddControl(step, b_.Op("Identity", "pivot", {GraphBuilder::Nth(of_i, 1)}));
  const Output plus = b_.Op("AddV2", "plus", {GraphBuilder::Nth(of_i, 1), step});
  b_.SetInput(i, 1, b_.Op("NextIteration", "next_i", {plus}));
  b_.WithDevice(kGpu);
  const Output v = b_.Op("Merge", "v", {b_.Op("Enter", "v0", {x}, frame), Output()}, {{"T", DType::kFloat}, {"N", 2}});
  const Output of_v = b_.Op("Switch", "of_v", {v, condition});
  const Output more = b_.Op("AddV2", "more", {GraphBuilder::Nth(of_v, 1), GraphBuilder::Nth(of_v, 1)});
  b_.SetInput(v, 1, b_.Op("NextIteration", "next_v", {more}));
  b_.Op("Exit", "out", {of_v});
  OpenAsParam();
  ASSERT_OK_AND_ASSIGN(const Tensor out, Fetch("out", {{"x", Floats(200, 1)}, {"n", Tensor::Scalar(int32_t{10})}}));
  EXPECT_EQ(out.flat<float>()[0], 1024);
  EXPECT_EQ(out.flat<float>()[199], 200 * 1024);
  EXPECT_EQ(gpu().num_launches(), 10);
  ASSERT_OK_AND_ASSIGN(const Tensor none, Fetch("out", {{"x", Floats(2, 1)}, {"n", Tensor::Scalar(int32_t{0})}}));
  EXPECT_EQ(none.flat<float>()[1], 2);
}

TEST_P(StreamsTest, APredicateOfTheDeviceChoosesABranch) {
  const Output x = b_.Placeholder("x", DType::kFloat), p = b_.Placeholder("p", DType::kFloat);
  b_.WithDevice(kGpu);
  const Output is_less = b_.Op("Less", "less", {p, b_.Const("limit", Tensor::Scalar(0.5f))});
  const Output ports = b_.Op("Switch", "ports", {x, is_less});
  const Output negative = b_.Op("Neg", "negative", {ports});
  b_.WithDevice(kOther);
  const Output twice = b_.Op("AddV2", "twice", {GraphBuilder::Nth(ports, 1), GraphBuilder::Nth(ports, 1)});
  const Output merge = b_.Op("Merge", "merge", {negative, twice});
  b_.WithDevice(kCpu);
  b_.Op("Identity", "index", {GraphBuilder::Nth(merge, 1)});
  OpenAsParam();
  for (int i = 0; i < 20; ++i) {
    const bool is_second = i % 2 == 1;
    const NamedTensors feeds = {{"x", Floats(300, 3)}, {"p", Tensor::Scalar(is_second ? 0.0f : 1.0f)}};
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> both, session_->Run(feeds, {"merge", "index"}, {}));
    EXPECT_EQ(both[0].flat<float>()[1], is_second ? 8 : -4);
    EXPECT_EQ(*both[1].AsScalar<int32_t>(), is_second ? 1 : 0);
  }
}

TEST_P(StreamsTest, TwoDevicesHandValuesToEachOther) {
  Output y = b_.Placeholder("x", DType::kFloat);
  for (int i = 0; i < 12; ++i) {
    b_.WithDevice(i % 2 == 0 ? kGpu : kOther);
    y = b_.Op(i % 3 == 0 ? "Neg" : "AddV2", absl::StrCat("n", i),
              i % 3 == 0 ? std::vector<Output>{y} : std::vector<Output>{y, y});
  }
  OpenAsParam();
  for (const int64_t count : {1, 40, 9000}) {
    ASSERT_OK_AND_ASSIGN(const Tensor out, Fetch("n11", {{"x", Floats(count, 5)}}));
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(out.flat<float>()[static_cast<size_t>(i)], 256 * (5 + i % 1000)) << i;
  }
}

// Temporary memory goes when the launch returns, constants are copied once.
TEST_P(StreamsTest, ProductsWithAConstant) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  const Output w = b_.Const("w", Tensor::Of<float>(Shape::Of({2, 2}), {1, 2, 3, 4}));
  Output y = x;
  for (int i = 0; i < 20; ++i) y = b_.Op("MatMul", absl::StrCat("m", i), {y, i % 2 == 0 ? w : x});
  OpenAsParam();
  const Tensor flip = Tensor::Of<float>(Shape::Of({2, 2}), {0, 1, 1, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor first, Fetch("m3", {{"x", flip}}));
  EXPECT_EQ(first.ToString(), "float32 [2,2] {20, 13, 8, 5}") << "flip w flip w flip";
  ASSERT_OK_AND_ASSIGN(const Tensor again, Fetch("m19", {{"x", flip}}));
  ASSERT_OK_AND_ASSIGN(const Tensor more, Fetch("m19", {{"x", flip}}));
  EXPECT_EQ(again.bytes(), more.bytes());
}

// More runs at once than there are blocks of pinned memory.
TEST_P(StreamsTest, PinnedMemoryIsBounded) {
  FakeDevice::Options options;
  options.staging_block_bytes = 512;
  options.staging_blocks = 2;
  MakeDevices(options);
  AddScaled(b_.Placeholder("x", DType::kFloat));
  OpenAsParam();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Tensor x = Floats(2000, static_cast<float>(t));
      for (int i = 0; i < 5; ++i) {
        const absl::StatusOr<Tensor> y = Fetch("y", {{"x", x}});
        ASSERT_OK(y);
        EXPECT_EQ(y->flat<float>()[1999], 2 * x.flat<float>()[1999] + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(gpu().staging().num_blocks(), 2u);
}

// Two streams that work at once, with copies between them: memory that is freed or reused too early would show.
TEST_P(StreamsTest, ManyRunsAtOnceKeepTheirValues) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  Output sum = b_.Op("Neg", "start", {x});
  for (int i = 0; i < 30; ++i) {
    b_.WithDevice(i % 5 == 4 ? kCpu : kGpu);
    sum = b_.Op("AddV2", absl::StrCat("a", i), {i % 3 == 0 ? x : sum, sum});
  }
  OpenAsParam();
  ASSERT_OK_AND_ASSIGN(const Tensor expected, Fetch("a29", {{"x", Floats(3000, 1)}}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) {
        const absl::StatusOr<Tensor> y = Fetch("a29", {{"x", Floats(3000, 1)}});
        ASSERT_OK(y);
        EXPECT_EQ(y->bytes(), expected.bytes());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- A value from another process -----------------------------------------------------------------------------------

// The receive is on the device, as its user asks; the value comes in host memory, and a copy brings it there.
TEST_F(StreamsFixture, AReceiveFromAnotherProcessOnADevice) {
  MakeDevices();
  const std::string cpu = absl::StrCat(kLocalTask, kCpu), gpu_name = absl::StrCat(kLocalTask, kGpu);
  const auto edge = [&](absl::string_view name) {
    return GraphBuilder::Attrs{{"tensor_name", AttrValue(name)},
                               {"send_device", cpu},
                               {"recv_device", gpu_name},
                               {"send_device_incarnation", int64_t{1}}};
  };
  b_.WithDevice(gpu_name);
  GraphBuilder::Attrs of_recv = edge("in");
  of_recv.emplace_back("tensor_type", DType::kFloat);
  const Output received = b_.Op("_Recv", "recv", {}, of_recv);
  b_.Op("_Send", "send", {b_.Op("AddV2", "sum", {received, received})}, edge("out"));
  ASSERT_OK_AND_ASSIGN(Graph graph, b_.Build());
  ASSERT_OK(InsertCopies(graph, registry_));
  EdgeTable edges;
  LocalExecutorParams params;
  params.device = &gpu();
  params.registry = &registry_;
  params.edges = &edges;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewLocalExecutor(params, std::move(graph)));
  const CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>(edges);
  Executor::Args args;
  args.rendezvous = rendezvous.get();
  std::thread peer([&] {
    absl::SleepFor(absl::Milliseconds(2));
    EXPECT_OK(rendezvous->Send({edges.Number(EdgeText(cpu, 1, gpu_name, "in")), 0, 0}, {}, {Floats(2500, 1), false}));
  });
  EXPECT_OK(executor->Run(args));
  peer.join();
  Tensor answer;
  rendezvous->RecvAsync(
      {edges.Number(EdgeText(cpu, 1, gpu_name, "out")), 0, 0}, {}, nullptr,
      [&](const absl::Status& status, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
        EXPECT_OK(status);
        answer = std::move(value.tensor);
      });
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer.flat<float>()[999], 2000);
}

// --- Feeds and fetches ----------------------------------------------------------------------------------------------

TEST_P(StreamsTest, WhatIsFedAndFetchedOnADeviceIsTheHosts) {
  b_.WithDevice(kGpu);
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output y = b_.Op("Neg", "y", {x});
  b_.Op("Identity", "z", {y});
  OpenAsParam();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->Run({{"x", Floats(300)}}, {"y", "z"}, {}));
  for (const Tensor& value : values) EXPECT_FALSE(IsInDeviceMemory(value));
  EXPECT_EQ(values[0].flat<float>()[299], -299);
  EXPECT_EQ(values[1].flat<float>()[299], -299);
  // Fed in the middle of the graph.
  ASSERT_OK_AND_ASSIGN(const Tensor z, Fetch("z", {{"y", Floats(300, 7)}}));
  EXPECT_EQ(z.flat<float>()[0], 7);
}

}  // namespace
}  // namespace sluice
