// SessionOptions::deterministic: the same bits whatever the number of threads, run after run.

#include <map>

#include "absl/strings/str_cat.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

// L2Loss as a careless kernel may compute it: the sum of what each shard adds up. Its bits are those of the shards.
class SumOfShardsKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const absl::Span<const float> x = context.input(0).flat<float>();
    std::map<int64_t, float> sums;
    Mutex mu;
    context.ParallelFor(static_cast<int64_t>(x.size()), 20.0, [&](int64_t begin, int64_t end) {
      float sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += x[static_cast<size_t>(i)];
      MutexLock lock(&mu);
      sums[begin] = sum;
    });
    float total = 0;
    for (const auto& [begin, sum] : sums) total += sum;
    context.SetScalar(0, total);
    return absl::OkStatus();
  }
};

// Everything whose bits could depend on timing: products and sums that threads share, chains of softmax, kernels that
// depend on their shards, unordered updates of one variable, and a loop over all that.
class DeterminismTest : public SessionFixture, public ::testing::WithParamInterface<Driver> {
 protected:
  static constexpr int kRows = 96, kColumns = 256;

  DeterminismTest() {
    RegisterAllKernels(kernels_);
    EXPECT_OK(kernels_.Add(
        OwnedKernelRow("L2Loss", [](const KernelConstruction&) { return std::make_unique<SumOfShardsKernel>(); })));
  }

  // Values of many magnitudes, so that each order of adding them rounds differently.
  static Tensor Values(int64_t rows, int64_t columns, uint32_t seed) {
    Tensor made = *Tensor::Make(DType::kFloat, Shape::Of({rows, columns}));
    for (float& x : made.flat<float>()) {
      seed = seed * 1664525 + 1013904223;
      x = (static_cast<float>(seed >> 8 & 0xffff) / 65536.0f - 0.5f) * ((seed >> 24 & 7) == 0 ? 3.0f : 0.01f);
    }
    return made;
  }
  Output Vector(const char* name, std::vector<int32_t> values) {
    return b_.Const(name, Tensor::Vector<int32_t>(values));
  }

  void AddGraph() {
    const Output x = b_.Placeholder("x", DType::kFloat, PartialShape::Of({kRows, kColumns}));
    const Output w = b_.Const("w", Values(kColumns, kColumns, 5));
    const Output y = b_.Op("MatMul", "y", {x, w});
    const Output soft = b_.Op("Softmax", "soft", {b_.Op("Softmax", "soft1", {y})});
    const Output big =
        b_.Op("Exp", "big",
              {b_.Op("AddV2", "wide",
                     {b_.Const("v", Values(512, kColumns, 7)), b_.Op("Mean", "means", {soft, Vector("a0", {0})})})});
    b_.Op("Sum", "sum", {big, Vector("all", {0, 1})});
    b_.Op("Mean", "mean", {big, Vector("a1", {1})});
    b_.Op("L2Loss", "by_shards", {big});
    AddLoop(x, w);
    AddVariable(x, y);
  }

