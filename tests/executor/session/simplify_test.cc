// How sessions simplify the graph of a signature before it is compiled, and how they must not: Note [Simplifying a
// step].

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

SessionOptions Plain() {
  SessionOptions options;
  SimplifyOptions& simplify = options.simplify;
  simplify.drop_unread_values = simplify.fold_constants = simplify.join_equal_nodes = simplify.fuse_layers = false;
  return options;
}

class SimplifyTest : public SessionFixture {
 protected:
  // The graph that a signature runs.
  const Graph& GraphOf(const FeedFetchSpec& spec) {
    absl::StatusOr<std::shared_ptr<const Callable>> made = session_->Prepare(spec);
    EXPECT_OK(made);
    prepared_ = *std::move(made);
    return prepared_->graph();
  }
  static bool Has(const Graph& graph, absl::string_view name) { return graph.Contains(graph.Find(name)); }
  static bool IsConst(const Graph& graph, absl::string_view name) { return graph.Is(graph.Find(name), "Const"); }

  std::shared_ptr<const Callable> prepared_;
};

// A value that is fed has the shape of its Placeholder, or the feed is refused.
TEST_F(SimplifyTest, WhatOthersOnlyWaitForIsNotComputed) {
  const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Of({2}));
  const Output any = b_.Placeholder("any", DType::kInt32, PartialShape::OfRank(1));
  const Output y = b_.Op("Neg", "y", {x});
  b_.AddControl(y, b_.Op("Mul", "unread", {x, x}));
  b_.AddControl(y, b_.Op("Mul", "may_fail", {x, any}));
  Open();
  const Graph& graph = GraphOf({{"x", "any"}, {"y"}, {}, {}});
  EXPECT_FALSE(Has(graph, "unread"));
  EXPECT_TRUE(Has(graph, "may_fail"));
  const Tensor two = Tensor::Vector<int32_t>({1, 2}), three = Tensor::Vector<int32_t>({1, 2, 3});
  EXPECT_OK(session_->Run({{"x", two}, {"any", two}}, {"y"}, {}));
  EXPECT_FALSE(session_->Run({{"x", two}, {"any", three}}, {"y"}, {}).ok());
}

TEST_F(SimplifyTest, ConstantsAreComputedOnceAndEqualNodesJoin) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  const Output two = b_.Op("AddV2", "two", {b_.Const("one", Int(1)), b_.Const("uno", Int(1))});
  b_.Op("AddV2", "y", {b_.Op("Mul", "a", {x, two}), b_.Op("Mul", "b", {two, x})});
  Open();
  const Graph& graph = GraphOf({{"x"}, {"y"}, {}, {}});
  EXPECT_TRUE(IsConst(graph, "two"));
  EXPECT_FALSE(Has(graph, "one") || Has(graph, "uno") || Has(graph, "b"));
  ExpectFetch("y", 12, {{"x", Int(3)}});
  ExpectFetch("b", 6, {{"x", Int(3)}});
  Open(Plain());
  EXPECT_TRUE(Has(GraphOf({{"x"}, {"y"}, {}, {}}), "b"));
  EXPECT_FALSE(IsConst(prepared_->graph(), "two"));
  ExpectFetch("y", 12, {{"x", Int(3)}});
}

TEST_F(SimplifyTest, WhatIsFedIsNoConstant) {
  b_.Op("Neg", "y", {b_.Op("AddV2", "sum", {b_.Const("one", Int(1)), b_.Const("two", Int(2))})});
  Open();
  ExpectFetch("y", -3);
  ExpectFetch("y", -12, {{"one", Int(10)}});
  ExpectFetch("y", -7, {{"sum", Int(7)}});
}

TEST_F(SimplifyTest, FetchesAndTargetsOfWhatIsFoldedGiveTheirValues) {
  const Output sum = b_.Op("AddV2", "sum", {b_.Const("one", Int(1)), b_.Const("two", Int(2))});
  b_.Op("Neg", "neg", {sum});
  Open();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       session_->Run({}, {"neg", "sum", "one", "neg:0", "sum"}, {"neg", "two"}));
  const std::vector<int32_t> expected = {-3, 3, 1, -3, 3};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(*values[i].AsScalar<int32_t>(), expected[i]) << i;
}

