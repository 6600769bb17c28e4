#include "tests/testing/graph_shapes.h"

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

// A graph under construction that adds up what a shape leaves behind.
class ShapeMaker {
 public:
  ShapeMaker() : b_(NewOpRegistry()) { x_ = Feed("x", Tensor::Scalar<int32_t>(3)); }

  GraphBuilder& b() { return b_; }
  Output x() const { return x_; }
  Output Feed(const std::string& name, const Tensor& value) {
    made_.spec.feeds.push_back(name);
    made_.feeds.push_back(value);
    return b_.Placeholder(name, value.dtype(), PartialShape::Scalar());
  }
  Output Bool(const std::string& name) { return Feed(name, Tensor::Scalar(true)); }
  Output Int(int32_t value) { return b_.Const("", Tensor::Scalar<int32_t>(value)); }
  // The same in the frame of `x`.
  Output IntBeside(Output x, int32_t value) {
    const Output made = Int(value);
    b_.AddControl(made, x);
    return made;
  }
  Output Add(Output x, Output y) { return b_.Op("AddV2", "", {x, y}); }
  Output Neg(Output x) { return b_.Op("Neg", "", {x}); }
  static Output True(Output sw) { return GraphBuilder::Nth(sw, 1); }
  // Minus x where `pred` is false, x elsewhere.
  Output Cond(Output x, Output pred) {
    const Output sw = b_.Op("Switch", "", {x, pred});
    return b_.Op("Merge", "", {Neg(sw), True(sw)});
  }
  // x + `times`, counted up in a loop that also reads `captured`, with `depth` loops in each other in its body.
  Output Loop(Output x, int32_t times, const std::vector<Output>& captured = {}, int depth = 0) {
    const std::string frame = absl::StrCat("loop", next_frame_++);
    const auto enter = [&](Output value, bool is_constant) {
      return b_.Op("Enter", "", {value}, {{"frame_name", frame}, {"is_constant", is_constant}});
    };
    const Output start = enter(x, false), limit = enter(Add(x, IntBeside(x, times)), true);
    const Output one = enter(IntBeside(x, 1), true);
    const Output merge = b_.Op("Merge", "", {start, start});
    const Output cond = b_.Op("LoopCond", "", {b_.Op("Less", "", {merge, limit})});
    const Output ports = b_.Op("Switch", "", {merge, cond});
    Output body = Add(True(ports), one);
    if (depth > 0) body = b_.Op("Minimum", "", {body, Loop(body, 1, {}, depth - 1)});
    for (const Output& value : captured) {
      body = b_.Op("Maximum", "", {body, b_.Op("Minimum", "", {body, enter(value, true)})});
    }
    b_.SetInput(merge, 1, b_.Op("NextIteration", "", {body}));
    return b_.Op("Exit", "", {ports});
  }
  void Keep(Output value) { kept_.push_back(value); }
  ShapedGraph& made() { return made_; }

  // Fetches the sum of all that was kept.
  ShapedGraph Finish() {
    if (!kept_.empty()) {
      b_.Op("AddN", "sum", kept_);
      made_.spec.fetches.push_back("sum");
    }
    absl::StatusOr<Graph> graph = b_.Build();
    SLUICE_CHECK_OK(graph);
    made_.graph = *std::move(graph);
    return std::move(made_);
  }

 private:
  GraphBuilder b_;
  ShapedGraph made_;
  Output x_;
  std::vector<Output> kept_;
  int next_frame_ = 0;
};

ShapedGraph Chain(int size) {
  ShapeMaker m;
  Output last = m.x();
  for (int i = 0; i < size; ++i) last = m.Neg(last);
  m.Keep(last);
  return m.Finish();
}

ShapedGraph Fan(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) m.Keep(m.Neg(m.x()));
  return m.Finish();
}