  // h = softmax(h w) + 0.9 h, five times.
  void AddLoop(Output x, Output w) {
    const auto enter = [&](const char* name, Output value, bool constant) {
      return b_.Op("Enter", name, {value}, {{"frame_name", "f"}, {"is_constant", constant}});
    };
    const Output i_in = enter("i_in", b_.Const("zero", Int(0)), false), h_in = enter("h_in", x, false);
    const Output i = b_.Op("Merge", "i", {i_in, i_in}), h = b_.Op("Merge", "h", {h_in, h_in});
    const Output limit = enter("limit", b_.Const("five", Int(5)), true), w_in = enter("w_in", w, true);
    const Output one = enter("one", b_.Const("c1", Int(1)), true);
    const Output decay = enter("decay", b_.Const("c09", Tensor::Scalar(0.9f)), true);
    const Output cond = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {i, limit})});
    const Output i_ports = b_.Op("Switch", "i_switch", {i, cond}), h_ports = b_.Op("Switch", "h_switch", {h, cond});
    const Output body = GraphBuilder::Nth(h_ports, 1);
    const Output next = b_.Op(
        "AddV2", "h_new",
        {b_.Op("Softmax", "h_soft", {b_.Op("MatMul", "h_w", {body, w_in})}), b_.Op("Mul", "h_kept", {body, decay})});
    b_.SetInput(h, 1, b_.Op("NextIteration", "h_next", {next}));
    const Output i_new = b_.Op("AddV2", "i_new", {GraphBuilder::Nth(i_ports, 1), one});
    b_.SetInput(i, 1, b_.Op("NextIteration", "i_next", {i_new}));
    b_.Op("Exit", "loop", {h_ports});
  }

  // Updates in any order: only a fixed order of nodes gives fixed bits.
  void AddVariable(Output x, Output y) {
    const Output v =
        b_.Op("VariableV2", "var", {}, {{"dtype", DType::kFloat}, {"shape", Shape::Of({kRows, kColumns})}});
    const Output start = b_.Op("Assign", "start", {v, x});
    const Output read = b_.Op("Neg", "state", {v});
    for (int i = 0; i < 6; ++i) {
      const Output other = b_.Const(absl::StrCat("w", i), Values(kColumns, kColumns, 100 + static_cast<uint32_t>(i)));
      const Output update = b_.Op("AssignAdd", absl::StrCat("update", i), {v, b_.Op("MatMul", "", {y, other})});
      b_.AddControl(update, start);
      b_.AddControl(read, update);
    }
  }

  void OpenWith(int num_threads, bool deterministic) {
    SessionOptions options;
    options.num_threads = num_threads;
    options.deterministic = deterministic;
    options.driver = GetParam();
    options.kernels = &kernels_;
    Open(options);
  }
  // The bytes of each fetch.
  std::map<std::string, std::string> RunOnce() {
    const std::vector<std::string> names = {"y", "soft", "sum", "mean", "by_shards", "loop", "state"};
    std::map<std::string, std::string> bytes;
    absl::StatusOr<std::vector<Tensor>> values = session_->Run({{"x", Values(kRows, kColumns, 3)}}, names, {});
    EXPECT_OK(values);
    if (!values.ok()) return bytes;
    for (size_t i = 0; i < names.size(); ++i) bytes[names[i]] = std::string((*values)[i].bytes());
    return bytes;
  }

  KernelRegistry kernels_;
};

TEST_P(DeterminismTest, TheBitsAreTheSameForAnyNumberOfThreadsOverAHundredRuns) {
  AddGraph();
  std::map<std::string, std::string> expected;
  for (const int threads : {1, 2, 8}) {
    OpenWith(threads, /*deterministic=*/true);
    for (int run = 0; run < 100 && !HasFailure(); ++run) {
      const std::map<std::string, std::string> found = RunOnce();
      if (expected.empty()) expected = found;
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [name, bytes] : found) {
        EXPECT_TRUE(bytes == expected[name]) << name << " in run " << run << " of " << threads << " threads";
      }
    }
  }
}

TEST_P(DeterminismTest, TheBitsAreTheSameOnTwoDevicesToo) {
  const Output x = b_.Placeholder("x", DType::kFloat, PartialShape::Of({kRows, kColumns}));
  AddVariable(x, b_.Op("MatMul", "y", {x, b_.Const("w", Values(kColumns, kColumns, 5))}));
  int num_products = 0;  // Every second one is made on the other device.
  for (const NodeId id : b_.graph().Nodes()) {
    const bool is_away = b_.graph().Is(id, "MatMul") && num_products++ % 2 == 1;
    b_.graph().SetDevice(id, is_away ? "/device:CPU:1" : "/device:CPU:0");
  }
  ASSERT_EQ(num_products, 7);
  std::string expected;
  for (const int threads : {1, 2, 8}) {
    SessionOptions options;
    options.num_threads = threads;
    options.deterministic = true;
    options.num_cpu_devices = 2;
    options.cut_by_device = true;
    Open(options);
    for (int run = 0; run < 100 && !HasFailure(); ++run) {
      ASSERT_OK_AND_ASSIGN(const Tensor state, Fetch("state", {{"x", Values(kRows, kColumns, 3)}}));
      if (expected.empty()) expected = std::string(state.bytes());
      EXPECT_TRUE(state.bytes() == expected) << "run " << run << " of " << threads << " threads";
    }
  }
}

TEST_P(DeterminismTest, WithoutTheOptionShardsShowInTheBits) {
  AddGraph();
  OpenWith(1, /*deterministic=*/false);
  const std::string alone = RunOnce()["by_shards"];
  OpenWith(8, /*deterministic=*/false);
  EXPECT_NE(RunOnce()["by_shards"], alone) << "the comparison above can fail";
}

INSTANTIATE_TEST_SUITE_P(Drivers, DeterminismTest, testing::Values(Driver::kAuto, Driver::kDataflow));

}  // namespace
}  // namespace sluice
