#include "executor/plan/kernel_set.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/cancellation.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/memory/file_tensor.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Says that its value never changes.
class FixedKernel : public Kernel {
 public:
  explicit FixedKernel(Tensor value) : value_(std::move(value)) {}
  absl::Status Compute(KernelContext& context) const override {
    context.SetOutput(0, value_);
    return absl::OkStatus();
  }
  const Tensor* ConstantValue() const override { return &value_; }

 private:
  const Tensor value_;
};

class KernelSetTest : public ::testing::Test {
 protected:
  KernelSetTest() : b_(NewOpRegistry()) { RegisterAllKernels(registry_); }

  Output Float(const std::string& name) { return b_.Placeholder(name, DType::kFloat); }
  void Custom(const std::string& op, KernelFunction make) {
    ASSERT_OK(registry_.Add(OwnedKernelRow(op, std::move(make))));
  }
  // Nodes of `op` have kernels that say that they are always `value`.
  void Fix(const std::string& op, Tensor value) {
    Custom(op, [value](const KernelConstruction&) { return std::make_unique<FixedKernel>(value); });
  }
  absl::StatusOr<KernelSet> Create() {
    SLUICE_RETURN_IF_ERROR(b_.status());
    graph_ = b_.graph();
    KernelSet::Options options;
    options.registry = &registry_;
    options.device = &device_;
    options.store = store_;
    options.stop = stop_;
    options.create = create_;
    return KernelSet::Create(graph_, options);
  }
  NodeId Node(absl::string_view name) const { return graph_.Find(name); }

  GraphBuilder b_;
  Graph graph_{nullptr};
  KernelRegistry registry_;
  CpuDevice device_{absl::StrCat(kLocalTask, "/device:CPU:0"), 1};
  KernelStore* store_ = nullptr;
  StopPoll* stop_ = nullptr;
  const CreateKernel* create_ = nullptr;
};

TEST_F(KernelSetTest, EqualNodesShareAKernelAndOthersDoNot) {
  const Output x = Float("x"), y = Float("y");
  b_.Op("Neg", "a", {x});
  b_.Op("Neg", "b", {y});
  b_.Op("Neg", "of_int", {b_.Placeholder("i", DType::kInt32)});
  b_.Op("Sum", "keep", {x, b_.Const("axis", Tensor::Scalar<int32_t>(0))}, {{"keep_dims", true}});
  b_.Op("Sum", "drop", {x, b_.Const("axis2", Tensor::Scalar<int32_t>(0))}, {{"keep_dims", false}});
  b_.Op("NoOp", "nothing");
  ASSERT_OK_AND_ASSIGN(const KernelSet set, Create());
  EXPECT_EQ(set.kernel(Node("a")), set.kernel(Node("b")));
  EXPECT_NE(set.kernel(Node("a")), set.kernel(Node("of_int")));
  EXPECT_NE(set.kernel(Node("keep")), set.kernel(Node("drop")));
  EXPECT_EQ(set.kernel(Node("axis")), set.kernel(Node("axis2"))) << "equal constants are one";
  EXPECT_EQ(set.kernel(Node("nothing")), nullptr);
}

TEST_F(KernelSetTest, KernelsThatAskWhatTheirNodeAloneKnowsAreNotShared) {
  const Output f = Float("f"), i = b_.Placeholder("i", DType::kInt32);
  for (const char* const name : {"1", "2"}) {
    b_.Op("MatMul", absl::StrCat("floats", name), {f, f});  // May keep the packed weights of its node.
    b_.Op("MatMul", absl::StrCat("ints", name), {i, i});
    b_.Op("Abs", absl::StrCat("named", name), {f});
    b_.Op("Neg", absl::StrCat("plain", name), {f});
  }
  const auto add = [&](const char* op, bool asks) {
    const auto make = [asks](const KernelConstruction& construction) {
      EXPECT_FALSE(asks && construction.name().empty());
      return std::make_unique<FixedKernel>(Tensor::Scalar(1.0f));
    };
    ASSERT_OK(registry_.Add(OwnedKernelRow(op, make).Shared(Sharing::kBySchema)));
  };
  add("Abs", true);
  add("Neg", false);
  ASSERT_OK_AND_ASSIGN(const KernelSet set, Create());
  EXPECT_NE(set.kernel(Node("floats1")), set.kernel(Node("floats2")));
  EXPECT_EQ(set.kernel(Node("ints1")), set.kernel(Node("ints2")));
  EXPECT_NE(set.kernel(Node("named1")), set.kernel(Node("named2")));
  EXPECT_EQ(set.kernel(Node("plain1")), set.kernel(Node("plain2")));
}

