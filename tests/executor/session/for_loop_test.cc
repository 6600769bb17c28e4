// The op For: a kernel that calls its body in a loop. Answers are TensorFlow's.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/executor/session/called_functions_fixture.h"

namespace sluice {
namespace {

class ForLoopTest : public CalledFunctionsTest {
 protected:
  ForLoopTest() {
    // x -> 2 x + i
    FunctionText("Body")
        .Arg("i: int32")
        .Arg("x: float")
        .Result("y: float", "y:z:0")
        .Node("f = Cast(i)", {{"SrcT", DType::kInt32}, {"DstT", DType::kFloat}})
        .Node("twice = AddV2(x, x)", {{"T", DType::kFloat}})
        .Node("y = AddV2(twice:z:0, f:y:0)", {{"T", DType::kFloat}})
        .AddTo(b_.graph());
    FunctionText("Next")
        .Arg("i: int32")
        .Arg("x: float")
        .Result("y: float", "y:z:0")
        .Node("one = Const()", {{"dtype", DType::kFloat}, {"value", Float(1)}})
        .Node("y = AddV2(x, one:output:0)", {{"T", DType::kFloat}})
        .AddTo(b_.graph());
    FunctionText("Nothing").Arg("i: int32").AddTo(b_.graph());
    for (const char* body : {"Body", "Next"}) {
      b_.Op("For", body, {start_, limit_, delta_, x_}, Attrs(body, {DType::kFloat}));
    }
  }
  static GraphBuilder::Attrs Attrs(absl::string_view body, const std::vector<DType>& types) {
    return {{"T", types}, {"body", AttrValue::Func(body, {})}};
  }
  absl::StatusOr<Tensor> Loop(const std::string& name, int32_t start, int32_t limit, int32_t delta) {
    return Fetch(name, {{"start", Int(start)}, {"limit", Int(limit)}, {"delta", Int(delta)}, {"x", Float(1)}});
  }
  void ExpectLoop(const std::string& name, int32_t start, int32_t limit, int32_t delta, float expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor value, Loop(name, start, limit, delta));
    EXPECT_EQ(*value.AsScalar<float>(), expected) << start << " to " << limit << " by " << delta;
  }

  const Output start_ = b_.Placeholder("start", DType::kInt32), limit_ = b_.Placeholder("limit", DType::kInt32);
  const Output delta_ = b_.Placeholder("delta", DType::kInt32), x_ = PlaceholderX();
};

TEST_F(ForLoopTest, TheBodyIsCalledWithEachNumber) {
  for (const CallPolicy policy : kPolicies) {
    for (const Driver driver : kDrivers) {
      OpenWith(policy, driver);
      ExpectLoop("Body", 0, 5, 1, 58);
      ExpectLoop("Body", 1, 6, 2, 23);
      ExpectLoop("Body", 5, 0, -2, 35);
      ExpectLoop("Body", 3, 3, 1, 1);
      ExpectLoop("Body", 3, 3, 0, 1);
      ExpectLoop("Body", 2147483645, 2147483647, 2, 2147483647.0f);
    }
  }
}

TEST_F(ForLoopTest, AStepMustLeadToTheLimit) {
  Open();
  for (const int32_t delta : {0, -1}) {
    EXPECT_THAT(Loop("Body", 0, 3, delta), IsError(ErrorCode::kOpValue, "a step that leads from 0 to 3"));
  }
  EXPECT_THAT(Loop("Body", 3, 0, 1), IsError(ErrorCode::kOpValue, "'delta'"));
  EXPECT_THAT(
      Fetch("Body", {{"start", Tensor::Vector<int32_t>({0})}, {"limit", Int(3)}, {"delta", Int(1)}, {"x", Float(1)}}),
      IsError(ErrorCode::kOpShape, "'start'"));
}

TEST_F(ForLoopTest, ALongLoopTakesNoStack) {
  Open();
  ExpectLoop("Next", 0, 100'000, 1, 100'001);
}

TEST_F(ForLoopTest, ABodyOfAnotherSignatureIsRefused) {
  b_.Op("For", "none", {start_, limit_, delta_}, Attrs("Nothing", {}));
  b_.Op("For", "wrong", {start_, limit_, delta_, x_}, Attrs("Nothing", {DType::kFloat}));
  Open();
  const NamedTensors range = {{"start", Int(0)}, {"limit", Int(3)}, {"delta", Int(1)}};
  EXPECT_OK(session_->Run(range, {}, {"none"}));
  EXPECT_THAT(Loop("wrong", 0, 3, 1), IsError(ErrorCode::kOpAttr, "(int32) -> ()"));
}

TEST_F(ForLoopTest, TheDeadlineEndsIt) {
  Open();
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(
      Fetch("Next", {{"start", Int(0)}, {"limit", Int(2'000'000'000)}, {"delta", Int(1)}, {"x", Float(1)}}, call),
      IsError(ErrorCode::kDeadline));
}

}  // namespace
}  // namespace sluice
