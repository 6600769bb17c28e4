#include "kernels/kernel_registry.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph_node.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class NoKernelWork : public Kernel {
 public:
  absl::Status Compute(KernelContext&) const override { return absl::OkStatus(); }
};
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction&) { return std::make_unique<NoKernelWork>(); }

constexpr KernelRow kOnGpu[] = {
    KernelRow("Reshape", &Make).On(DeviceKind::kCuda).HostInput("shape").HostOutput("output")};
constexpr KernelRow kOnCpu[] = {KernelRow("Reshape", &Make).Types("T", {DType::kFloat})};

constexpr KernelRow kOfLists[] = {KernelRow("IdentityN", &Make).Types("T", kFloatTypes)};
constexpr KernelRow kConcat[] = {KernelRow("ConcatV2", &Make).On(DeviceKind::kCuda).HostInput("axis")};

// A factory whose error says which it is.
template <char kName>
absl::StatusOr<std::unique_ptr<Kernel>> Fail(const KernelConstruction&) {
  return absl::UnknownError(std::string(1, kName));
}

class KernelRegistryTest : public ::testing::Test {
 protected:
  KernelRegistryTest() : b_(NewOpRegistry()) {
    node_ = b_.Op("Reshape", "y", {b_.Placeholder("x", DType::kFloat), b_.Placeholder("shape", DType::kInt32)}).node;
    ints_ = b_.Op("Reshape", "z", {b_.Placeholder("i", DType::kInt32), b_.Placeholder("s", DType::kInt32)}).node;
  }
  const Graph& graph() { return b_.graph(); }
  // The name of the factory that makes the kernel of an Abs with this label.
  std::string ChoiceFor(absl::string_view label) {
    GraphBuilder b(NewOpRegistry());
    GraphBuilder::Attrs attrs;
    if (!label.empty()) attrs.emplace_back("_kernel", label);
    const NodeId node = b.Op("Abs", "abs", {b.Placeholder("x", DType::kFloat)}, attrs).node;
    EXPECT_OK(b.status());
    const GraphNode of_graph(b.graph(), node);
    const std::string error = registry_.Create(KernelConstruction(of_graph), DeviceKind::kCpu).status().ToString();
    for (const char* const name : {"p", "q", "l", "h"}) {
      if (absl::StrContains(error, absl::StrCat(": ", name))) return name;
    }
    return error;
  }

  GraphBuilder b_;
  NodeId node_, ints_;
  KernelRegistry registry_;
};

TEST_F(KernelRegistryTest, MemoryKindsAreThoseOfTheRow) {
  registry_.AddTable(kOnGpu);
  EXPECT_FALSE(registry_.TakesInputOnHost(graph(), node_, 0, "GPU"));
  EXPECT_TRUE(registry_.TakesInputOnHost(graph(), node_, 1, "GPU"));
  EXPECT_TRUE(registry_.GivesOutputOnHost(graph(), node_, 0, "GPU"));
}

TEST_F(KernelRegistryTest, AHostKernelDoesNotInheritTheMemoryKindsOfTheRowItReplaces) {
  registry_.AddTable(kOnGpu);
  ASSERT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).On(DeviceKind::kCuda)));
  EXPECT_FALSE(registry_.TakesInputOnHost(graph(), node_, 1, "GPU"));
  EXPECT_FALSE(registry_.GivesOutputOnHost(graph(), node_, 0, "GPU"));
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "GPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), node_, "CPU"));
}

TEST_F(KernelRegistryTest, AHostsRowsMayDivideAnOpBetweenThemButNotOverlap) {
  ASSERT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).Types("T", {DType::kFloat})));
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "CPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), ints_, "CPU"));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).Types("T", {DType::kInt32})));
  EXPECT_TRUE(registry_.HasKernel(graph(), ints_, "CPU"));
  EXPECT_THAT(registry_.Add(OwnedKernelRow("Reshape", &Make)),
              IsError(ErrorCode::kHostKernel, "kernel for 'Reshape': registered twice for CPU"));
  EXPECT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).Priority(1)));
  EXPECT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).Label("fast")));
  EXPECT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).On(DeviceKind::kCuda)));
}

