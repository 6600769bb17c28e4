// Which values share a register and who is the last to read one. See Note [Registers].

#include "executor/serial/register_plan.h"

#include <memory>
#include <set>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/serial_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class RegisterPlanTest : public ::testing::Test {
 protected:
  RegisterPlanTest() : b_(NewOpRegistry()) {}

  Output Arg(int index, DType type = DType::kInt32) {
    return b_.Op("_Arg", absl::StrCat("arg", index), {}, {{"T", type}, {"index", index}});
  }
  void Return(Output value, int index = 0) {
    b_.Op("_Retval", absl::StrCat("ret", index), {value}, {{"index", index}});
  }
  void Plan() {
    absl::StatusOr<Graph> graph = b_.Build();
    ASSERT_OK(graph);
    runner_ = std::make_unique<SerialRunner>(*std::move(graph));
    ASSERT_OK(runner_->Prepare());
    absl::StatusOr<SerialStructure> structure = SerialStructure::Analyze(runner_->graph(), runner_->kernels());
    ASSERT_OK(structure);
    structure_ = std::make_unique<SerialStructure>(*std::move(structure));
    std::string why_not;
    ASSERT_TRUE(SerialCode::Write(*structure_, &code_, &why_not)) << why_not;
    plan_ = std::make_unique<RegisterPlan>(code_);
  }
  int32_t RegisterOf(const std::string& node) {
    return plan_->register_of(structure_->value({runner_->graph().Find(node), 0}));
  }
  // Whether `reader`, a node that computes, is the last to read its input `i`.
  bool IsLastRead(const std::string& reader, size_t i = 0) {
    const NodeId wanted = runner_->graph().Find(reader);
    size_t read = 0;
    for (const SerialStep& step : code_.steps()) {
      size_t number = 0;
      bool found = false, is_last = false;
      RegisterPlan::VisitReads(code_, step, [&](int32_t) {
        if (step.op == SerialOp::kCompute && step.node == wanted && number++ == i) {
          found = true;
          is_last = plan_->IsLastRead(read);
        }
        ++read;
      });
      if (found) return is_last;
    }
    ADD_FAILURE() << reader << " reads nothing";
    return false;
  }
  // Whether some register is cleared between the steps where blocks open and the end.
  bool IsCleared(int32_t reg) {
    for (const auto& [step, cleared] : plan_->clears()) {
      if (cleared == reg) return true;
    }
    return false;
  }

  GraphBuilder b_;
  std::unique_ptr<SerialRunner> runner_;
  std::unique_ptr<SerialStructure> structure_;
  SerialCode code_;
  std::unique_ptr<RegisterPlan> plan_;
};

TEST_F(RegisterPlanTest, AChainOfAThousandNodesRunsInTwoRegisters) {
  Output x = Arg(0);
  for (int i = 0; i < 1000; ++i) x = b_.Op("Neg", absl::StrCat("neg", i), {x});
  Return(x);
  Plan();
  EXPECT_LE(plan_->num_registers(), 2);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(IsLastRead(absl::StrCat("neg", i)));
}

TEST_F(RegisterPlanTest, ValuesThatLiveAtOnceLieApart) {
  const Output x = Arg(0);
  std::vector<Output> values;
  for (int i = 0; i < 10; ++i) values.push_back(b_.Op("Neg", absl::StrCat("neg", i), {x}));
  Return(b_.Op("AddN", "sum", values));
  Plan();
  std::set<int32_t> registers;
  for (int i = 0; i < 10; ++i) registers.insert(RegisterOf(absl::StrCat("neg", i)));
  EXPECT_EQ(registers.size(), 10u);
  int num_last = 0;
  for (int i = 0; i < 10; ++i) num_last += IsLastRead(absl::StrCat("neg", i)) ? 1 : 0;
  EXPECT_EQ(num_last, 1) << "one of the ten is the last to read x";
}

TEST_F(RegisterPlanTest, ANodeThatReadsAValueTwiceDoesNotTakeItOver) {
  const Output x = b_.Op("Neg", "x", {Arg(0)});
  Return(b_.Op("AddV2", "twice", {x, x}));
  Plan();
  EXPECT_FALSE(IsLastRead("twice", 0));
  EXPECT_FALSE(IsLastRead("twice", 1));
  EXPECT_TRUE(IsCleared(RegisterOf("x")));
}