TEST_F(KernelSetTest, NodesThatChooseAnotherRowGetAnotherKernel) {
  const auto make = [](const KernelConstruction&) {
    return std::make_unique<FunctionKernel>([](KernelContext&) { return absl::OkStatus(); }, CostHint::kCheap);
  };
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", make).Shared(Sharing::kBySchema)));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", make).Shared(Sharing::kBySchema).Label("fast")));
  const Output x = Float("x");
  for (const char* const name : {"1", "2"}) {
    b_.Op("Abs", absl::StrCat("plain", name), {x}, {{"_of_others", name}});
    b_.Op("Abs", absl::StrCat("fast", name), {x}, {{"_kernel", "fast"}});
  }
  ASSERT_OK_AND_ASSIGN(const KernelSet set, Create());
  EXPECT_NE(set.kernel(Node("plain1")), set.kernel(Node("fast1")));
  EXPECT_EQ(set.kernel(Node("plain1")), set.kernel(Node("plain2")));
  EXPECT_EQ(set.kernel(Node("fast1")), set.kernel(Node("fast2")));
}

TEST_F(KernelSetTest, KernelsThatAskForAttrsThatAreNotTheirOpsAreNotShared) {
  std::vector<std::string> seen;
  const auto make = [&](const KernelConstruction& construction) {
    seen.push_back(construction.GetOr<std::string>("_mine", "none").value_or("not a text"));
    return std::make_unique<FunctionKernel>([](KernelContext&) { return absl::OkStatus(); }, CostHint::kCheap);
  };
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", make).Shared(Sharing::kBySchema)));
  const Output x = Float("x");
  b_.Op("Abs", "without", {x});
  b_.Op("Abs", "with", {x}, {{"_mine", "this"}});
  ASSERT_OK_AND_ASSIGN(const KernelSet set, Create());
  EXPECT_NE(set.kernel(Node("without")), set.kernel(Node("with")));
  EXPECT_EQ(seen, (std::vector<std::string>{"none", "this"}));
}

TEST_F(KernelSetTest, RowsThatAreAddedAreSeenByLaterPlansOfTheSameStore) {
  KernelStore store;
  store_ = &store;
  const Output x = Float("x");
  b_.Op("Print", "p", {x, x});
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 1.0f);
  b_.Const("large", Tensor::Vector<float>(values));
  ASSERT_OK_AND_ASSIGN(const KernelSet first, Create());
  EXPECT_EQ(first.constant(graph_, Node("large"))->flat<float>()[0], 1.0f);
  ASSERT_OK_AND_ASSIGN(const KernelSet again, Create());
  EXPECT_EQ(again.kernel(Node("large")), first.kernel(Node("large")));
  const Tensor own = Tensor::Vector<float>({2.5f});
  const auto make = [own](const KernelConstruction&) { return std::make_unique<FixedKernel>(own); };
  ASSERT_OK(registry_.Add(OwnedKernelRow("Const", make).Shared(Sharing::kBySchema)));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Print", make).Shared(Sharing::kBySchema)));
  ASSERT_OK_AND_ASSIGN(const KernelSet second, Create());
  EXPECT_EQ(second.constant(graph_, Node("large"))->flat<float>()[0], 2.5f);
  EXPECT_NE(second.kernel(Node("p")), first.kernel(Node("p")));
  ASSERT_OK_AND_ASSIGN(const KernelSet third, Create());
  EXPECT_EQ(third.kernel(Node("p")), second.kernel(Node("p")));
}