TEST_F(KernelRegistryTest, AnErrorOfAHostsOpSpeaksOfTheTypes) {
  const auto error = [&] {
    const GraphNode node(graph(), ints_);
    return registry_.Create(KernelConstruction(node), DeviceKind::kCpu).status();
  };
  EXPECT_FALSE(registry_.HasRows("Reshape"));
  EXPECT_THAT(error(), IsError(ErrorCode::kNoKernel, "Sluice has no kernel for Reshape"));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make).Types("T", {DType::kFloat})));
  EXPECT_TRUE(registry_.HasRows("Reshape"));
  EXPECT_THAT(error(), IsError(ErrorCode::kNoKernel, "Sluice has no kernel for Reshape with T=int32"));
  EXPECT_FALSE(absl::StrContains(error().ToString(), "sluice ops")) << "which does not know the host's rows";
  registry_.AddTable(kOnCpu);
  EXPECT_TRUE(registry_.HasRows("Reshape"));
  EXPECT_TRUE(absl::StrContains(error().ToString(), "sluice ops"));
}

TEST_F(KernelRegistryTest, ARowThatIsAddedAfterALookTakesItsOwnMemoryOnly) {
#ifdef SLUICE_COUNTS_NEW
  RegisterAllKernels(registry_);
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "CPU"));
  constexpr int kRows = 200;
  const int64_t before = LiveNewBytes();
  for (int i = 0; i < kRows; ++i) {
    ASSERT_OK(registry_.Add(OwnedKernelRow(absl::StrCat("Op", i), &Make)));
    EXPECT_TRUE(registry_.HasKernel(graph(), node_, "CPU"));
  }
  EXPECT_LT(LiveNewBytes() - before, kRows * 1500) << "with an index of all rows for each it would be some 8 kB";
#endif
}

TEST_F(KernelRegistryTest, TheOrderOfRowsIsHostLabelPriority) {
  static constexpr KernelRow kChoices[] = {
      KernelRow("Abs", &Fail<'p'>).Types("T", kFloatTypes),
      KernelRow("Abs", &Fail<'q'>).Priority(1),
      KernelRow("Abs", &Fail<'l'>).Label("fast").Priority(-1),
  };
  registry_.AddTable(kChoices);
  EXPECT_EQ(ChoiceFor(""), "q");
  EXPECT_EQ(ChoiceFor("fast"), "l");
  EXPECT_EQ(ChoiceFor("unknown"), "q") << "a label that no row has chooses nothing";
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", &Fail<'h'>).Priority(-5)));
  EXPECT_EQ(ChoiceFor("fast"), "h");
}

TEST_F(KernelRegistryTest, HostsRowsHaveTheSameOrderWhicheverComesFirst) {
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", &Fail<'p'>, nullptr)));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", &Fail<'l'>, nullptr).Label("fast").Priority(-1)));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", &Fail<'q'>, nullptr).Priority(1)));
  EXPECT_EQ(ChoiceFor(""), "q");
  EXPECT_EQ(ChoiceFor("fast"), "l");
}

TEST_F(KernelRegistryTest, AChoiceSaysWhetherTheRowIsAHosts) {
  registry_.AddTable(kOnCpu);
  const GraphNode node(graph(), node_), of_int(graph(), ints_);
  EXPECT_EQ(registry_.Choose(node, DeviceKind::kCpu).row, &kOnCpu[0]);
  EXPECT_FALSE(registry_.Choose(node, DeviceKind::kCpu).is_of_host);
  EXPECT_EQ(registry_.Choose(of_int, DeviceKind::kCpu).row, nullptr);
  ASSERT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make)));
  EXPECT_TRUE(registry_.Choose(node, DeviceKind::kCpu).is_of_host);
  EXPECT_TRUE(registry_.Choose(of_int, DeviceKind::kCpu).is_of_host);
}

