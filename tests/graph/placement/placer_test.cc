#include "graph/placement/placer.h"

#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/placement/memory_types.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr char kCpu0[] = "/job:a/replica:0/task:0/device:CPU:0";
constexpr char kCpu1[] = "/job:a/replica:0/task:0/device:CPU:1";
constexpr char kGpu0[] = "/job:a/replica:0/task:0/device:GPU:0";
constexpr char kGpu1[] = "/job:a/replica:0/task:0/device:GPU:1";
constexpr char kFarCpu[] = "/job:b/replica:0/task:1/device:CPU:0";
constexpr char kFarGpu[] = "/job:b/replica:0/task:1/device:GPU:0";

// Has every kernel but those listed as "Op@TYPE".
class ListedCatalog : public AllowAllCatalog {
 public:
  explicit ListedCatalog(std::vector<std::string> missing) : missing_(std::move(missing)) {}
  bool HasKernel(const Graph& graph, NodeId id, absl::string_view type) const override {
    const std::string key = absl::StrCat(graph.op_name(id), "@", type);
    return std::find(missing_.begin(), missing_.end(), key) == missing_.end();
  }

 private:
  std::vector<std::string> missing_;
};

class PlacerTest : public testing::Test {
 protected:
  PlacerTest() : b_(NewOpRegistry()) {}

