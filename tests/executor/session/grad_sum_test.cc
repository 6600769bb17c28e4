// GradSum, the op that joins gradients, from a graph to its answers.

#include "absl/strings/str_cat.h"
#include "graph/value/allocator.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

// Graphs of vectors under a fed predicate. The parameter is the driver.
class GradSumTest : public SessionFixture, public ::testing::WithParamInterface<Driver> {
 protected:
  // Two sides of a vector of `size` elements on predicate "p".
  Output Sides(int size = 100) {
    const Output x = b_.Placeholder("x", DType::kFloat);
    const Output p = b_.Placeholder("p", DType::kBool, PartialShape::Scalar());
    size_ = size;
    return b_.Op("Switch", "sides", {x, p});
  }
  static Output True(Output sides) { return GraphBuilder::Nth(sides, 1); }
  void OpenDriver() {
    SessionOptions options;
    options.driver = GetParam();
    Open(options);
  }
  // All elements of the fetched vector, which must be equal.
  float FetchAll(const std::string& name, float x, bool p) {
    const Tensor fed = Tensor::Vector<float>(std::vector<float>(static_cast<size_t>(size_), x));
    absl::StatusOr<Tensor> value = Fetch(name, {{"x", fed}, {"p", Tensor::Scalar(p)}});
    EXPECT_OK(value);
    if (!value.ok()) return -1e9f;
    EXPECT_EQ(value->num_elements(), size_);
    for (const float element : value->flat<float>()) EXPECT_EQ(element, value->flat<float>()[0]);
    for (const float element : fed.flat<float>()) EXPECT_EQ(element, x) << "what was fed stays as it was";
    return value->flat<float>()[0];
  }

  int size_ = 0;
};

TEST_P(GradSumTest, AddsTheSideThatIsLive) {
  const Output sides = Sides();
  const Output neg = b_.Op("Neg", "neg", {True(sides)}), square = b_.Op("Square", "square", {sides});
  b_.Op("GradSum", "sum", {neg, square, b_.Op("Identity", "x2", {b_.graph().inputs(sides.node)[0]})});
  OpenDriver();
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(FetchAll("sum", 3, true), -3 + 3);
    EXPECT_EQ(FetchAll("sum", 3, false), 9 + 3);
  }
}

TEST_P(GradSumTest, IsDeadWhenNothingIsLive) {
  const Output sides = Sides();
  b_.Op("GradSum", "sum", {b_.Op("Neg", "neg", {True(sides)}), True(sides)});
  b_.Op("Merge", "joined",
        {b_.Op("Square", "square", {sides}), b_.Op("Identity", "s", {b_.Op("Abs", "abs", {True(sides)})})});
  OpenDriver();
  const Tensor fed = Tensor::Vector<float>(std::vector<float>(100, 2.0f));
  EXPECT_THAT(Fetch("sum", {{"x", fed}, {"p", Tensor::Scalar(false)}}), IsError(ErrorCode::kFetchDead, "sum"));
  EXPECT_EQ(FetchAll("sum", 2, true), 0);
  EXPECT_EQ(FetchAll("joined", 2, false), 4);
}

TEST_P(GradSumTest, ConstantsOfABranchAreAddedWithIt) {
  const Output sides = Sides(10);
  const Output ones = b_.Const("ones", Tensor::Vector<float>(std::vector<float>(10, 1.0f)));
  b_.AddControl(ones, b_.Op("Identity", "pivot", {True(sides)}));
  b_.Op("GradSum", "sum", {ones, b_.Op("Neg", "neg", {sides}), b_.Op("Identity", "y", {True(sides)})});
  OpenDriver();
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(FetchAll("sum", 5, false), -5);
    EXPECT_EQ(FetchAll("sum", 5, true), 6);
  }
}

TEST_P(GradSumTest, ReadsVariablesBehindReferences) {
  const Output sides = Sides(10);
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape::Of({10})}});
  b_.Op("Assign", "start", {v, b_.Const("sevens", Tensor::Vector<float>(std::vector<float>(10, 7.0f)))});
  const Output ports = b_.Op("RefSwitch", "ports", {v, b_.graph().inputs(sides.node)[1]});
  b_.Op("GradSum", "sum", {v, b_.Op("Neg", "neg", {True(sides)})});
  b_.Op("GradSum", "of_port", {sides, True(ports), b_.Op("Square", "square", {True(sides)})});
  OpenDriver();
  EXPECT_THAT(Fetch("sum", {{"x", Tensor::Scalar(1.0f)}, {"p", Tensor::Scalar(true)}}),
              IsError(ErrorCode::kUninitialized, "GradSum 'sum': input 0 'v"));
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(FetchAll("sum", 2, true), 5);
    EXPECT_EQ(FetchAll("sum", 2, false), 7) << "and the variable was not written";
    EXPECT_EQ(FetchAll("of_port", 2, true), 11);
    EXPECT_EQ(FetchAll("of_port", 2, false), 2);
  }
}