TEST_F(SimplifyTest, ANodeThatFailsFailsWhenItIsReached) {
  const Output x = b_.Placeholder("x", DType::kBool, PartialShape::Scalar());
  const Output zero = b_.Const("zero", Int(0)), one = b_.Const("one", Int(1));
  const Output ports = b_.Op("Switch", "switch", {one, x});
  const Output gate = b_.Op("Identity", "gate", {GraphBuilder::Nth(ports, 1)});
  const Output bad = b_.Op("FloorDiv", "bad", {one, zero});
  b_.AddControl(bad, gate);
  const Output good = b_.Op("Neg", "good", {ports});
  b_.Op("Merge", "y", {bad, good});
  Open();
  ExpectFetch("y", -1, {{"x", Tensor::Scalar(false)}});
  const absl::Status failed = Fetch("y", {{"x", Tensor::Scalar(true)}}).status();
  EXPECT_FALSE(failed.ok());
  ASSERT_TRUE(ErrorInfoOf(failed).has_value());
  EXPECT_EQ(ErrorInfoOf(failed)->node, "bad");
}

// A value that was folded in a branch is dead when its branch is.
TEST_F(SimplifyTest, FoldedNodesOfABranchThatIsNotTakenAreDead) {
  const Output x = b_.Placeholder("x", DType::kBool, PartialShape::Scalar());
  const Output ports = b_.Op("Switch", "switch", {b_.Const("one", Int(1)), x});
  const Output gate = b_.Op("Identity", "gate", {GraphBuilder::Nth(ports, 1)});
  const Output inside = b_.Const("inside", Int(5));
  b_.AddControl(inside, gate);
  b_.Op("Merge", "y", {b_.Op("Square", "square", {inside}), b_.Op("Neg", "good", {ports})});
  Open();
  EXPECT_TRUE(IsConst(GraphOf({{"x"}, {"y"}, {}, {}}), "square"));
  ExpectFetch("y", -1, {{"x", Tensor::Scalar(false)}});
  ExpectFetch("y", 25, {{"x", Tensor::Scalar(true)}});
}

TEST_F(SimplifyTest, StatefulNodesStayApart) {
  AddCounter();
  b_.Op("AssignAdd", "also", {Output{b_.graph().Find("v"), 0}, Output{b_.graph().Find("v1"), 0}});
  const Output one = b_.Const("shared", Int(1));
  const std::vector<std::pair<std::string, AttrValue>> attrs = {{"dtype", DType::kInt32}, {"shape", PartialShape()}};
  const Output handle = b_.Op("VarHandleOp", "handle", {}, attrs);
  b_.Op("AssignVariableOp", "set", {handle, one});
  const Output a = b_.Op("AssignAddVariableOp", "a", {handle, one});
  const Output b = b_.Op("AssignAddVariableOp", "b", {handle, one});
  const Output value = b_.Op("ReadVariableOp", "value", {handle}, {{"dtype", DType::kInt32}});
  b_.AddControl(value, a);
  b_.AddControl(value, b);
  Open();
  ASSERT_OK(session_->Run({}, {}, {"start", "set"}));
  ASSERT_OK(session_->Run({}, {"count", "also"}, {}));
  ExpectFetch("count", 3);
  ExpectFetch("value", 3);
}

TEST_F(SimplifyTest, KernelsOfTheHostAreNotCalledAhead) {
  std::atomic<int> calls{0};
  KernelRegistry kernels;
  RegisterAllKernels(kernels);
  EXPECT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction([&](KernelContext& context) {
                                         ++calls;
                                         context.SetOutput(0, context.TakeInput(0));
                                         return absl::OkStatus();
                                       }))));
  b_.Op("Neg", "y", {b_.Const("one", Int(1))});
  SessionOptions options;
  options.kernels = &kernels;
  Open(options);
  GraphOf({{}, {"y"}, {}, {}});
  EXPECT_EQ(calls, 0);
  ExpectFetch("y", 1);
  EXPECT_EQ(calls, 1);
  prepared_.reset();
  session_.reset();  // Before the kernels go.
}