  Output Const(absl::string_view name, absl::string_view device = "") {
    const Output node = b_.Const(name, Tensor::Scalar(1.0f));
    if (!device.empty()) b_.SetDevice(node, device);
    return node;
  }
  Output Relu(absl::string_view name, Output input, absl::string_view device = "", std::string location = "") {
    GraphBuilder::Attrs attrs;
    if (!location.empty()) attrs = {{"_class", std::vector<std::string>{absl::StrCat("loc:@", location)}}};
    const Output node = b_.Op("Relu", name, {input}, attrs);
    if (!device.empty()) b_.SetDevice(node, device);
    return node;
  }
  Output Variable(absl::string_view name, absl::string_view device = "") {
    const Output node = b_.Op("VariableV2", name, {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
    if (!device.empty()) b_.SetDevice(node, device);
    return node;
  }

  absl::Status Place(std::vector<std::string> devices, std::vector<std::string> missing = {}) {
    EXPECT_OK(b_.status());
    const absl::StatusOr<DeviceList> list = DeviceList::Create(devices);
    EXPECT_OK(list);
    return PlaceGraph(b_.graph(), *list, ListedCatalog(std::move(missing)), options_);
  }
  std::string DeviceOf(absl::string_view name) { return std::string(b_.graph().device(b_.graph().Find(name))); }

  GraphBuilder b_;
  PlacementOptions options_;
};

TEST_F(PlacerTest, OnOneDeviceEverythingGoesThere) {
  Relu("y", Const("x"));
  ASSERT_OK(Place({kCpu0}));
  EXPECT_EQ(DeviceOf("x"), kCpu0);
  EXPECT_EQ(DeviceOf("y"), kCpu0);
}

TEST_F(PlacerTest, PartialDeviceTextsAreCompleted) {
  Relu("a", Const("x", "/cpu:1"), "/gpu:*");
  Relu("b", Const("z", "/job:b"), "/task:1/device:CPU:0");
  ASSERT_OK(Place({kCpu0, kCpu1, kGpu0, kFarCpu}));
  EXPECT_EQ(DeviceOf("x"), kCpu1);
  EXPECT_EQ(DeviceOf("a"), kGpu0);
  EXPECT_EQ(DeviceOf("z"), kFarCpu);
  EXPECT_EQ(DeviceOf("b"), kFarCpu);
}

TEST_F(PlacerTest, AcceleratorsComeBeforeCpusWhereTheyHaveAKernel) {
  const Output y = Relu("y", Const("x", "/cpu:0"));
  b_.Op("Neg", "z", {y});
  ASSERT_OK(Place({kCpu0, kGpu0}, {"Neg@GPU"}));
  EXPECT_EQ(DeviceOf("y"), kGpu0);
  EXPECT_EQ(DeviceOf("z"), kCpu0);
}

TEST_F(PlacerTest, TheClientsTaskComesBeforeOthers) {
  Relu("y", Const("x", "/cpu:0"));
  ASSERT_OK(Place({kCpu0, kFarGpu, kGpu1}));
  EXPECT_EQ(DeviceOf("y"), kGpu1);
}

TEST_F(PlacerTest, TheDefaultDeviceIsForNodesThatAskForNothing) {
  options_.default_device = "/gpu:1";
  const Output y = Relu("y", Const("x", "/cpu:0"));
  b_.Op("Neg", "z", {y});
  ASSERT_OK(Place({kCpu0, kGpu0, kGpu1}, {"Neg@GPU"}));
  EXPECT_EQ(DeviceOf("x"), kCpu0);
  EXPECT_EQ(DeviceOf("y"), kGpu1);
  EXPECT_EQ(DeviceOf("z"), kCpu0) << "no kernel on the default device";
  options_.default_device = "banana";
  EXPECT_THAT(Place({kCpu0}), IsError(ErrorCode::kDeviceName, "banana"));
}

// --- Colocation -----------------------------------------------------------------------------------------------------

TEST_F(PlacerTest, ClassAttrsTieNodesTogether) {
  const Output x = Const("x", "/cpu:1");
  Relu("y", Relu("between", x), "", "x");
  ASSERT_OK(Place({kCpu0, kCpu1, kGpu0}));
  EXPECT_EQ(DeviceOf("y"), kCpu1);
  EXPECT_EQ(DeviceOf("between"), kGpu0);
}

TEST_F(PlacerTest, TheNodeNamedByAClassMayComeLaterAndChainsJoin) {
  const Output x = Const("x", "/cpu:0");
  Relu("a", x, "", "b");
  Relu("b", x, "", "c");
  Relu("c", x, "/cpu:1");
  ASSERT_OK(Place({kCpu0, kCpu1}));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(DeviceOf(name), kCpu1) << name;
}

TEST_F(PlacerTest, NodesTiedToAMissingNodeAreTiedToEachOther) {
  const Output x = Const("x", "/cpu:0");
  Relu("a", x, "", "gone");
  Relu("b", x, "/cpu:1", "gone");
  Relu("c", x, "", "elsewhere");
  ASSERT_OK(Place({kCpu0, kCpu1}));
  EXPECT_EQ(DeviceOf("a"), kCpu1);
  EXPECT_EQ(DeviceOf("c"), kCpu0);
}

TEST_F(PlacerTest, PartialRequestsOfOneGroupAddUp) {
  const Output x = Const("x", "/job:b");
  Relu("y", x, "/gpu:*", "x");
  ASSERT_OK(Place({kCpu0, kGpu0, kFarCpu, kFarGpu}));
  EXPECT_EQ(DeviceOf("x"), kFarGpu);
  EXPECT_EQ(DeviceOf("y"), kFarGpu);
}

TEST_F(PlacerTest, ConflictingRequestsInAGroupNameBothNodes) {
  const Output x = Const("x", "/cpu:0");
  Relu("middle", x, "", "x");
  Relu("y", x, "/cpu:1", "middle");
  const absl::Status status = Place({kCpu0, kCpu1});
  EXPECT_THAT(status, IsError(ErrorCode::kColocation, "'x'"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, "'y'"));
  EXPECT_EQ(DeviceOf("y"), "/cpu:1") << "a failed placement changes nothing";
}

TEST_F(PlacerTest, AGroupNeedsOneDeviceTypeForAllItsKernels) {
  const Output x = Const("x", "/cpu:0");
  b_.Op("Neg", "n", {x});
  Relu("y", x, "", "n");
  ASSERT_OK(Place({kCpu0, kGpu0}, {"Neg@GPU"}));
  EXPECT_EQ(DeviceOf("y"), kCpu0);
  EXPECT_THAT(Place({kCpu0, kGpu0}, {"Neg@GPU", "Relu@CPU"}), IsError(ErrorCode::kColocation, "kernels for both"));
}

TEST_F(PlacerTest, WritersOfAReferenceStayWithTheVariable) {
  const Output v = Variable("v", "/cpu:1");
  b_.Op("Assign", "assign", {v, Const("x")});
  b_.Op("Identity", "read", {v});
  ASSERT_OK(Place({kCpu0, kCpu1}));
  EXPECT_EQ(DeviceOf("assign"), kCpu1);
  EXPECT_EQ(DeviceOf("read"), kCpu0) << "a read takes a value";
}

TEST_F(PlacerTest, ADeviceOfTheWriterMovesTheVariable) {
  const Output assign = b_.Op("Assign", "assign", {Variable("v"), Const("x")});
  b_.SetDevice(assign, "/cpu:1");
  ASSERT_OK(Place({kCpu0, kCpu1}));
  EXPECT_EQ(DeviceOf("v"), kCpu1);
  b_.SetDevice(Output{b_.graph().Find("v"), 0}, "/cpu:0");
  EXPECT_THAT(Place({kCpu0, kCpu1}), IsError(ErrorCode::kColocation, "assign"));
}

TEST_F(PlacerTest, UsersOfAResourceStayWithIt) {
  const Output v = b_.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b_.SetDevice(v, "/cpu:1");
  b_.Op("ReadVariableOp", "read", {v}, {{"dtype", DType::kFloat}});
  b_.Op("_Retval", "ret", {v}, {{"index", int64_t{0}}});
  ASSERT_OK(Place({kCpu0, kCpu1}));
  EXPECT_EQ(DeviceOf("read"), kCpu1);
  EXPECT_EQ(DeviceOf("ret"), kCpu0) << "a handle may leave the graph anywhere";
}

// As in TensorFlow, whatever the order of the nodes, and with soft placement too.
TEST_F(PlacerTest, WhoTakesAHandleGoesToTheStateAgainstItsWishes) {
  for (const bool soft : {false, true}) {
    options_.allow_soft = soft;
    b_ = GraphBuilder(NewOpRegistry());
    const Output v = b_.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
    b_.SetDevice(b_.Op("ReadVariableOp", "first", {v}, {{"dtype", DType::kFloat}}), "/cpu:0");
    b_.SetDevice(b_.Op("ReadVariableOp", "second", {v}, {{"dtype", DType::kFloat}}), "/cpu:1");
    ASSERT_OK(Place({kCpu0, kCpu1}));
    EXPECT_EQ(DeviceOf("v"), kCpu0) << "the first that asks counts where the state itself asks for nothing";
    EXPECT_EQ(DeviceOf("second"), kCpu0);
    b_.SetDevice(v, "/cpu:1");
    ASSERT_OK(Place({kCpu0, kCpu1}));
    EXPECT_EQ(DeviceOf("first"), kCpu1);
    EXPECT_EQ(DeviceOf("second"), kCpu1);
  }
}

// --- Errors ---------------------------------------------------------------------------------------------------------

TEST_F(PlacerTest, UnknownDevicesNameTheNodeAndTheDevicesThereAre) {
  for (const char* device : {"/device:TPU:0", "/job:worker/replica:0/task:0/device:CPU:0", "/cpu:7", "/device:cpu:0"}) {
    GraphBuilder fresh(NewOpRegistry());
    b_ = std::move(fresh);
    Relu("out", Const("in"), device);
    const absl::Status status = Place({kCpu0, kGpu0});
    EXPECT_THAT(status, IsError(ErrorCode::kDeviceUnknown, "'out'")) << device;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, kGpu0));
  }
}

