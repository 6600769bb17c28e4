#include "graph/ir/runnable_check.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Attrs = GraphBuilder::Attrs;

AttrValue NoTypes() { return AttrValue::EmptyList(); }

class RunnableCheckTest : public ::testing::Test {
 protected:
  absl::Status Check() {
    EXPECT_OK(b_.status());
    return CheckRunnable(b_.graph());
  }
  Output Scalar(absl::string_view name, DType dtype = DType::kFloat) { return b_.Placeholder(name, dtype); }

  GraphBuilder b_{NewOpRegistry()};
};

// --- Attrs ---------------------------------------------------------------------------------------------------------

struct TooFew {
  const char* op;
  Attrs attrs;
  const char* attr;
  int num_inputs = 0;  // Int32 scalars.
};

TEST_F(RunnableCheckTest, ArityBelowTheMinimumLoadsAndIsRefusedForARun) {
  const Attrs none = {{"N", 0}, {"T", DType::kFloat}};
  const std::vector<TooFew> cases = {
      {"AddN", none, "N"},
      {"Pack", none, "N"},
      {"Merge", none, "N"},
      {"GradSum", none, "N"},
      {"ParallelConcat", {{"N", 0}, {"T", DType::kFloat}, {"shape", Shape()}}, "N"},
      {"AccumulateNV2", {{"N", 0}, {"T", DType::kFloat}, {"shape", Shape()}}, "N"},
      {"ConcatOffset", {{"N", 0}}, "N", 1},
      {"Concat", none, "N", 1},
      {"Stack", {{"elem_type", DType::kFloat}}, "", 0},  // Nothing is wrong with it.
      {"_SwitchN", {{"num_outs", 0}, {"T", DType::kInt32}}, "num_outs", 2},
      {"IdentityN", {{"T", NoTypes()}}, "T"},
      {"DynamicPartition", {{"num_partitions", 0}, {"T", DType::kInt32}}, "num_partitions", 2},
      {"_ReadVariablesOp", {{"N", 0}, {"dtypes", std::vector<DType>{DType::kFloat}}}, "dtypes"},
  };
  for (const TooFew& row : cases) {
    SCOPED_TRACE(row.op);
    GraphBuilder b(NewOpRegistry());
    std::vector<Output> inputs;
    for (int i = 0; i < row.num_inputs; ++i) inputs.push_back(b.Const("", Tensor::Scalar(0)));
    b.Op(row.op, "node", std::move(inputs), row.attrs);
    ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
    const absl::Status status = CheckRunnable(graph);
    if (*row.attr == '\0') {
      EXPECT_OK(status);
      continue;
    }
    EXPECT_THAT(status, IsError(ErrorCode::kAttrValue, "'node'"));
    EXPECT_EQ(ErrorInfoOf(status)->attr, row.attr);
  }
}

TEST_F(RunnableCheckTest, SoundGraphsPass) {
  const Output x = Scalar("x");
  b_.Op("AddN", "sum", {x});
  b_.Op("IdentityN", "both", {x, x});
  b_.Op("Switch", "sw", {x, Scalar("p", DType::kBool)});
  EXPECT_OK(Check());
}

TEST_F(RunnableCheckTest, OtherMinimaAreRefusedAtOnce) {
  b_.Op("Stage", "s", {Scalar("x")}, {{"capacity", -1}});
  EXPECT_THAT(b_.Build(), IsError(ErrorCode::kAttrValue, "'s'"));
}