// A row with a label is for those nodes only that ask for it, which their types do not tell.
TEST_F(SimplifyTest, KernelsOfTheHostWithALabelAreCalledForEachNode) {
  std::atomic<int> calls{0};
  KernelRegistry kernels;
  RegisterAllKernels(kernels);
  EXPECT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction([&](KernelContext& context) {
                                         ++calls;
                                         context.SetOutput(0, context.TakeInput(0));
                                         return absl::OkStatus();
                                       }))
                            .Label("mine")));
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.Op("AddN", "y",
        {b_.Op("Neg", "plain", {x}), b_.Op("Neg", "a", {x}, {{"_kernel", "mine"}}),
         b_.Op("Neg", "b", {x}, {{"_kernel", "mine"}})});
  SessionOptions options;
  options.kernels = &kernels;
  Open(options);
  ExpectFetch("y", 3, {{"x", Int(3)}});
  EXPECT_EQ(calls, 2);
  session_.reset();  // Before the kernels go.
}

TEST_F(SimplifyTest, NoLimitOnResultsIsNoLimit) {
  b_.Op("Neg", "y", {b_.Const("one", Int(1))});
  SessionOptions options;
  options.simplify.folding.max_output_bytes = std::numeric_limits<int64_t>::max();
  Open(options);
  EXPECT_TRUE(IsConst(GraphOf({{}, {"y"}, {}, {}}), "y"));
}

TEST_F(SimplifyTest, LargeResultsAreComputedInEveryRun) {
  const auto fill = [&](const std::string& name, int32_t count) {
    b_.Op("Fill", name,
          {b_.Const(name + "_dims", Tensor::Of<int32_t>(Shape::Of({1}), {count})), b_.Const(name + "_v", Int(7))});
  };
  fill("small", 1000);
  fill("large", 4'000'000);
  fill("huge", 2'000'000'000);
  Open();
  EXPECT_TRUE(IsConst(GraphOf({{}, {"small"}, {}, {}}), "small"));
  EXPECT_TRUE(GraphOf({{}, {"large"}, {}, {}}).Is(prepared_->graph().Find("large"), "Fill"));
  EXPECT_TRUE(GraphOf({{}, {"huge"}, {}, {}}).Is(prepared_->graph().Find("huge"), "Fill"));
  SessionOptions options;
  options.simplify.folding.max_output_bytes = 1000;
  Open(options);
  EXPECT_FALSE(IsConst(GraphOf({{}, {"small"}, {}, {}}), "small"));
}

// Floats of all sizes; some are zeros of both signs, infinite or NaN where `odd`.
Tensor Values(const std::vector<int64_t>& dims, uint32_t seed, bool odd = false) {
  Tensor tensor = Tensor::Make(DType::kFloat, *Shape::Make(dims)).value();
  std::minstd_rand random(seed);
  constexpr float kOdd[] = {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  for (float& value : tensor.flat<float>()) {
    const auto number = static_cast<uint32_t>(random());
    value = static_cast<float>(number % 20011) * 0.0013f - 13.0f;
    if (odd && number % 31 == 0) value = kOdd[number / 31 % 4];
  }
  return tensor;
}

// Fused or not, the user reads of his product, and of the tensor that the reader reads.
TEST_F(SimplifyTest, FusedLayersFailWithTheSameWords) {
  const Output image = b_.Placeholder("image", DType::kFloat), matrix = b_.Placeholder("matrix", DType::kFloat);
  const Output filter = b_.Const("filter", Values({3, 3, 2, 4}, 1)), bias = b_.Const("bias", Values({4}, 2));
  const Output conv =
      b_.Op("Conv2D", "conv", {image, filter}, {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
  const Output relu = b_.Op("Relu", "relu", {b_.Op("BiasAdd", "sum", {conv, bias})});
  b_.Op("Identity", "y", {b_.Op("MatMul", "fc", {relu, matrix})});
  const NamedTensors wrong_image = {{"image", Values({1, 8, 8, 3}, 3)}, {"matrix", Values({4, 4}, 4)}},
                     wrong_rank = {{"image", Values({1, 8, 8, 2}, 3)}, {"matrix", Values({4, 4}, 4)}};
  for (const NamedTensors& feeds : {wrong_image, wrong_rank}) {
    Open(Plain());
    const absl::Status expected = session_->Run(feeds, {"y"}, {}).status();
    EXPECT_FALSE(expected.ok());
    Open();
    EXPECT_EQ(GraphOf({{"image", "matrix"}, {"y"}, {}, {}}).op_name(prepared_->graph().Find("conv")), "_FusedConv2D");
    EXPECT_EQ(session_->Run(feeds, {"y"}, {}).status(), expected);
  }
}

// A product that is sure to fail does so, whether or not its bias is dead.
TEST_F(SimplifyTest, DeadBiasesHideNoError) {
  const Output a = b_.Placeholder("a", DType::kFloat, PartialShape::OfRank(2));
  const Output w = b_.Placeholder("w", DType::kFloat, PartialShape::Of({-1, 5}));
  const Output either =
      b_.Op("Switch", "switch", {b_.Const("bias", Values({5}, 1)), b_.Placeholder("p", DType::kBool)});
  const Output sum = b_.Op("BiasAdd", "sum", {b_.Op("MatMul", "product", {a, w}), either});
  b_.Op("Identity", "y", {b_.Op("Merge", "merge", {sum, GraphBuilder::Nth(either, 1)})});
  Open();
  EXPECT_FALSE(
      session_->Run({{"a", Values({2, 3}, 2)}, {"w", Values({4, 5}, 3)}, {"p", Tensor::Scalar(true)}}, {"y"}, {}).ok());
}

// Waiting for a read of a variable requires that it has a value.
TEST_F(SimplifyTest, UninitializedVariablesAreRefusedWhereOnlyWaitedFor) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape::Of({2})}});
  const Output y = b_.Op("Neg", "y", {b_.Placeholder("x", DType::kInt32)});
  b_.AddControl(y, b_.Op("Identity", "read", {v}));
  Open();
  EXPECT_THAT(session_->Run({{"x", Int(1)}}, {"y"}, {}).status(), IsError(ErrorCode::kUninitialized));
}