TEST_F(PlacerTest, AllUnknownDevicesAreReportedAtOnce) {
  Relu("a", Const("x"), "/gpu:0");
  Relu("b", Const("y"), "/gpu:1");
  EXPECT_EQ(AllErrors(Place({kCpu0})).size(), 2u);
}

TEST_F(PlacerTest, MalformedDeviceTextsAreRefused) {
  Relu("out", Const("x"), "/gpu:banana");
  EXPECT_THAT(Place({kCpu0}), IsError(ErrorCode::kDeviceName, "'out'"));
}

TEST_F(PlacerTest, NodesWithoutAKernelAreRefused) {
  Relu("out", Const("x"));
  EXPECT_THAT(Place({kCpu0, kGpu0}, {"Relu@CPU", "Relu@GPU"}), IsError(ErrorCode::kNoKernel, "'out'"));
  b_.SetDevice(Output{b_.graph().Find("out"), 0}, "/gpu:0");
  EXPECT_THAT(Place({kCpu0, kGpu0}, {"Relu@GPU"}), IsError(ErrorCode::kNoKernel, "device:GPU:0"));
}

TEST_F(PlacerTest, DeviceListsNeedFullAndDistinctNames) {
  using Names = std::vector<std::string>;
  EXPECT_THAT(DeviceList::Create(Names{"/cpu:0"}), IsError(ErrorCode::kDeviceName));
  EXPECT_THAT(DeviceList::Create(Names{kCpu0, kCpu0}), IsError(ErrorCode::kDeviceName));
  EXPECT_THAT(DeviceList::Create(Names{}), IsError(ErrorCode::kDeviceUnknown));
  ASSERT_OK_AND_ASSIGN(const DeviceList list, DeviceList::Create(Names{"/job:a/replica:0/task:0/cpu:0", kGpu1}));
  EXPECT_EQ(list.Find(kCpu0), 0);
  EXPECT_EQ(list.Find(kGpu0), -1);
}

