// How serial programs run: memory, errors, cancellation. What they answer is tested by random_programs_test.

#include "executor/serial/serial_program.h"

#include <thread>

#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/testing/serial_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class SerialProgramTest : public ::testing::Test {
 protected:
  SerialProgramTest() : b_(NewOpRegistry()) {}

  Output Arg(int index, DType type = DType::kInt32) {
    return b_.Op("_Arg", absl::StrCat("arg", index), {}, {{"T", type}, {"index", index}});
  }
  void Return(Output value, int index = 0) {
    b_.Op("_Retval", absl::StrCat("ret", index), {value}, {{"index", index}});
  }
  // From x, `limit` times or (negative) for ever: x := FloorDiv(x + 1, divisor).
  void AddLoop(Output x, Output divisor, int32_t limit) {
    const auto enter = [&](absl::string_view name, Output data, bool is_constant) {
      return b_.Op("Enter", name, {data}, {{"frame_name", "f"}, {"is_constant", is_constant}});
    };
    const Output zero = b_.Const("zero", Tensor::Scalar<int32_t>(0)), one = b_.Const("one", Tensor::Scalar<int32_t>(1));
    const Output i = b_.Op("Merge", "i", {enter("i_enter", zero, false), Output()}, {{"T", DType::kInt32}, {"N", 2}});
    const Output v = b_.Op("Merge", "v", {enter("v_enter", x, false), Output()}, {{"T", DType::kInt32}, {"N", 2}});
    const Output last = enter("last", b_.Const("limit", Tensor::Scalar(limit < 0 ? 2'000'000'000 : limit)), true);
    const Output step = enter("step", one, true), by = enter("by", divisor, true);
    const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {i, last})});
    const Output i_ports = b_.Op("Switch", "i_switch", {i, condition}),
                 v_ports = b_.Op("Switch", "v_switch", {v, condition});
    const Output sum = b_.Op("AddV2", "sum", {GraphBuilder::Nth(v_ports, 1), step});
    const Output next = b_.Op("FloorDiv", "quotient", {sum, by});
    b_.SetInput(v, 1, b_.Op("NextIteration", "v_next", {next}));
    b_.SetInput(i, 1,
                b_.Op("NextIteration", "i_next", {b_.Op("AddV2", "count", {GraphBuilder::Nth(i_ports, 1), step})}));
    Return(b_.Op("Exit", "exit", {v_ports}));
  }
  void Compile() {
    absl::StatusOr<Graph> graph = b_.Build();
    ASSERT_OK(graph);
    runner_ = std::make_unique<SerialRunner>(*std::move(graph));
    ASSERT_OK(runner_->Prepare());
    ASSERT_NE(runner_->program(), nullptr) << runner_->why_not();
  }
  static Tensor Big() { return Tensor::Vector<int32_t>(std::vector<int32_t>(10'000, 7)); }

  // One run of a single argument, given up, and result.
  absl::StatusOr<Tensor> Run(Tensor arg, SerialRunOptions options = {}) {
    std::vector<Tensor> args;
    args.push_back(std::move(arg));
    SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> results, runner_->Run(std::move(args), options));
    return std::move(results[0]);
  }

  GraphBuilder b_;
  std::unique_ptr<SerialRunner> runner_;
};

TEST_F(SerialProgramTest, AChainRunsInPlaceAndInTwoRegisters) {
  Output x = Arg(0);
  for (int i = 0; i < 1000; ++i) x = b_.Op("Neg", absl::StrCat("n", i), {x});
  Return(x);
  Compile();
  EXPECT_LE(runner_->program()->num_registers(), 2);
  Tensor big = Big();
  const void* const memory = big.raw_data();
  ASSERT_OK_AND_ASSIGN(const Tensor result, Run(std::move(big)));
  EXPECT_EQ(result.raw_data(), memory);
  EXPECT_EQ(result.flat<int32_t>()[5000], 7);
}

TEST_F(SerialProgramTest, ALoopVariableIsUpdatedInPlace) {
  AddLoop(Arg(0), b_.Const("divisor", Tensor::Scalar<int32_t>(1)), 100);
  Compile();
  Tensor big = Big();
  const void* const memory = big.raw_data();
  ASSERT_OK_AND_ASSIGN(const Tensor result, Run(std::move(big)));
  EXPECT_EQ(result.raw_data(), memory);
  EXPECT_EQ(result.flat<int32_t>()[9999], 107);
}

TEST_F(SerialProgramTest, AValueThatIsReadAgainIsNotOverwritten) {
  const Output x = Arg(0);
  const Output n = b_.Op("Neg", "n", {x});
  Return(b_.Op("Sub", "s", {x, n}));
  Return(x, 1);
  Compile();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, runner_->Run({Big()}));
  EXPECT_EQ(results[0].flat<int32_t>()[0], 14);
  EXPECT_EQ(results[1].flat<int32_t>()[0], 7);
}

TEST_F(SerialProgramTest, AnErrorInALoopNamesItsNodeAndLeavesNothing) {
  AddLoop(Arg(0), b_.Const("divisor", Tensor::Scalar<int32_t>(0)), 100);
  Compile();
  const int64_t before = HostAllocatorLiveBytes();
  EXPECT_THAT(Run(Big()), StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
  EXPECT_EQ(HostAllocatorLiveBytes(), before);
}

TEST_F(SerialProgramTest, AnErrorInABranchComesOnlyWhenItIsTaken) {
  const Output p = Arg(0, DType::kBool);
  const Output ports = b_.Op("Switch", "s", {b_.Const("c", Tensor::Scalar<int32_t>(5)), p});
  const Output bad = b_.Op("FloorDiv", "bad", {GraphBuilder::Nth(ports, 1), b_.Const("z", Tensor::Scalar<int32_t>(0))});
  Return(b_.Op("Merge", "m", {ports, bad}));
  Compile();
  ASSERT_OK_AND_ASSIGN(const Tensor fine, Run(Tensor::Scalar(false)));
  EXPECT_EQ(*fine.AsScalar<int32_t>(), 5);
  EXPECT_THAT(Run(Tensor::Scalar(true)), StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
}

TEST_F(SerialProgramTest, CancellationEndsAnEndlessLoop) {
  AddLoop(Arg(0), b_.Const("divisor", Tensor::Scalar<int32_t>(1)), -1);
  Compile();
  CancellationManager cancellation;
  runner_->cancellation = &cancellation;
  absl::Time cancelled;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    cancelled = absl::Now();
    cancellation.StartCancel();
  });
  EXPECT_THAT(Run(Tensor::Scalar<int32_t>(1)), StatusIs(absl::StatusCode::kCancelled));
  const absl::Time ended = absl::Now();
  canceller.join();
  EXPECT_LT(ended - cancelled, absl::Milliseconds(50));
}

TEST_F(SerialProgramTest, ADeadlineEndsAnEndlessLoop) {
  AddLoop(Arg(0), b_.Const("divisor", Tensor::Scalar<int32_t>(1)), -1);
  Compile();
  SerialRunOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(Run(Tensor::Scalar<int32_t>(1), options), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(absl::Now() - options.deadline, absl::Milliseconds(500));
}

}  // namespace
}  // namespace sluice