ShapedGraph ManyReadersOfMany(int size) {
  ShapeMaker m;
  std::vector<Output> values;
  for (int i = 0; i < size; ++i) values.push_back(m.Neg(m.x()));
  m.Keep(m.b().Op("AddN", "first", values));
  m.Keep(m.b().Op("AddN", "second", values));
  return m.Finish();
}

ShapedGraph CondsOfTheirOwn(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) m.Keep(m.Cond(m.x(), m.Bool(absl::StrCat("p", i))));
  return m.Finish();
}

ShapedGraph CondsOfOnePredicate(int size) {
  ShapeMaker m;
  const Output p = m.Bool("p");
  for (int i = 0; i < size; ++i) m.Keep(m.Cond(m.x(), p));
  return m.Finish();
}

ShapedGraph ChainedConds(int size) {
  ShapeMaker m;
  Output last = m.x();
  for (int i = 0; i < size; ++i) last = m.Cond(last, m.b().Op("Less", "", {last, m.x()}));
  m.Keep(last);
  return m.Finish();
}

// Conditionals in each other, `depth` deep.
Output Nested(ShapeMaker& m, Output x, int depth) {
  std::vector<Output> outer;
  std::vector<Output> values = {x};
  for (int i = 0; i < depth; ++i) {
    const Output sw = m.b().Op("Switch", "", {values.back(), m.b().Op("Less", "", {values.back(), values.back()})});
    outer.push_back(ShapeMaker::True(sw));
    values.push_back(sw);
  }
  Output result = m.Neg(values.back());
  while (!outer.empty()) {
    result = m.b().Op("Merge", "", {result, outer.back()});
    outer.pop_back();
  }
  return result;
}

ShapedGraph NestedConds(int size) {
  constexpr int kDepth = 8;
  ShapeMaker m;
  for (int i = 0; i < size / kDepth; ++i) m.Keep(Nested(m, m.x(), kDepth));
  return m.Finish();
}

ShapedGraph DeeplyNestedConds(int size) {
  ShapeMaker m;
  m.Keep(Nested(m, m.x(), size));
  return m.Finish();
}

// One conditional with many in it, each of which reads a value from outside for the last time.
ShapedGraph CondsInACond(int size) {
  ShapeMaker m;
  const Output p = m.Bool("p"), q = m.Bool("q");
  const Output inner = ShapeMaker::True(m.b().Op("Switch", "", {q, p}));
  std::vector<Output> values;
  for (int i = 0; i < size; ++i)
    values.push_back(m.Cond(ShapeMaker::True(m.b().Op("Switch", "", {m.Neg(m.x()), p})), inner));
  const Output otherwise = m.b().Op("Switch", "", {m.x(), p});
  m.Keep(m.b().Op("Merge", "", {otherwise, m.b().Op("AddN", "", values)}));
  return m.Finish();
}

ShapedGraph WideSwitch(int size) {
  ShapeMaker m;
  const Output sw = m.b().Op("_SwitchN", "switch", {m.x(), m.x()}, {{"num_outs", size}});
  std::vector<Output> sides;
  for (int i = 0; i < size; ++i) sides.push_back(m.Neg(GraphBuilder::Nth(sw, i)));
  m.Keep(m.b().Op("Merge", "", sides));
  return m.Finish();
}

ShapedGraph LoopsInOneFrame(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) m.Keep(m.Loop(m.x(), 2));
  return m.Finish();
}

ShapedGraph ChainedLoops(int size) {
  ShapeMaker m;
  for (int i = 0; i < size / 8; ++i) {
    Output last = m.x();
    for (int k = 0; k < 8; ++k) last = m.Loop(last, 1, {last});
    m.Keep(last);
  }
  return m.Finish();
}

ShapedGraph NestedLoops(int size) {
  constexpr int kDepth = 5;
  ShapeMaker m;
  for (int i = 0; i < size / kDepth; ++i) m.Keep(m.Loop(m.x(), 1, {}, kDepth - 1));
  return m.Finish();
}