// --- Soft placement -------------------------------------------------------------------------------------------------

TEST_F(PlacerTest, SoftPlacementMovesNodes) {
  options_.allow_soft = true;
  const Output y = Relu("y", Const("x", "/cpu:0"), "/gpu:3");
  b_.SetDevice(b_.Op("Neg", "z", {y}), "/gpu:0");
  ASSERT_OK(Place({kCpu0, kGpu0}, {"Neg@GPU"}));
  EXPECT_EQ(DeviceOf("y"), kGpu0);
  EXPECT_EQ(DeviceOf("z"), kCpu0);
}

TEST_F(PlacerTest, SoftPlacementSettlesConflictsOfAGroup) {
  options_.allow_soft = true;
  const Output x = Const("x", "/cpu:0");
  Relu("y", x, "/gpu:0", "x");
  ASSERT_OK(Place({kCpu0, kGpu0}, {"Const@GPU"}));
  EXPECT_EQ(DeviceOf("y"), kCpu0);
}

TEST_F(PlacerTest, SoftPlacementStaysInTheTaskUnlessToldOtherwise) {
  options_.allow_soft = true;
  Relu("out", Const("x"), "/job:worker/cpu:0");
  EXPECT_THAT(Place({kCpu0}), IsError(ErrorCode::kDeviceUnknown, "'out'"));
  options_.allow_other_task = true;
  ASSERT_OK(Place({kCpu0}));
  EXPECT_EQ(DeviceOf("out"), kCpu0);
}

// Of tied nodes that name different tasks, none of which is here, the first decides.
TEST_F(PlacerTest, SoftPlacementSettlesConflictsOfTasksWhereToldSo) {
  options_.allow_soft = true;
  const Output x = Const("x", "/job:ps/task:1/cpu:0");
  Relu("y", x, "/job:worker/task:3/cpu:7", "x");
  EXPECT_THAT(Place({kCpu0}), IsError(ErrorCode::kColocation, "'y'"));
  options_.allow_other_task = true;
  ASSERT_OK(Place({kCpu0}));
  EXPECT_EQ(DeviceOf("x"), kCpu0);
  EXPECT_EQ(DeviceOf("y"), kCpu0);
}

// --- Where copies are saved -----------------------------------------------------------------------------------------