TEST_F(RunnableCheckTest, PartsOfComplexNumbersHaveOneType) {
  const Output c = Scalar("c", DType::kComplex64), d = Scalar("d", DType::kDouble);
  for (const char* op : {"Imag", "Real", "Angle", "ComplexAbs"}) {
    GraphBuilder b(b_.graph());
    b.Op(op, "right", {c});
    EXPECT_OK(CheckRunnable(b.graph())) << op;
    b.Op(op, "wrong", {c}, {{"Tout", DType::kDouble}});
    ASSERT_OK(b.status());
    const absl::Status status = CheckRunnable(b.graph());
    EXPECT_THAT(status, IsError(ErrorCode::kAttrValue, "'wrong'")) << op;
    EXPECT_THAT(status, IsError(ErrorCode::kAttrValue, "float64")) << op;
    EXPECT_EQ(ErrorInfoOf(status)->attr, "Tout") << op;
  }
  b_.Op("Complex", "right", {d, d}, {{"Tout", DType::kComplex128}});
  EXPECT_OK(Check());
  b_.Op("Complex", "wrong", {d, d});
  EXPECT_THAT(Check(), IsError(ErrorCode::kAttrValue, "'wrong'"));
}

TEST_F(RunnableCheckTest, AllErrorsAreCollected) {
  const Attrs none = {{"N", 0}, {"T", DType::kFloat}};
  for (const char* name : {"a", "b", "c"}) b_.Op("AddN", name, {}, none);
  b_.Op("AddN", "fine", {Scalar("x")});
  b_.Op("Pack", "d", {}, none);
  ErrorCollector errors;
  EXPECT_OK(CheckRunnable(b_.graph(), &errors));
  std::vector<std::string> nodes;
  for (const absl::Status& error : AllErrors(errors.Finish())) nodes.push_back(ErrorInfoOf(error)->node);
  EXPECT_EQ(nodes, (std::vector<std::string>{"a", "b", "c", "d"}));
}

// --- Edges ---------------------------------------------------------------------------------------------------------

TEST_F(RunnableCheckTest, OpenInputs) {
  b_.Op("Merge", "m", {Scalar("x"), Output()}, {{"T", DType::kFloat}, {"N", 2}});
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kInputCount, "'m'"));
  EXPECT_EQ(ErrorInfoOf(status)->input, 1);
}

TEST_F(RunnableCheckTest, NodesThatWereRemoved) {
  const Output x = Scalar("x");
  const Output before = b_.Op("NoOp", "before");
  b_.Op("Neg", "y", {x});
  b_.AddControl(b_.Op("NoOp", "after"), before);
  b_.graph().RemoveNode(before.node);
  EXPECT_THAT(Check(), IsError(ErrorCode::kInputUnknown, "'after'"));
  b_.graph().RemoveNode(x.node);
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kInputUnknown, "'y'"));
  EXPECT_EQ(ErrorInfoOf(status)->input, 0);
}

// --- Ops of a host that take a name which executors know -----------------------------------------------------------

TEST_F(RunnableCheckTest, OpsThatOnlyHaveTheNameOfControlFlow) {
  const std::pair<const char*, const char*> specs[] = {
      {"Merge", ""}, {"Switch", "data: float"}, {"_SwitchN", "data: float"},
      {"Exit", ""},  {"LoopCond", ""},          {"Const", "x: float"},
  };
  for (const auto& [name, input] : specs) {
    SCOPED_TRACE(name);
    auto registry = std::make_shared<OpRegistry>();
    OpSchema schema;
    schema.name = name;
    if (*input != '\0') {
      ArgSpec arg;
      arg.name = "x";
      arg.dtype = DType::kFloat;
      schema.inputs.push_back(arg);
    }
    ASSERT_OK(registry->Add(schema));
    OpSchema source;
    source.name = "Source";
    ArgSpec out;
    out.name = "y";
    out.dtype = DType::kFloat;
    source.outputs.push_back(out);
    ASSERT_OK(registry->Add(source));
    GraphBuilder b(registry);
    std::vector<Output> inputs;
    if (*input != '\0') inputs.push_back(b.Op("Source", "source"));
    b.Op(name, "odd", std::move(inputs));
    ASSERT_OK(b.status());
    EXPECT_THAT(CheckRunnable(b.graph()), IsError(ErrorCode::kInputCount, "'odd'"));
  }
}

}  // namespace
}  // namespace sluice