TEST_P(GradSumTest, WorksInLoops) {
  // i from 0 to 10; sum += i where i is below 4, 2 * i otherwise.
  const auto enter = [&](const char* name, Output x, bool constant) {
    return b_.Op("Enter", name, {x}, {{"frame_name", "f"}, {"is_constant", constant}, {"parallel_iterations", 2}});
  };
  const auto variable = [&](const char* name) {
    const Output in = enter(absl::StrCat(name, "_in").c_str(), b_.Const("", Int(0)), false);
    return b_.Op("Merge", name, {in, Output()}, {{"T", DType::kInt32}, {"N", 2}});
  };
  const Output i = variable("i"), sum = variable("sum");
  const Output limit = enter("limit", b_.Const("ten", Int(10)), true),
               four = enter("four", b_.Const("c4", Int(4)), true);
  const Output cond = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {i, limit})});
  const Output body_i = True(b_.Op("Switch", "i_switch", {i, cond}));
  const Output sum_ports = b_.Op("Switch", "sum_switch", {sum, cond});
  const Output sides = b_.Op("Switch", "side", {body_i, b_.Op("Less", "low", {body_i, four})});
  const Output twice = b_.Op("AddV2", "twice", {sides, sides});
  const Output added = b_.Op("GradSum", "added", {True(sum_ports), True(sides), twice});
  const Output one = enter("one", b_.Const("c1", Int(1)), true);
  b_.SetInput(i, 1, b_.Op("NextIteration", "i_next", {b_.Op("AddV2", "plus", {body_i, one})}));
  b_.SetInput(sum, 1, b_.Op("NextIteration", "sum_next", {added}));
  b_.Op("Exit", "total", {sum_ports});
  OpenDriver();
  for (int run = 0; run < 3; ++run) ExpectFetch("total", 0 + 1 + 2 + 3 + 2 * (4 + 5 + 6 + 7 + 8 + 9));
}

TEST_P(GradSumTest, SumsStartWithTheFirstLiveInput) {
  const Output sides = Sides(2000);
  const Output big = b_.Const("big", Tensor::Vector<float>(std::vector<float>(2000, 1e8f)));
  const Output minus = b_.Const("minus", Tensor::Vector<float>(std::vector<float>(2000, -1e8f)));
  b_.Op("GradSum", "sum", {b_.Op("Neg", "neg", {sides}), big, minus, True(sides)});
  b_.Op("GradSum", "other", {True(sides), big, minus, sides});
  OpenDriver();
  EXPECT_EQ(FetchAll("sum", 1, true), 1.0f) << "1e8 - 1e8 + 1";
  EXPECT_EQ(FetchAll("other", 1, true), 0.0f) << "1 + 1e8 - 1e8";
}

TEST_P(GradSumTest, NothingIsLeftWhicheverSideIsLive) {
  const Output sides = Sides(1000);
  b_.Op("GradSum", "sum", {b_.Op("Neg", "neg", {True(sides)}), b_.Op("Abs", "abs", {sides})});
  OpenDriver();
  FetchAll("sum", 1, true);
  FetchAll("sum", 1, false);
  const int64_t before = HostAllocatorLiveBytes();
  for (int run = 0; run < 20; ++run) FetchAll("sum", 1, run % 3 == 0);
  EXPECT_EQ(HostAllocatorLiveBytes(), before);
}

INSTANTIATE_TEST_SUITE_P(Drivers, GradSumTest, testing::Values(Driver::kAuto, Driver::kDataflow));

class WrongGradSumTest : public SessionFixture {};

TEST_F(WrongGradSumTest, ShapesThatDifferAreNamed) {
  const Output x = b_.Placeholder("x", DType::kFloat), y = b_.Placeholder("y", DType::kFloat);
  b_.Op("GradSum", "sum", {x, y});
  Open();
  EXPECT_THAT(Fetch("sum", {{"x", Tensor::Vector<float>({1, 2})}, {"y", Tensor::Vector<float>({1, 2, 3})}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "GradSum 'sum'"));
}

TEST_F(WrongGradSumTest, OtherThanNumbersCannotBeAdded) {
  const Output p = b_.Placeholder("p", DType::kBool);
  b_.Op("GradSum", "sum", {p, p});
  EXPECT_THAT(b_.status(), StatusIs(absl::StatusCode::kInvalidArgument, "T"));
}

TEST_F(WrongGradSumTest, TypesThatDifferAreRefused) {
  b_.Op("GradSum", "sum", {b_.Placeholder("x", DType::kFloat), b_.Placeholder("y", DType::kInt32)});
  EXPECT_THAT(b_.status(), StatusIs(absl::StatusCode::kInvalidArgument, "sum"));
}

TEST_F(WrongGradSumTest, NoInputIsTooFew) {
  b_.Op("GradSum", "sum", {}, {{"N", 0}, {"T", DType::kFloat}});
  Open();
  EXPECT_THAT(Fetch("sum"), StatusIs(absl::StatusCode::kInvalidArgument, "GradSum 'sum'"));
}

TEST_F(WrongGradSumTest, NumbersWithoutAKernelAreNamed) {
  const Output x = b_.Placeholder("x", DType::kQInt8);
  b_.Op("GradSum", "sum", {x, x});
  Open();
  EXPECT_THAT(Fetch("sum", {{"x", Tensor()}}), IsError(ErrorCode::kNoKernel, "GradSum 'sum'"));
}

TEST_F(WrongGradSumTest, ASerialSessionSaysWhyNot) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("GradSum", "sum", {x, x});
  SessionOptions options;
  options.driver = Driver::kSerial;
  Open(options);
  EXPECT_THAT(Fetch("sum", {{"x", Tensor::Scalar(1.0f)}}),
              IsError(ErrorCode::kCannotRun, "joins live and dead values"));
}

}  // namespace
}  // namespace sluice