TEST_F(RegisterPlanTest, ConstantsHaveNoRegisterAndNoLastReader) {
  Return(b_.Op("AddV2", "sum", {Arg(0), b_.Const("c", Tensor::Scalar<int32_t>(5))}));
  Plan();
  EXPECT_EQ(RegisterOf("c"), -1);
  EXPECT_TRUE(IsLastRead("sum", 0));
  EXPECT_FALSE(IsLastRead("sum", 1));
}

TEST_F(RegisterPlanTest, EachSideOfAConditionalMayBeTheLastToRead) {
  const Output sw = b_.Op("Switch", "sw", {b_.Op("Neg", "x", {Arg(0)}), Arg(1, DType::kBool)});
  const Output off = b_.Op("Abs", "off", {sw}), on = b_.Op("Square", "on", {GraphBuilder::Nth(sw, 1)});
  Return(b_.Op("Merge", "merge", {off, on}));
  Plan();
  EXPECT_TRUE(IsLastRead("off"));
  EXPECT_TRUE(IsLastRead("on"));
}

TEST_F(RegisterPlanTest, WhatOnlyASkippedBlockReadsIsClearedBehindIt) {
  const Output p = Arg(1, DType::kBool);
  const Output x = b_.Op("Neg", "x", {Arg(0)}), y = b_.Op("Square", "y", {Arg(2)});
  const Output of_x = b_.Op("Switch", "sx", {x, p}), of_y = b_.Op("Switch", "sy", {y, p});
  const Output on = b_.Op("Sign", "on", {GraphBuilder::Nth(of_x, 1)});
  Return(b_.Op("Merge", "merge", {b_.Op("Abs", "off", {of_y}), on}));
  Plan();
  EXPECT_TRUE(IsLastRead("on"));
  EXPECT_TRUE(IsCleared(RegisterOf("x")));
  EXPECT_TRUE(IsCleared(RegisterOf("y")));
}

TEST_F(RegisterPlanTest, AValueFromOutsideLivesAsLongAsTheLoopThatReadsIt) {
  const auto enter = [&](const char* name, Output data, bool is_constant) {
    return b_.Op("Enter", name, {data}, {{"frame_name", "f"}, {"is_constant", is_constant}});
  };
  const Output outside = b_.Op("Neg", "outside", {Arg(0)}), start = b_.Op("Square", "start", {Arg(1)});
  const Output in = enter("in", start, false), captured = enter("captured", outside, true);
  const Output limit = enter("limit", b_.Const("c", Tensor::Scalar<int32_t>(100)), true);
  const Output v = b_.Op("Merge", "v", {in, in});
  const Output cond = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {v, limit})});
  const Output ports = b_.Op("Switch", "ports", {v, cond});
  const Output sum = b_.Op("AddV2", "sum", {GraphBuilder::Nth(ports, 1), captured});
  const Output twice = b_.Op("Sign", "sign", {sum});
  b_.SetInput(v, 1, b_.Op("NextIteration", "next", {b_.Op("AddV2", "more", {twice, captured})}));
  Return(b_.Op("Exit", "exit", {ports}));
  Plan();
  EXPECT_FALSE(IsLastRead("sum", 1)) << "read again behind it";
  EXPECT_FALSE(IsLastRead("more", 1)) << "read again in the next iteration";
  EXPECT_TRUE(IsLastRead("sum", 0)) << "the loop variable is overwritten behind it";
  for (const char* inside : {"sum", "sign", "more", "less"}) EXPECT_NE(RegisterOf(inside), RegisterOf("outside"));
  EXPECT_TRUE(IsCleared(RegisterOf("outside")));
}

TEST_F(RegisterPlanTest, ReferencesAreNeverTakenOver) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  const Output set = b_.Op("Assign", "set", {v, Arg(0)});
  Return(b_.Op("Neg", "read", {b_.Op("AssignAdd", "add", {set, Arg(1)})}));
  Plan();
  EXPECT_FALSE(IsLastRead("set", 0));
  EXPECT_TRUE(IsLastRead("set", 1));
  EXPECT_FALSE(IsLastRead("add", 0));
}

}  // namespace
}  // namespace sluice
