// No shape of graph costs more than about n log n to load, check, expand or cut: sizes are doubled and the work
// counted. The work is basic blocks of our own code, in builds with --config=counted; others only see that the graphs
// pass.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/functions/inliner.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/runnable_check.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"
#include "graph/placement/partition.h"
#include "gtest/gtest.h"
#include "tests/testing/block_count.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/graph_shapes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Attrs = GraphBuilder::Attrs;

AttrValue Floats(int count) { return AttrValue(std::vector<DType>(static_cast<size_t>(count), DType::kFloat)); }

// --- Shapes beside those of tests/testing/graph_shapes.h -----------------------------------------------------------

// Loops that hand a value on, the last of the chain added first.
Graph LoopsInReverseOrder(int size) {
  GraphBuilder b(NewOpRegistry());
  FunctionText("Body")
      .Arg("a: float")
      .Arg("c: float")
      .Result("r: float", "n:y:0")
      .Result("s: float", "c")
      .Node("n = Neg(a)", {{"T", DType::kFloat}})
      .AddTo(b.graph());
  FunctionText("Cond")
      .Arg("a: float")
      .Arg("c: float")
      .Result("r: bool", "n:z:0")
      .Node("n = Less(a, c)", {{"T", DType::kFloat}})
      .AddTo(b.graph());
  const Output x = b.Placeholder("x", DType::kFloat);
  std::vector<Output> loops;
  for (int i = 0; i < size; ++i) {
    loops.push_back(b.Op("While", absl::StrCat("loop", i), {Output(), Output()},
                         {{"T", Floats(2)}, {"cond", AttrValue::Func("Cond")}, {"body", AttrValue::Func("Body")}}));
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    b.SetInput(loops[i], 0, x);
    b.SetInput(loops[i], 1, i + 1 == loops.size() ? x : GraphBuilder::Nth(loops[i + 1], 1));
  }
  return *b.Build();
}

// One call of a function with `size` arguments and results, each named on its own inside of another function.
Graph WideFunctions(int size) {
  GraphBuilder b(NewOpRegistry());
  FunctionText inner("Inner"), outer("Outer");
  std::string call = "call = Inner(";
  for (int i = 0; i < size; ++i) {
    inner.Arg(absl::StrCat("a", i, ": float")).Result(absl::StrCat("r", i, ": float"), absl::StrCat("a", i));
    outer.Arg(absl::StrCat("a", i, ": float"))
        .Result(absl::StrCat("r", i, ": float"), absl::StrCat("call:r", size - 1 - i, ":0"));
    absl::StrAppend(&call, i > 0 ? ", " : "", "a", i);
  }
  outer.Node(call + ")");
  inner.AddTo(b.graph());
  outer.AddTo(b.graph());
  const Output x = b.Placeholder("x", DType::kFloat);
  Call(b, "call", "Outer", std::vector<Output>(static_cast<size_t>(size), x),
       std::vector<DType>(static_cast<size_t>(size), DType::kFloat));
  return *b.Build();
}

// One loop with `size` variables, all but one handed on unchanged.
Graph LoopOfManyVariables(int size) {
  GraphBuilder b(NewOpRegistry());
  FunctionText body("Body"), cond("Cond");
  for (int i = 0; i < size; ++i) {
    const std::string name = absl::StrCat("a", i);
    body.Arg(name + ": float").Result(absl::StrCat("r", i, ": float"), i == 0 ? "n:y:0" : name);
    cond.Arg(name + ": float");
  }
  body.Node("n = Neg(a0)", {{"T", DType::kFloat}}).AddTo(b.graph());
  cond.Result("r: bool", "n:z:0").Node("n = Less(a0, a1)", {{"T", DType::kFloat}}).AddTo(b.graph());
  const Output x = b.Placeholder("x", DType::kFloat);
  b.Op("While", "loop", std::vector<Output>(static_cast<size_t>(size), x),
       {{"T", Floats(size)}, {"cond", AttrValue::Func("Cond")}, {"body", AttrValue::Func("Body")}});
  return *b.Build();
}

// A call whose `size` arguments all go into one node with an effect.
Graph ArgumentsOfAnEffect(int size) {
  GraphBuilder b(NewOpRegistry());
  FunctionText text("F");
  std::string print = "print = PrintV2(message:output:0";
  std::string all = "all = IdentityN(";
  for (int i = 0; i < size; ++i) {
    text.Arg(absl::StrCat("a", i, ": float"));
    absl::StrAppend(&print, ", ^a", i);
    absl::StrAppend(&all, i > 0 ? ", a" : "a", i);
  }
  text.Node(all + ")", {{"T", Floats(size)}})
      .Node("message = Const()", {{"dtype", DType::kString}, {"value", Tensor::Strings({"x"})}})
      .Node(print + ")")
      .Result("r: float", "all:output:0")
      .ControlResult("done", "print")
      .Stateful()
      .AddTo(b.graph());
  const Output x = b.Placeholder("x", DType::kFloat);
  Call(b, "call", "F", std::vector<Output>(static_cast<size_t>(size), x), {DType::kFloat}, {},
       "StatefulPartitionedCall");
  return *b.Build();
}