TEST_F(KernelRegistryTest, ListsOfTypesSatisfyARowAsAWhole) {
  registry_.AddTable(kOfLists);
  const Output f = b_.Placeholder("f", DType::kFloat), i = b_.Placeholder("int", DType::kInt32);
  const NodeId floats = b_.Op("IdentityN", "floats", {f, f}).node, mixed = b_.Op("IdentityN", "mixed", {f, i}).node;
  EXPECT_TRUE(registry_.HasKernel(graph(), floats, "CPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), mixed, "CPU"));
}

TEST_F(KernelRegistryTest, HostMemoryOfAListIsThatOfTheArgument) {
  registry_.AddTable(kConcat);
  const Output x = b_.Placeholder("part", DType::kFloat);
  const NodeId concat = b_.Op("ConcatV2", "concat", {x, x, x, b_.Placeholder("axis", DType::kInt32)}).node;
  ASSERT_OK(b_.status());
  for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(registry_.TakesInputOnHost(graph(), concat, i, "GPU"), i == 3) << i;
  EXPECT_FALSE(registry_.TakesInputOnHost(graph(), concat, 4, "GPU"));
  EXPECT_FALSE(registry_.GivesOutputOnHost(graph(), concat, 0, "GPU"));
}

TEST_F(KernelRegistryTest, StateInKernelsIsNotShared) {
  const auto may_share = [&](const char* op, const std::vector<Output>& inputs, const GraphBuilder::Attrs& attrs) {
    const NodeId node = b_.Op(op, absl::StrCat("of_", op), inputs, attrs).node;
    EXPECT_OK(b_.status());
    const GraphNode of_graph(graph(), node);
    return KernelRegistry::MayBeShared(of_graph.op(), BuiltinKernels().Choose(of_graph, DeviceKind::kCpu));
  };
  const Output x = b_.Placeholder("any", DType::kFloat);
  EXPECT_TRUE(may_share("Neg", {x}, {}));
  EXPECT_FALSE(may_share("Print", {x, x}, {})) << "stateful";
  EXPECT_FALSE(may_share("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}}));
  const Output handle = b_.Op("VarHandleOp", "h", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  EXPECT_TRUE(may_share("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}})) << "the state is behind the handle";
  EXPECT_TRUE(may_share("PrintV2", {b_.Placeholder("text", DType::kString)}, {})) << "its row says so";
}

TEST_F(KernelRegistryTest, TablesThatAreAddedAfterALookAreFound) {
  EXPECT_FALSE(registry_.HasKernel(graph(), node_, "CPU"));
  registry_.AddTable(kOnCpu);
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "CPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), ints_, "CPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), node_, "GPU"));
  registry_.AddTable(kOnGpu);
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "GPU"));
}

TEST_F(KernelRegistryTest, TheVersionGrowsWithWhatIsAdded) {
  const int64_t empty = registry_.version();
  registry_.AddTable(kOnCpu);
  const int64_t with_table = registry_.version();
  EXPECT_GT(with_table, empty);
  ASSERT_OK(registry_.Add(OwnedKernelRow("Reshape", &Make)));
  EXPECT_GT(registry_.version(), with_table);
  EXPECT_EQ(registry_.version(), registry_.version()) << "looking adds nothing";
}

TEST_F(KernelRegistryTest, PropagatorsNeedNoKernel) {
  EXPECT_TRUE(NeedsNoKernel(OpClassOf("NoOp")));
  EXPECT_TRUE(NeedsNoKernel(OpClassOf("RefNextIteration")));
  EXPECT_TRUE(NeedsNoKernel(OpClassOf("_SwitchN")));
  EXPECT_TRUE(NeedsNoKernel(OpClassOf("GradSum")));
  EXPECT_FALSE(NeedsNoKernel(OpClassOf("Identity")));
  EXPECT_FALSE(NeedsNoKernel(OpClassOf("_Recv")));
}

// Import lets such nodes in, since TensorFlow does; no kernel must meet them.
TEST_F(KernelRegistryTest, NodesWithFewerInputsThanTheirOpWantsGetNoKernel) {
  for (const char* op : {"AddN", "AccumulateNV2", "Pack", "ConcatOffset", "DynamicStitch", "Concat", "GradSum"}) {
    GraphBuilder b(NewOpRegistry());
    std::vector<Output> inputs;
    if (op == absl::string_view("Concat") || op == absl::string_view("ConcatOffset")) {
      inputs.push_back(b.Placeholder("axis", DType::kInt32));
    }
    const bool has_type = op != absl::string_view("ConcatOffset");
    GraphBuilder::Attrs attrs = {{"N", 0}};
    if (has_type) attrs.emplace_back("T", DType::kFloat);
    if (op == absl::string_view("AccumulateNV2")) attrs.emplace_back("shape", Shape());
    const NodeId node = b.Op(op, "y", inputs, attrs).node;
    ASSERT_OK(b.status()) << op;
    const GraphNode of_graph(b.graph(), node);
    const KernelConstruction construction(of_graph);
    EXPECT_THAT(BuiltinKernels().Create(construction, DeviceKind::kCpu), IsError(ErrorCode::kAttrValue, "'y'")) << op;
  }
}

}  // namespace
}  // namespace sluice