TEST_F(KernelSetTest, KernelsWithStateAreEachNodesOwnAndOfTheStore) {
  KernelStore store;
  const Output x = Float("x");
  b_.Op("Print", "p1", {x, x}, {{"first_n", 1}});
  b_.Op("Print", "p2", {x, x}, {{"first_n", 1}});
  ASSERT_OK_AND_ASSIGN(const KernelSet alone, Create());
  ASSERT_OK_AND_ASSIGN(const KernelSet alone_again, Create());
  EXPECT_NE(alone.kernel(Node("p1")), alone.kernel(Node("p2")));
  EXPECT_NE(alone.kernel(Node("p1")), alone_again.kernel(Node("p1")));
  store_ = &store;
  ASSERT_OK_AND_ASSIGN(const KernelSet first, Create());
  ASSERT_OK_AND_ASSIGN(const KernelSet second, Create());
  EXPECT_NE(first.kernel(Node("p1")), first.kernel(Node("p2")));
  EXPECT_EQ(first.kernel(Node("p1")), second.kernel(Node("p1")));
  EXPECT_EQ(first.kernel(Node("p2")), second.kernel(Node("p2")));
  EXPECT_EQ(store.num_kernels(), 2u);
}

TEST_F(KernelSetTest, AStoredKernelIsNotUsedForANodeWithOtherAttrsOrTypes) {
  KernelStore store;
  store_ = &store;
  b_.Op("Print", "p", {Float("x"), Float("y")}, {{"message", "one"}});
  ASSERT_OK_AND_ASSIGN(const KernelSet first, Create());
  const Kernel* const before = first.kernel(Node("p"));
  b_ = GraphBuilder(NewOpRegistry());
  b_.Op("Print", "p", {Float("x"), Float("y")}, {{"message", "two"}});
  ASSERT_OK_AND_ASSIGN(const KernelSet second, Create());
  EXPECT_NE(second.kernel(Node("p")), before);
  b_ = GraphBuilder(NewOpRegistry());
  b_.Op("Print", "p", {b_.Placeholder("x", DType::kInt32), Float("y")}, {{"message", "two"}});
  ASSERT_OK_AND_ASSIGN(const KernelSet third, Create());
  EXPECT_NE(third.kernel(Node("p")), second.kernel(Node("p")));
  EXPECT_EQ(store.num_kernels(), 1u);
}

TEST_F(KernelSetTest, VariablesAndTransfersAreFoundAgainByNameAndNotStored) {
  KernelStore store;
  store_ = &store;
  b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  ASSERT_OK(Create());
  EXPECT_EQ(store.num_kernels(), 0u);
}

TEST_F(KernelSetTest, AFactoryWithoutAKernelIsAnErrorThatNamesTheNode) {
  Custom("Neg", [](const KernelConstruction&) { return std::unique_ptr<Kernel>(); });
  b_.Op("Neg", "n", {Float("x")});
  EXPECT_THAT(Create(), IsError(ErrorCode::kHostKernel, "Neg 'n'"));
  const CreateKernel create = [](const KernelConstruction&) { return std::shared_ptr<const Kernel>(); };
  create_ = &create;
  EXPECT_THAT(Create(), IsError(ErrorCode::kHostKernel));
}

TEST_F(KernelSetTest, AGradSumHasAKernelFromTheSameFactory) {
  int sums = 0;
  const CreateKernel create =
      [&sums](const KernelConstruction& construction) -> absl::StatusOr<std::shared_ptr<const Kernel>> {
    if (construction.op() == "GradSum") ++sums;
    return std::make_shared<const FunctionKernel>([](KernelContext&) { return absl::OkStatus(); }, CostHint::kCheap);
  };
  create_ = &create;
  const Output x = Float("x");
  b_.Op("GradSum", "sum", {x, x});
  ASSERT_OK_AND_ASSIGN(const KernelSet set, Create());
  EXPECT_EQ(sums, 1);
  EXPECT_NE(set.kernel(Node("sum")), nullptr);
}