// A product, a bias or a norm, an activation: one node gives the bits that three give.
TEST_F(SimplifyTest, FusedLayersGiveTheSameBits) {
  const Output image = b_.Placeholder("image", DType::kFloat, PartialShape::OfRank(4));
  const Output matrix = b_.Placeholder("matrix", DType::kFloat, PartialShape::OfRank(2));
  const std::vector<int64_t> strides = {1, 1, 1, 1};
  const char* const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
  std::vector<std::string> fetches;
  for (const int64_t made : {20, 38}) {
    for (const std::string op : {"MatMul", "Conv2D", "Conv2D1", "DepthwiseConv2dNative"}) {
      for (const bool is_norm : {false, true}) {
        if (is_norm && op == "MatMul") continue;
        for (const std::string activation : activations) {
          const std::string name = absl::StrCat("l", fetches.size());
          const uint32_t seed = static_cast<uint32_t>(fetches.size()) + 1;
          const int64_t window = op == "Conv2D1" ? 1 : 3;
          Output x;
          if (op == "MatMul") {
            x = b_.Op(op, name + "p", {matrix, b_.Const(name + "w", Values({19, made}, seed))});
          } else {
            const bool is_depthwise = op == "DepthwiseConv2dNative";
            const Tensor filter = Values({window, window, 19, is_depthwise ? 2 : made}, seed);
            x = b_.Op(is_depthwise ? op : "Conv2D", name + "p", {image, b_.Const(name + "w", filter)},
                      {{"strides", strides}, {"padding", "SAME"}});
          }
          const int64_t channels = op == "DepthwiseConv2dNative" ? 38 : made;
          const auto numbers = [&](const std::string& what, uint32_t more) {
            Tensor tensor = Values({channels}, seed + more);
            for (float& value : tensor.flat<float>()) value = what == "v" ? std::abs(value) : value;
            return b_.Const(name + what, tensor);
          };
          if (is_norm) {
            x = b_.Op("FusedBatchNormV3", name + "n",
                      {x, numbers("s", 1), numbers("o", 2), numbers("m", 3), numbers("v", 4)},
                      {{"is_training", false}, {"epsilon", 0.01f}});
          } else {
            x = b_.Op("BiasAdd", name + "n", {x, numbers("b", 1)});
          }
          b_.Op("Identity", name, {b_.Op(activation, name + "a", {x})});
          fetches.push_back(name);
        }
      }
    }
  }
  for (const bool odd : {false, true}) {
    const NamedTensors feeds = {{"image", Values({1, 14, 15, 19}, 7, odd)}, {"matrix", Values({23, 19}, 8, odd)}};
    Open(Plain());
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> expected, session_->Run(feeds, fetches, {}));
    Open();
    const Graph& graph = GraphOf({{"image", "matrix"}, fetches, {}, {}});
    EXPECT_FALSE(Has(graph, "l0n") || Has(graph, "l0a"));
    EXPECT_EQ(graph.op_name(graph.Find("l0p")), "_FusedMatMul");
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, session_->Run(feeds, fetches, {}));
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor &a = expected[i], &b = found[i];
      ASSERT_EQ(a.total_bytes(), b.total_bytes());
      EXPECT_EQ(std::memcmp(a.raw_data(), b.raw_data(), a.total_bytes()), 0) << fetches[i] << " " << odd;
    }
  }
}

