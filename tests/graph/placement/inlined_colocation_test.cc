// Where nodes go that came out of bodies of functions and are to stand with others (_class), on several devices.

#include <string>
#include <vector>

#include "graph/functions/inliner.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"
#include "graph/placement/placer.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr char kCpu0[] = "/job:a/replica:0/task:0/device:CPU:0";
constexpr char kCpu1[] = "/job:a/replica:0/task:0/device:CPU:1";
constexpr char kCpu2[] = "/job:a/replica:0/task:0/device:CPU:2";

GraphBuilder::Attrs With(const std::vector<std::string>& groups) { return {{"T", DType::kFloat}, {"_class", groups}}; }

class InlinedColocationTest : public testing::Test {
 protected:
  Output X(absl::string_view name, absl::string_view device = "") {
    const Output x = b_.Placeholder(name, DType::kFloat);
    b_.SetDevice(x, device);
    return x;
  }
  void Call(absl::string_view name, const std::vector<Output>& inputs, absl::string_view device = "") {
    b_.SetDevice(b_.Op("F", name, inputs), device);
  }
  // Puts the bodies in and places the graph on three devices, the first of them the client's.
  void Place() {
    ASSERT_OK(b_.status());
    ASSERT_OK(InlineFunctionCalls(b_.graph(), InlineOptions()));
    ASSERT_OK_AND_ASSIGN(const DeviceList devices, DeviceList::Create({kCpu0, kCpu1, kCpu2}));
    ASSERT_OK(PlaceGraph(b_.graph(), devices, AllowAllCatalog(), PlacementOptions()));
  }
  std::string DeviceOf(absl::string_view name) {
    const NodeId id = b_.graph().Find(name);
    return b_.graph().Contains(id) ? std::string(b_.graph().device(id)) : "no node";
  }

  GraphBuilder b_{NewOpRegistry()};
};

// first -> second -> third, where only `first` asks for a device, and others name it and each other.
TEST_F(InlinedColocationTest, NodesOfABodyThatStandTogetherStayTogether) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "third:y:0");
  text.Node("first = Neg(a) @ /device:CPU:1", {{"T", DType::kFloat}});
  text.Node("second = Neg(first:y:0)", With({"loc:@first"}));
  text.Node("third = Neg(second:y:0)", With({"loc:@second"}));
  text.AddTo(b_.graph());
  Call("one", {X("x", kCpu2)});
  Call("two", {X("z")}, "/device:CPU:1");
  Place();
  for (const char* call : {"one", "two"}) {
    for (const char* node : {"/first", "/second", "/third"}) EXPECT_EQ(DeviceOf(std::string(call) + node), kCpu1);
  }
  EXPECT_EQ(DeviceOf("x"), kCpu2);
  EXPECT_EQ(DeviceOf("z"), kCpu0);
}

// Where the call asks for another device than `first`, those that stand with that need not be where the call is.
TEST_F(InlinedColocationTest, NodesThatStandWithOneOnADeviceAreNotWhereTheCallIs) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "alone:y:0");
  text.Node("before = Neg(a)", With({"loc:@first"}));
  text.Node("first = Neg(before:y:0) @ /device:CPU:1", {{"T", DType::kFloat}});
  text.Node("second = Neg(first:y:0)", With({"loc:@first"}));
  text.Node("third = Neg(second:y:0)", With({"loc:@second"}));
  text.Node("alone = Neg(third:y:0)", {{"T", DType::kFloat}});
  text.AddTo(b_.graph());
  Call("call", {X("x")}, kCpu2);
  Place();
  for (const char* node : {"before", "first", "second", "third"}) {
    EXPECT_EQ(DeviceOf(std::string("call/") + node), kCpu1) << node;
  }
  EXPECT_EQ(DeviceOf("call/alone"), kCpu2);
}

// Each call has groups of its own: one of them has nothing to say about the other.
TEST_F(InlinedColocationTest, GroupsOfOneCallAreNotThoseOfAnother) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "n:y:0");
  text.Node("m = Neg(a)", {{"T", DType::kFloat}}).Node("n = Neg(m:y:0)", With({"loc:@m"}));
  text.AddTo(b_.graph());
  Call("one", {X("x")}, "/device:CPU:1");
  Call("two", {X("z")}, "/device:CPU:2");
  Call("three", {X("w")});
  Place();
  for (const char* node : {"one/m", "one/n"}) EXPECT_EQ(DeviceOf(node), kCpu1) << node;
  for (const char* node : {"two/m", "two/n"}) EXPECT_EQ(DeviceOf(node), kCpu2) << node;
  for (const char* node : {"three/m", "three/n"}) EXPECT_EQ(DeviceOf(node), kCpu0) << node;
}

TEST_F(InlinedColocationTest, StandingWithAnArgumentMovesNeitherTheNodeNorWhatGivesIt) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "n:y:0");
  text.Node("m = Neg(a) @ /device:CPU:1", With({"loc:@a"})).Node("n = Neg(m:y:0)", With({"loc:@m"}));
  text.AddTo(b_.graph());
  Call("call", {X("x", "/device:CPU:2")});
  Place();
  EXPECT_EQ(DeviceOf("x"), kCpu2);
  for (const char* node : {"call/m", "call/n"}) EXPECT_EQ(DeviceOf(node), kCpu1) << node;
}

TEST_F(InlinedColocationTest, TheDeviceOfTheCallCountsMoreThanAnArgument) {
  FunctionText text("F");
  text.Arg("a: float").Arg("b: float").Result("r: float", "n:z:0");
  text.Node("n = AddV2(a, b)", With({"loc:@a", "loc:@b"}));
  text.AddTo(b_.graph());
  Call("call", {X("x", "/device:CPU:2"), X("y")}, "/device:CPU:1");
  Place();
  EXPECT_EQ(DeviceOf("x"), kCpu2);
  EXPECT_EQ(DeviceOf("call/n"), kCpu1);
}

// Two arguments from two devices: no node can stand with both, and none has to.
TEST_F(InlinedColocationTest, ArgumentsFromDifferentDevicesDoNotContradict) {
  FunctionText text("F");
  text.Arg("a: float").Arg("b: float").Result("r: float", "n:z:0");
  text.Node("n = AddV2(a, b)", With({"loc:@a", "loc:@b"}));
  text.AddTo(b_.graph());
  Call("call", {X("x", "/device:CPU:1"), X("y", "/device:CPU:2")});
  Place();
  EXPECT_EQ(DeviceOf("x"), kCpu1);
  EXPECT_EQ(DeviceOf("y"), kCpu2);
}

}  // namespace
}  // namespace sluice