TEST_F(KernelSetTest, ConstantsAreBelievedOnlyOfNodesWithoutInputsAndOfTheRightType) {
  Fix("Placeholder", Tensor::Scalar(2.0f));
  Fix("Neg", Tensor::Scalar(3.0f));
  const Output x = Float("x");
  b_.Op("Neg", "n", {x});
  ASSERT_OK_AND_ASSIGN(const KernelSet set, Create());
  ASSERT_NE(set.constant(graph_, Node("x")), nullptr);
  EXPECT_EQ(*set.constant(graph_, Node("x"))->AsScalar<float>(), 2.0f);
  EXPECT_EQ(set.constant(graph_, Node("n")), nullptr) << "it may be dead with its input";
  b_.Placeholder("i", DType::kInt32);
  EXPECT_THAT(Create(), IsError(ErrorCode::kHostKernel, "Placeholder 'i'"));
}

// Of a product by `w`, a large matrix, that one node after the other of `names` hands on.
class HandedOnTest : public KernelSetTest {
 protected:
  // Whether `w` stays in the memory that it was imported from.
  bool IsInFileThrough(const std::vector<std::string>& names) {
    std::vector<float> values(256 * 256, 1.0f);
    values[0] = 2.0f;
    Output at = b_.Const("w", Tensor::Of<float>(Shape::Of({256, 256}), values));
    for (const std::string& name : names) at = b_.Op("Identity", name, {at});
    b_.Op("MatMul", "y", {Float("x"), at});
    ImportOptions imported;
    imported.ops = NewOpRegistry();
    absl::StatusOr<Graph> graph = ImportGraph(GraphSource::Copy(ExportGraph(b_.graph())), imported);
    EXPECT_OK(graph);
    if (!graph.ok()) return false;
    graph_ = *std::move(graph);
    KernelStore store;
    KernelSet::Options options;
    options.registry = &registry_;
    options.device = &device_;
    options.store = &store;
    const absl::StatusOr<KernelSet> set = KernelSet::Create(graph_, options);
    EXPECT_OK(set);
    const Tensor* const constant = set.ok() ? set->constant(graph_, Node("w")) : nullptr;
    EXPECT_NE(constant, nullptr);
    return constant != nullptr && IsInFile(*constant);
  }
};

TEST_F(HandedOnTest, AMatrixIsLeftInItsFile) { EXPECT_TRUE(IsInFileThrough({"a", "b"})); }

TEST_F(HandedOnTest, KernelsOfHostsReadIt) {
  Custom("Identity", [](const KernelConstruction&) {
    return std::make_unique<FunctionKernel>([](KernelContext&) { return absl::OkStatus(); }, CostHint::kCheap);
  });
  EXPECT_FALSE(IsInFileThrough({"a"}));
}

TEST_F(HandedOnTest, AProductThatDoesNotSeeThatItIsConstantReadsIt) {
  EXPECT_FALSE(IsInFileThrough({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}));
}

TEST_F(KernelSetTest, StopsWhenItIsTold) {
  CancellationManager manager;
  StopPoll stop(absl::InfiniteFuture(), &manager);
  stop_ = &stop;
  int made = 0;
  Custom("Neg", [&](const KernelConstruction&) {
    if (++made == 100) manager.StartCancelWithStatus(absl::AbortedError("enough"));
    return std::make_unique<FunctionKernel>([](KernelContext&) { return absl::OkStatus(); }, CostHint::kCheap);
  });
  const Output x = Float("x");
  for (int i = 0; i < 1000; ++i) b_.Op("Neg", absl::StrCat("n", i), {x});
  EXPECT_THAT(Create().status(), StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_LT(made, 300);
}

}  // namespace
}  // namespace sluice
