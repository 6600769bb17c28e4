#include "kernels/kernel_registry.h"

#include <memory>
#include <utility>

#include "graph/ir/builder.h"
#include "graph/ir/graph_node.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
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

class KernelRegistryTest : public ::testing::Test {
 protected:
  KernelRegistryTest() : b_(NewOpRegistry()) {
    node_ = b_.Op("Reshape", "y", {b_.Placeholder("x", DType::kFloat), b_.Placeholder("shape", DType::kInt32)}).node;
    ints_ = b_.Op("Reshape", "z", {b_.Placeholder("i", DType::kInt32), b_.Placeholder("s", DType::kInt32)}).node;
  }
  const Graph& graph() { return b_.graph(); }

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

TEST_F(KernelRegistryTest, TablesThatAreAddedAfterALookAreFound) {
  EXPECT_FALSE(registry_.HasKernel(graph(), node_, "CPU"));
  registry_.AddTable(kOnCpu);
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "CPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), ints_, "CPU"));
  EXPECT_FALSE(registry_.HasKernel(graph(), node_, "GPU"));
  registry_.AddTable(kOnGpu);
  EXPECT_TRUE(registry_.HasKernel(graph(), node_, "GPU"));
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
