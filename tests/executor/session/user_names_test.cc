// Errors of steps speak of what the user wrote, not of the nodes that sessions make.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

// Parts of names that only rewrites make.
constexpr absl::string_view kMade[] = {
    "_arg_",   "_retval_", "_recv_", "_send_", "Func/",   "/input/_", "/output/_", "/merge_",      "/switch_", "/pivot",
    "/enter_", "/exit_",   "/next_", "_Arg",   "_Retval", "/_0",      "/_1",       "body_control", "loop_cond"};

class UserNamesTest : public SessionFixture {
 protected:
  // y = x tiled over [num, num]: fails where num is not a scalar, or is negative.
  void AddFill() {
    dims_ = b_.Placeholder("wanted", DType::kInt32);
    b_.Op("Fill", "y", {dims_, b_.Const("one", Tensor::Scalar(1.0f))});
  }
  // The function `name` with a Fill in its body.
  void AddFillFunction(absl::string_view name) {
    FunctionText(name)
        .Arg("d: int32")
        .Result("r: float", "fill:output:0")
        .Node("value = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(1.0f)}})
        .Node("fill = Fill(d, value:output:0)", {{"T", DType::kFloat}})
        .AddTo(b_.graph());
  }

  // The error of fetching `name` under both drivers, which must be one.
  ErrorInfo Fail(const std::string& name, const NamedTensors& feeds, SessionOptions options = {}) {
    ErrorInfo first;
    for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
      options.driver = driver;
      Open(options);
      const absl::Status status = Fetch(name, feeds).status();
      EXPECT_FALSE(status.ok());
      const std::optional<ErrorInfo> info = ErrorInfoOf(status);
      EXPECT_TRUE(info.has_value()) << status;
      if (!info.has_value()) return first;
      for (const absl::string_view made : kMade) {
        EXPECT_FALSE(absl::StrContains(FormatError(status), made)) << FormatError(status);
      }
      if (driver == Driver::kDataflow) {
        EXPECT_EQ(info->node + info->input_name, first.node + first.input_name);
      }
      first = *info;
    }
    return first;
  }

  Output dims_;
  const Tensor bad_ = Tensor::Vector<int32_t>({-1});
};

TEST_F(UserNamesTest, AFedTensorIsCalledByItsName) {
  AddFill();
  const ErrorInfo info = Fail("y", {{"wanted", bad_}});
  EXPECT_EQ(info.node, "y");
  EXPECT_EQ(info.input_name, "wanted");
}

TEST_F(UserNamesTest, TheArgumentIsNamedBesideTheTensor) {
  AddFill();
  const ErrorInfo info = Fail("y", {{"wanted", bad_}});
  EXPECT_EQ(info.text, "(argument 'dims')");
  EXPECT_THAT(MakeError(info), IsError(info.code, "Fill 'y': input 0 'wanted' (argument 'dims'): found "));
}

TEST_F(UserNamesTest, ATensorThatIsCalledAsTheArgumentIsNamedOnce) {
  b_.Op("Fill", "y", {b_.Placeholder("dims", DType::kInt32), b_.Const("one", Tensor::Scalar(1.0f))});
  const ErrorInfo info = Fail("y", {{"dims", bad_}});
  EXPECT_EQ(info.input_name, "dims");
  EXPECT_EQ(info.text, "");
}

TEST_F(UserNamesTest, AFetchThatCannotBeGivenIsCalledByItsName) {
  AddFill();
  SessionOptions options;
  options.num_cpu_devices = 2;
  b_.SetDevice(b_.Op("Identity", "z", {dims_}), "/device:CPU:1");
  b_.SetDevice(b_.Op("EnsureShape", "w", {b_.Op("Identity", "moved", {dims_})}, {{"shape", PartialShape::Of({7})}}),
               "/device:CPU:1");
  options.cut_by_device = true;
  EXPECT_EQ(Fail("w", {{"wanted", bad_}}, options).input_name, "moved") << "it crosses from one device to another";
}

TEST_F(UserNamesTest, AnInlinedCallIsNamedByItsPathAndTheCallersTensor) {
  AddFill();
  AddFillFunction("MakeFill");
  Call(b_, "outer/call", "MakeFill", {dims_}, {DType::kFloat});
  const ErrorInfo info = Fail("outer/call", {{"wanted", bad_}});
  EXPECT_EQ(info.node, "outer/call/fill");
  EXPECT_EQ(info.input_name, "wanted");
}

TEST_F(UserNamesTest, AConditionalsArgumentsAreTheCallersTensors) {
  AddFill();
  AddFillFunction("Then");
  AddFillFunction("Else");
  const Output p = b_.Placeholder("p", DType::kBool);
  b_.Op("If", "choose", {p, dims_},
        {{"Tout", std::vector<DType>{DType::kFloat}},
         {"then_branch", AttrValue::Func("Then")},
         {"else_branch", AttrValue::Func("Else")}});
  const ErrorInfo info = Fail("choose", {{"wanted", bad_}, {"p", Tensor::Scalar(true)}});
  EXPECT_EQ(info.node, "choose/then/fill");
  EXPECT_EQ(info.input_name, "wanted");
  // A predicate that is not a scalar is the conditional's own fault, and not that of a Switch.
  const ErrorInfo predicate = Fail("choose", {{"wanted", bad_}, {"p", Tensor::Vector<bool>({true, false})}});
  EXPECT_EQ(predicate.node, "choose");
  EXPECT_EQ(predicate.op, "If");
}

TEST_F(UserNamesTest, AVariableOfALoopIsCalledAsTheLoopsOutput) {
  AddFill();
  FunctionText("Go")
      .Arg("d: int32")
      .Result("r: bool", "r:output:0")
      .Node("r = Const()", {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}})
      .AddTo(b_.graph());
  FunctionText("Body")
      .Arg("d: int32")
      .Result("r: int32", "ensure:output:0")
      .Node("ensure = EnsureShape(d)", {{"shape", PartialShape::Of({7})}, {"T", DType::kInt32}})
      .AddTo(b_.graph());
  b_.Op("While", "repeat", {dims_}, {{"cond", AttrValue::Func("Go")}, {"body", AttrValue::Func("Body")}});
  const ErrorInfo info = Fail("repeat", {{"wanted", bad_}});
  EXPECT_EQ(info.node, "repeat/body/ensure");
  EXPECT_EQ(info.input_name, "repeat");
}

TEST_F(UserNamesTest, PartialRunsNameTheirFeedsToo) {
  AddFill();
  Open();
  ASSERT_OK_AND_ASSIGN(const std::string handle, session_->PRunSetup({{"wanted"}, {"y"}, {}, {}}, {}));
  const absl::Status status = session_->PRun(handle, {{"wanted", bad_}}, {"y"}, {}).status();
  ASSERT_TRUE(ErrorInfoOf(status).has_value()) << status;
  EXPECT_EQ(ErrorInfoOf(status)->node, "y");
  EXPECT_EQ(ErrorInfoOf(status)->input_name, "wanted") << status;
}

}  // namespace
}  // namespace sluice