// One node that waits for `size` others, each named twice.
Graph RepeatedControls(int size) {
  GraphBuilder b(NewOpRegistry());
  const Output all = b.Op("NoOp", "all");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < size; ++i) {
      const std::string name = absl::StrCat("n", i);
      const Output node = round == 0 ? b.Op("NoOp", name) : Output{b.graph().Find(name), kControlIndex};
      b.AddControl(all, node);
    }
  }
  return *b.Build();
}

struct Shape {
  std::string name;
  std::function<Graph(int)> make;
};

std::vector<Shape> AllShapes() {
  std::vector<Shape> shapes = {{"LoopsInReverseOrder", &LoopsInReverseOrder},
                               {"WideFunctions", &WideFunctions},
                               {"LoopOfManyVariables", &LoopOfManyVariables},
                               {"ArgumentsOfAnEffect", &ArgumentsOfAnEffect},
                               {"RepeatedControls", &RepeatedControls}};
  for (const GraphShape& shape : AllGraphShapes()) {
    shapes.push_back({shape.name, [make = shape.make](int size) { return make(size).graph; }});
  }
  return shapes;
}

// --- Measuring -----------------------------------------------------------------------------------------------------

template <typename Do>
int64_t BlocksOf(Do&& work) {
  const int64_t before = BlocksRun();
  work();
  return BlocksRun() - before;
}

// Blocks by what was done.
using Work = std::vector<std::pair<const char*, int64_t>>;

Work Measure(const Shape& shape, int size) {
  Work work;
  Graph made(nullptr);
  work.emplace_back("build", BlocksOf([&] { made = shape.make(size); }));
  std::string bytes;
  work.emplace_back("export", BlocksOf([&] { bytes = ExportGraph(made); }));
  LoadOptions options;
  options.check_runnable = true;
  absl::StatusOr<LoadedGraph> model;
  work.emplace_back("load", BlocksOf([&] { model = LoadGraphBytes(bytes, nullptr, "", options); }));
  EXPECT_OK(model);
  if (!model.ok()) return work;
  InlineOptions inlining;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  work.emplace_back("inline", BlocksOf([&] { EXPECT_OK(InlineFunctionCalls(model->graph, inlining)); }));
  work.emplace_back("gate", BlocksOf([&] { EXPECT_OK(CheckRunnable(model->graph)); }));
  for (const NodeId id : model->graph.Nodes()) {  // As many devices as there are nodes for eight on each.
    model->graph.SetDevice(id, absl::StrCat("/job:w/replica:0/task:0/device:CPU:", id.value() / 8));
  }
  // Loops that many devices take part in get a control loop for each: what they cost is the product.
  bool has_loops = false;
  for (const NodeId id : model->graph.Nodes()) has_loops = has_loops || model->graph.Is(id, "Enter");
  if (!has_loops) {
    work.emplace_back("cut", BlocksOf([&] { EXPECT_OK(PartitionGraph(model->graph, PartitionOptions())); }));
  }
  return work;
}

class GraphGrowthTest : public ::testing::TestWithParam<Shape> {};

TEST_P(GraphGrowthTest, DoublingTheGraphDoublesTheWork) {
  if (!CountsBlocks()) {
    Measure(GetParam(), 40);
    return;
  }
  constexpr int kSize = 500;
  const Work once = Measure(GetParam(), kSize), twice = Measure(GetParam(), 2 * kSize);
  const Work four_times = Measure(GetParam(), 4 * kSize);
  ASSERT_EQ(once.size(), four_times.size());
  for (size_t i = 0; i < once.size(); ++i) {
    const double first = static_cast<double>(twice[i].second - once[i].second);
    const double second = static_cast<double>(four_times[i].second - twice[i].second);
    EXPECT_LT(second, 2.4 * first + 1000) << once[i].first << ": " << once[i].second << ", " << twice[i].second << ", "
                                          << four_times[i].second << " blocks";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GraphGrowthTest, ::testing::ValuesIn(AllShapes()),
                         [](const ::testing::TestParamInfo<Shape>& info) { return info.param.name; });

}  // namespace
}  // namespace sluice
