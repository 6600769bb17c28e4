#include "graph/placement/state_homes.h"

#include <string>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr absl::string_view kFirst = "/job:a/replica:0/task:0/device:CPU:0";

class StateHomesTest : public ::testing::Test {
 protected:
  StateHomesTest() : b_(NewOpRegistry()) {}

  Output Handle(absl::string_view name) {
    return b_.Op("VarHandleOp", name, {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  }
  void Read(absl::string_view name, Output handle, absl::string_view device) {
    b_.SetDevice(b_.Op("ReadVariableOp", name, {handle}, {{"dtype", DType::kFloat}}), device);
  }
  // The device of node `name` in a graph that has only that one of the nodes.
  std::string HomeOf(absl::string_view name) {
    EXPECT_OK(b_.status());
    const absl::StatusOr<DeviceList> devices = DeviceList::Create(std::vector<std::string>{std::string(kFirst)});
    Graph part = b_.graph();
    for (const NodeId id : b_.graph().Nodes()) {
      if (b_.graph().name(id) != name && !b_.graph().inputs(id).empty()) part.RemoveNode(id);
    }
    StateHomes(b_.graph()).Settle(devices->client(), AllowAllCatalog(), &part);
    return std::string(part.device(part.Find(name)));
  }

  GraphBuilder b_;
};

TEST_F(StateHomesTest, TheFirstThatAsksDecides) {
  const Output handle = Handle("v");
  Read("plain", handle, "");
  Read("second", handle, "/cpu:1");
  Read("third", handle, "/cpu:2");
  EXPECT_EQ(HomeOf("v"), "/cpu:1");
  b_.SetDevice(handle, "/cpu:3");
  EXPECT_EQ(HomeOf("v"), "/cpu:3");
}

TEST_F(StateHomesTest, StateThatNobodyAsksForIsTheClients) {
  const Output handle = Handle("v");
  Read("read", handle, "");
  EXPECT_EQ(HomeOf("v"), kFirst);
}

// Reads of a reference take its value: writers are tied to it.
TEST_F(StateHomesTest, WritersOfReferencesDecideToo) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b_.SetDevice(b_.Op("Identity", "read", {v}), "/cpu:2");
  EXPECT_EQ(HomeOf("v"), kFirst);
  b_.SetDevice(b_.Op("Assign", "write", {v, b_.Const("c", Tensor::Scalar(1.0f))}), "/cpu:1");
  EXPECT_EQ(HomeOf("v"), "/cpu:1");
}

TEST_F(StateHomesTest, OtherNodesStayAsTheyAre) {
  b_.Const("c", Tensor::Scalar(1.0f));
  EXPECT_EQ(HomeOf("c"), "");
}

}  // namespace
}  // namespace sluice
