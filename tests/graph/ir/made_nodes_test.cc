#include "graph/ir/made_nodes.h"

#include <optional>
#include <string>

#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class MadeNodesTest : public testing::Test {
 protected:
  Output Pass(absl::string_view name, Output input, const MadeFor& made_for) {
    return b_.Op("Identity", name, {input}, {MadeForAttr(made_for)});
  }
  std::string Name(Output output) { return UserOutputName(b_.graph(), output); }

  GraphBuilder b_{NewOpRegistry()};
  Output x_ = b_.Placeholder("x", DType::kFloat);
};

TEST_F(MadeNodesTest, ANodeWithoutAMarkKeepsItsName) {
  EXPECT_EQ(Name(x_), "x");
  const Output split = b_.Op("Unpack", "parts", {x_}, {{"num", 3}});
  EXPECT_EQ(Name(GraphBuilder::Nth(split, 2)), "parts:2");
  EXPECT_EQ(MadeForOf(b_.graph(), x_.node).name, "x");
  EXPECT_EQ(MadeForOf(b_.graph(), x_.node).op, "Placeholder");
}

TEST_F(MadeNodesTest, AMarkWithASlotNamesThatOutput) {
  EXPECT_EQ(Name(Pass("while/merge_0", x_, {"While", "while", 0})), "while");
  EXPECT_EQ(Name(Pass("while/merge_2", x_, {"While", "while", 2})), "while:2");
}

TEST_F(MadeNodesTest, NodesThatPassAValueOnAreFollowedToWhatTheUserWrote) {
  const Output outer = Pass("Func/call/input/_0", x_, {"PartitionedCall", "call"});
  const Output inner = Pass("Func/call/inner/input/_0", outer, {"PartitionedCall", "call/inner"});
  EXPECT_EQ(Name(inner), "x");
}

TEST_F(MadeNodesTest, AnErrorIsSaidOfWhatTheNodeWasMadeFor) {
  const Output made = Pass("if/pivot", x_, {"If", "if"});
  const absl::Status status =
      b_.graph().Locate(made.node, Error(ErrorCode::kOpShape).Input(1, "p").Text("must be a scalar"));
  EXPECT_THAT(status, IsError(ErrorCode::kOpShape, "If 'if': input 'p' must be a scalar"));
  EXPECT_EQ(ErrorInfoOf(status)->input, -1) << "the Switch's inputs are not those of the If";
}

TEST_F(MadeNodesTest, AnErrorThatNamesTheMadeNodeItselfIsTurnedToo) {
  const Output made = Pass("_retval_y_0_0", x_, {"fetch", "y"});
  const absl::Status own = Error(ErrorCode::kNoKernel).Node("_retval_y_0_0", "Identity").Text("cannot run");
  EXPECT_THAT(b_.graph().Locate(made.node, own), IsError(ErrorCode::kNoKernel, "fetch 'y': cannot run"));
  const absl::Status other = Error(ErrorCode::kNoKernel).Node("z", "Relu").Text("cannot run");
  EXPECT_THAT(b_.graph().Locate(made.node, other), IsError(ErrorCode::kNoKernel, "Relu 'z': cannot run"));
}

TEST_F(MadeNodesTest, MarksThatLieOrMeanNothingDoNoHarm) {
  const Output merge = b_.Op("Merge", "m", {x_, Output()}, {{"N", 2}, MadeForAttr({"While", "w"})});
  const Output round = Pass("round", merge, {"While", "w"});
  b_.SetInput(merge, 0, round);
  EXPECT_EQ(Name(round), "round");
  for (const char* text : {"", " ", "If", "If ", " if", "If if x", "If if 99999999999"}) {
    const Output odd = b_.Op("Identity", "", {x_}, {{"_made_for", std::string(text)}});
    EXPECT_EQ(Name(odd), b_.graph().OutputName(odd)) << text;
  }
}

TEST_F(MadeNodesTest, AMarkIsHandedOnToNodesMadeForAMadeNode) {
  const Output call = Pass("while/body", x_, {"While", "while"});
  const Output inner = b_.Op("Identity", "Func/while/body/output/_1", {x_}, {MadeForAttr(b_.graph(), call.node, 1)});
  EXPECT_EQ(Name(inner), "while:1");
}

}  // namespace
}  // namespace sluice