TEST_F(SimplifyTest, PreparingStopsAtItsDeadline) {
  Output last = b_.Const("start", Int(1));
  for (int i = 0; i < 3000; ++i) last = b_.Op("Neg", absl::StrCat("n", i), {last});
  Open();
  PrepareOptions options;
  options.deadline = absl::Now() - absl::Seconds(1);
  EXPECT_THAT(session_->Prepare({{}, {"n2999"}, {}, {}}, options).status(), IsError(ErrorCode::kDeadline));
  ExpectFetch("n2999", 1);
}

TEST_F(SimplifyTest, NodesOfDifferentDevicesStayApart) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  const Output a = b_.Op("Neg", "a", {x}), b = b_.Op("Neg", "b", {x}), c = b_.Op("Neg", "c", {x});
  b_.SetDevice(b, "/cpu:1");
  b_.SetDevice(c, "/cpu:1");
  b_.Op("AddN", "y", {a, b, c});
  SessionOptions options;
  options.num_cpu_devices = 2;
  Open(options);
  const Graph& graph = GraphOf({{"x"}, {"y"}, {}, {}});
  EXPECT_TRUE(Has(graph, "a") && Has(graph, "b"));
  EXPECT_FALSE(Has(graph, "c"));
  ExpectFetch("y", -6, {{"x", Int(2)}});
}

// The same bits with and without, of conditionals and loops with constants and equal nodes in them.
TEST_F(SimplifyTest, RandomProgramsAnswerTheSame) {
  int64_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed));
    ASSERT_OK(ArgumentsToPlaceholders(&graph));
    SessionOptions plain = Plain(), simple;
    plain.num_threads = simple.num_threads = 1;
    simple.simplify.validates = true;
    const std::vector<Answer> expected = AnswersOf(graph, seed, plain), found = AnswersOf(graph, seed, simple);
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(expected[i] == found[i]) << seed << ", result " << i;
    for (const bool is_simple : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(is_simple ? simple : plain, graph));
      FeedFetchSpec spec;
      for (const auto& value : PlaceholderValues(graph, seed)) spec.feeds.push_back(value.first);
      spec.fetches = ResultsOf(graph);
      const absl::StatusOr<std::shared_ptr<const Callable>> callable = session->Prepare(spec);
      if (callable.ok()) (is_simple ? after : before) += static_cast<int64_t>((*callable)->graph().num_nodes());
    }
  }
  EXPECT_LT(after, before) << "nothing was simplified";
}

}  // namespace
}  // namespace sluice