TEST_F(PlacerTest, ShapesAreTakenWhereTheTensorIs) {
  const Output x = Relu("x", Const("c"), "/cpu:0");
  b_.Op("Shape", "shape", {x});
  b_.SetDevice(b_.Op("Rank", "rank", {x}), "/gpu:0");
  ASSERT_OK(Place({kCpu0, kGpu0}));
  EXPECT_EQ(DeviceOf("shape"), kCpu0);
  EXPECT_EQ(DeviceOf("rank"), kGpu0) << "it asks for that";
}

TEST_F(PlacerTest, ConstantsAreMadeWhereTheyAreUsed) {
  const Output one = Const("one"), both = Const("both");
  b_.SetDevice(b_.Op("AddV2", "a", {one, both}), "/cpu:0");
  Relu("b", both, "/gpu:1");
  ASSERT_OK(Place({kCpu0, kGpu0, kGpu1}));
  EXPECT_EQ(DeviceOf("one"), kCpu0);
  EXPECT_EQ(DeviceOf("both"), kGpu0) << "used in two places";
}

TEST_F(PlacerTest, LongChainsOfTiedNodesAreOneGroup) {
  Output x = Const("x", "/cpu:1");
  for (int i = 0; i < 20000; ++i) x = Relu(absl::StrCat("n", i), x, "", i == 0 ? "x" : absl::StrCat("n", i - 1));
  ASSERT_OK(Place({kCpu0, kCpu1}));
  EXPECT_EQ(DeviceOf("n19999"), kCpu1);
}

// --- Memory types ---------------------------------------------------------------------------------------------------

// A catalog whose GPU kernels of Reshape take input 1 from host memory, and whose Shape gives its output there.
class HostPortsCatalog : public AllowAllCatalog {
 public:
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view) const override {
    return graph.Is(id, "Reshape") && i == 1;
  }
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t, absl::string_view) const override {
    return graph.Is(id, "Shape");
  }
};

TEST(MemoryTypesTest, TheFirstRuleThatAppliesDecides) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Const("x", Tensor::Scalar(1.0f));
  const Output shape = b.Op("Shape", "shape", {x});
  const Output reshape = b.Op("Reshape", "reshape", {x, shape}, {{"_input_hostmem", std::vector<int64_t>{0}}});
  const Output text = b.Const("text", Tensor::String("t"));
  ASSERT_OK(b.status());
  const HostPortsCatalog catalog;
  const Graph& graph = b.graph();
  EXPECT_TRUE(InputOnHost(graph, catalog, reshape.node, 0, "CPU"));
  EXPECT_TRUE(InputOnHost(graph, catalog, reshape.node, 0, "GPU")) << "by attr";
  EXPECT_TRUE(InputOnHost(graph, catalog, reshape.node, 1, "GPU")) << "by kernel";
  EXPECT_FALSE(InputOnHost(graph, catalog, shape.node, 0, "GPU"));
  EXPECT_TRUE(OutputOnHost(graph, catalog, shape.node, 0, "GPU"));
  EXPECT_TRUE(OutputOnHost(graph, catalog, text.node, 0, "GPU")) << "strings";
  EXPECT_FALSE(OutputOnHost(graph, catalog, x.node, 0, "GPU"));
}

TEST(MemoryTypesTest, IntegersOfFunctionCallsStandInHostMemory) {
  GraphBuilder b(NewOpRegistry());
  const Output i = b.Const("i", Tensor::Scalar(int32_t{1})), f = b.Const("f", Tensor::Scalar(1.0f));
  const std::vector<DType> types = {DType::kInt32, DType::kFloat};
  const Output call =
      b.Op("PartitionedCall", "call", {i, f}, {{"f", AttrValue::Func("F")}, {"Tin", types}, {"Tout", types}});
  ASSERT_OK(b.status());
  const AllowAllCatalog catalog;
  EXPECT_TRUE(InputOnHost(b.graph(), catalog, call.node, 0, "GPU"));
  EXPECT_FALSE(InputOnHost(b.graph(), catalog, call.node, 1, "GPU"));
  EXPECT_TRUE(OutputOnHost(b.graph(), catalog, call.node, 0, "GPU"));
}

}  // namespace
}  // namespace sluice