ShapedGraph LoopWithManyCaptures(int size) {
  ShapeMaker m;
  std::vector<Output> captured;
  for (int i = 0; i < size; ++i) captured.push_back(m.Neg(m.x()));
  m.Keep(m.Loop(m.x(), 2, captured));
  return m.Finish();
}

ShapedGraph LongLoop(int size) {
  ShapeMaker m;
  m.Keep(m.Loop(m.x(), size));
  return m.Finish();
}

void AddFunction(ShapeMaker& m, const std::string& name) {
  FunctionText(name)
      .Arg("x: int32")
      .Result("y: int32", "n:y:0")
      .Node("n = Neg(x)", {{"T", DType::kInt32}})
      .AddTo(m.b().graph());
}

ShapedGraph ManyFunctions(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) {
    const std::string name = absl::StrCat("F", i);
    AddFunction(m, name);
    m.Keep(m.b().Op(name, "", {m.x()}));
  }
  return m.Finish();
}

ShapedGraph ManyCallsOfOneFunction(int size) {
  ShapeMaker m;
  AddFunction(m, "F");
  Output last = m.x();
  for (int i = 0; i < size; ++i) last = m.b().Op("F", "", {last});
  m.Keep(last);
  return m.Finish();
}

ShapedGraph ManyDevices(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) {
    const Output y = m.Neg(m.x());
    m.b().SetDevice(y, absl::StrCat("/device:CPU:", i));
    m.Keep(y);
  }
  return m.Finish();
}

ShapedGraph ManyVariables(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) {
    const Output v = m.b().Op("VariableV2", absl::StrCat("v", i), {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
    const std::string init = absl::StrCat("init", i);
    m.b().Op("Assign", init, {v, m.Int(i)});
    m.made().init.push_back(init);
    m.Keep(m.Add(v, m.x()));
  }
  return m.Finish();
}

ShapedGraph ManyControlInputs(int size) {
  ShapeMaker m;
  const Output all = m.b().Op("NoOp", "all");
  for (int i = 0; i < size; ++i) m.b().AddControl(all, m.Neg(m.x()));
  const Output after = m.Neg(m.x());
  m.b().AddControl(after, all);
  m.Keep(after);
  return m.Finish();
}

ShapedGraph ManyFeedsAndFetches(int size) {
  ShapeMaker m;
  for (int i = 0; i < size; ++i) {
    const std::string name = absl::StrCat("y", i);
    m.b().Op("Neg", name, {m.Feed(absl::StrCat("f", i), Tensor::Scalar<int32_t>(i))});
    m.made().spec.fetches.push_back(name);
  }
  m.Keep(m.x());
  return m.Finish();
}

constexpr GraphShape kShapes[] = {
    {"Chain", &Chain},
    {"Fan", &Fan},
    {"ManyReadersOfMany", &ManyReadersOfMany},
    {"CondsOfTheirOwn", &CondsOfTheirOwn},
    {"CondsOfOnePredicate", &CondsOfOnePredicate},
    {"ChainedConds", &ChainedConds},
    {"NestedConds", &NestedConds},
    {"DeeplyNestedConds", &DeeplyNestedConds, 1, true},
    {"CondsInACond", &CondsInACond},
    {"WideSwitch", &WideSwitch},
    {"LoopsInOneFrame", &LoopsInOneFrame},
    {"ChainedLoops", &ChainedLoops},
    {"NestedLoops", &NestedLoops},
    {"LoopWithManyCaptures", &LoopWithManyCaptures},
    {"LongLoop", &LongLoop},
    {"ManyFunctions", &ManyFunctions},
    {"ManyCallsOfOneFunction", &ManyCallsOfOneFunction},
    {"ManyDevices", &ManyDevices, 0},
    {"ManyVariables", &ManyVariables},
    {"ManyControlInputs", &ManyControlInputs},
    {"ManyFeedsAndFetches", &ManyFeedsAndFetches},
};

}  // namespace

absl::Span<const GraphShape> AllGraphShapes() { return kShapes; }

}  // namespace sluice
