#include "executor/session/generator_states.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/executor/session/called_functions_fixture.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// One random op of each family whose node keeps its generator, by names "r0", "r1", ...
Graph RandomOps(int* count) {
  GraphBuilder b(NewOpRegistry());
  const Output shape = b.Const("shape", Tensor::Vector<int32_t>({5}));
  const GraphBuilder::Attrs seeds = {{"seed", int64_t{1}}, {"seed2", int64_t{2}}};
  const auto with = [&seeds](GraphBuilder::Attrs attrs) {
    attrs.insert(attrs.end(), seeds.begin(), seeds.end());
    return attrs;
  };
  *count = 0;
  const auto add = [&](const char* op, std::vector<Output> inputs, GraphBuilder::Attrs attrs) {
    b.Op(op, "r" + std::to_string((*count)++), std::move(inputs), with(std::move(attrs)));
  };
  const Output one = b.Const("one", Tensor::Vector<float>({1})),
               logits = b.Const("logits", Tensor::Of<float>(Shape::Of({1, 3}), {0, 0, 0}));
  const Output low = b.Const("low", Tensor::Scalar(int32_t{0})), high = b.Const("high", Tensor::Scalar(int32_t{1000}));
  add("RandomUniform", {shape}, {{"dtype", DType::kFloat}});
  add("TruncatedNormal", {shape}, {{"dtype", DType::kFloat}});
  add("RandomUniformInt", {shape, low, high}, {});
  add("RandomGamma", {shape, one}, {});
  add("RandomPoissonV2", {shape, one}, {});
  add("Multinomial", {logits, b.Const("samples", Tensor::Scalar(int32_t{20}))}, {});
  add("RandomShuffle", {b.Const("values", Tensor::Vector<int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}))}, {});
  absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

TEST(GeneratorStatesTest, ARestoredSessionGoesOnWithTheSameNumbers) {
  int count = 0;
  const Graph graph = RandomOps(&count);
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back("r" + std::to_string(i));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), graph));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> first, session->Run({}, all, {}));
  NamedTensors states;
  AppendGeneratorStates(*session, {}, &states);
  EXPECT_EQ(states.size(), all.size());
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> one, session->Prepare({{}, {"r1"}, {}, {}}));
  NamedTensors of_one;
  AppendGeneratorStates(*session, {one.get()}, &of_one);
  ASSERT_EQ(of_one.size(), 1);
  EXPECT_EQ(of_one[0].first, "sluice_generator/r1");
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> wanted, session->Run({}, all, {}));

  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> other, Session::Create(SessionOptions(), graph));
  ASSERT_OK(other->Prepare({{}, all, {}, {}}));
  states.emplace_back("sluice_generator/elsewhere", states[0].second);
  ASSERT_OK(RestoreGeneratorStates(*other, states));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, other->Run({}, all, {}));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(wanted[i].bytes(), first[i].bytes()) << all[i];
    EXPECT_EQ(wanted[i].bytes(), got[i].bytes()) << all[i];
  }
}

// A node on another device of the session than the first, and one that has moved there.
TEST(GeneratorStatesTest, AnyDeviceGoesOn) {
  const auto graph_on = [](const char* device) {
    GraphBuilder b(NewOpRegistry());
    const Output r = b.Op("RandomUniform", "r", {b.Const("shape", Tensor::Vector<int32_t>({5}))},
                          {{"dtype", DType::kFloat}, {"seed", int64_t{1}}, {"seed2", int64_t{2}}});
    b.SetDevice(r, device);
    return *b.Build();
  };
  SessionOptions options;
  options.num_cpu_devices = 2;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, graph_on("/device:CPU:1")));
  ASSERT_OK(session->Run({}, {"r"}, {}));
  NamedTensors states;
  AppendGeneratorStates(*session, {}, &states);
  ASSERT_EQ(states.size(), 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> wanted, session->Run({}, {"r"}, {}));
  for (const char* device : {"/device:CPU:0", "/device:CPU:1"}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> other, Session::Create(options, graph_on(device)));
    ASSERT_OK(other->Prepare({{}, {"r"}, {}, {}}));
    ASSERT_OK(RestoreGeneratorStates(*other, states));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, other->Run({}, {"r"}, {}));
    EXPECT_EQ(wanted[0].bytes(), got[0].bytes()) << device;
  }
}

TEST(GeneratorStatesTest, WhatIsNoStateIsAnError) {
  int count = 0;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), RandomOps(&count)));
  ASSERT_OK(session->Prepare({{}, {"r0"}, {}, {}}));
  EXPECT_FALSE(RestoreGeneratorStates(*session, {{"sluice_generator/r0", Tensor::Scalar(1.0f)}}).ok());
  EXPECT_OK(RestoreGeneratorStates(*session, {{"w", Tensor::Scalar(1.0f)}}));
}

// Random ops, and a Print, in functions of every kind that share or keep state: Note [State of calls].
class FunctionStatesTest : public CalledFunctionsTest {
 protected:
  // y = x + a random number; prints the first two times.
  static FunctionText Draw(absl::string_view name, bool is_marked) {
    FunctionText text(name);
    text.Arg("x: float").Result("y: float", "y:z:0").ControlResult("p", "p").Stateful();
    text.Node("shape = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Vector<int32_t>({})}});
    text.Node("u = RandomUniform(shape:output:0)",
              {{"dtype", DType::kFloat}, {"T", DType::kInt32}, {"seed", int64_t{7}}, {"seed2", int64_t{9}}});
    text.Node("p = Print(x, x)", {{"T", DType::kFloat},
                                  {"U", std::vector<DType>{DType::kFloat}},
                                  {"message", absl::StrCat("printed by ", name, " ")},
                                  {"first_n", int64_t{2}}});
    text.Node("y = AddV2(p:output:0, u:output:0)", {{"T", DType::kFloat}});
    if (is_marked) text.FunctionAttr("_noinline", true);
    return text;
  }
  static AttrValue FunctionList(const std::vector<std::string>& names) {
    graph_bytes::MessageBytes list;
    for (const std::string& name : names) list.Sub(9, graph_bytes::MessageBytes().Bytes(1, name));
    return AttrValue::FromBytes(graph_bytes::MessageBytes().Sub(1, list).str());
  }
  static GraphBuilder::Attrs CallAttrs(absl::string_view function) {
    return {{"f", AttrValue::Func(function, {})},
            {"Tin", std::vector<DType>{DType::kFloat}},
            {"Tout", std::vector<DType>{DType::kFloat}}};
  }
  // A function that calls `callee` twice, the second time with what the first call gives.
  static FunctionText Twice(absl::string_view name, absl::string_view callee) {
    FunctionText text(name);
    text.Arg("x: float").Result("y: float", "b:output:0").ControlResult("b", "b").Stateful();
    text.Node("a = StatefulPartitionedCall(x)", CallAttrs(callee));
    text.Node("b = StatefulPartitionedCall(a:output:0)", CallAttrs(callee)).FunctionAttr("_noinline", true);
    return text;
  }

  FunctionStatesTest() {
    Draw("Plain", false).AddTo(b_.graph());
    // Calls of one marked function share its state, and nothing orders these calls: so each has a function of its own.
    for (const char* const name : {"Marked", "MarkedInNested", "MarkedInWhile", "MarkedInFor"}) {
      Draw(name, true).AddTo(b_.graph());
    }
    Twice("Nested", "MarkedInNested").AddTo(b_.graph());
    Twice("Path/With.Slash", "Plain").AddTo(b_.graph());
    AddLoopFunctions();
    const Output x = PlaceholderX();
    for (const char* const function : {"Plain", "Marked", "Nested", "Path/With.Slash"}) {
      Call(b_, absl::StrCat("call_of_", function[0] == 'P' && function[1] == 'a' ? "Path" : function), function, {x},
           {DType::kFloat}, {}, "StatefulPartitionedCall");
    }
    const Output yes = b_.Const("yes", Tensor::Scalar(true)), zero = b_.Const("zero", Tensor::Scalar(int32_t{0}));
    const std::vector<DType> float_type = {DType::kFloat};
    const AttrValue plain = AttrValue::Func("Plain", {});
    b_.Op("If", "if", {yes, x},
          {{"Tin", float_type}, {"Tout", float_type}, {"then_branch", plain}, {"else_branch", plain}});
    b_.Op("Case", "case", {zero, x},
          {{"Tin", float_type}, {"Tout", float_type}, {"branches", FunctionList({"Plain", "Plain"})}});
    const Output loop = b_.Op("While", "while", {zero, x},
                              {{"T", std::vector<DType>{DType::kInt32, DType::kFloat}},
                               {"cond", AttrValue::Func("Less3", {})},
                               {"body", AttrValue::Func("Body", {})}});
    b_.Op("Identity", "looped", {GraphBuilder::Nth(loop, 1)});
    const Output start = b_.Const("start", Tensor::Scalar(int32_t{0})),
                 end = b_.Const("end", Tensor::Scalar(int32_t{3})), step = b_.Const("step", Tensor::Scalar(int32_t{1}));
    b_.Op("For", "for", {start, end, step, x}, {{"T", float_type}, {"body", AttrValue::Func("ForBody", {})}});
  }

  void AddLoopFunctions() {
    FunctionText less("Less3");
    less.Arg("i: int32").Arg("x: float").Result("c: bool", "c:z:0");
    less.Node("three = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(int32_t{3})}});
    less.Node("c = Less(i, three:output:0)", {{"T", DType::kInt32}}).AddTo(b_.graph());
    FunctionText body("Body");
    body.Arg("i: int32").Arg("x: float").Result("j: int32", "j:z:0").Result("y: float", "d:output:0").Stateful();
    body.Node("one = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(int32_t{1})}});
    body.Node("j = AddV2(i, one:output:0)", {{"T", DType::kInt32}});
    body.Node("d = StatefulPartitionedCall(x)", CallAttrs("MarkedInWhile")).ControlResult("d", "d").AddTo(b_.graph());
    FunctionText for_body("ForBody");
    for_body.Arg("i: int32").Arg("x: float").Result("y: float", "d:output:0").Stateful();
    for_body.Node("d = StatefulPartitionedCall(x)", CallAttrs("MarkedInFor")).AddTo(b_.graph());
  }

  // What each signature answers in two runs.
  std::vector<float> RunTwice(const std::vector<std::vector<std::string>>& signatures) {
    std::vector<float> numbers;
    for (int run = 0; run < 2; ++run) {
      for (const std::vector<std::string>& fetches : signatures) {
        const absl::StatusOr<std::vector<Tensor>> values = session_->Run({{"x", Float(0)}}, fetches, {});
        EXPECT_OK(values);
        for (size_t i = 0; values.ok() && i < values->size(); ++i) numbers.push_back(*(*values)[i].AsScalar<float>());
      }
    }
    return numbers;
  }
};

TEST_F(FunctionStatesTest, StateInFunctionsGoesOn) {
  const std::vector<std::string> all = {
      "call_of_Plain", "call_of_Marked", "call_of_Nested", "call_of_Path", "if", "case", "looped", "for"};
  // Each signature has state of its own in marked functions.
  const std::vector<std::vector<std::string>> signatures = {all, {"call_of_Nested"}, {"call_of_Nested", "if"}};
  for (const CallPolicy policy : {CallPolicy::kInline, CallPolicy::kCall}) {
    for (const CallPolicy other : {CallPolicy::kCall, CallPolicy::kInline}) {
      OpenWith(policy);
      const std::vector<float> first = RunTwice(signatures);
      NamedTensors states;
      AppendGeneratorStates(*session_, {}, &states);
      const std::vector<float> wanted = RunTwice(signatures);
      EXPECT_NE(first, wanted);
      OpenWith(other);
      for (const std::vector<std::string>& fetches : signatures)
        ASSERT_OK(session_->Run({{"x", Float(0)}}, fetches, {}));
      ASSERT_OK(RestoreGeneratorStates(*session_, states));
      EXPECT_EQ(RunTwice(signatures), wanted);
    }
  }
}

TEST_F(FunctionStatesTest, PrintsAreCounted) {
  OpenWith(CallPolicy::kByCost);
  const auto printed = [this] {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) EXPECT_OK(session_->Run({{"x", Float(0)}}, {"call_of_Marked"}, {}));
    const std::string text = testing::internal::GetCapturedStderr();
    int count = 0;
    for (size_t at = text.find("printed"); at != std::string::npos; at = text.find("printed", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(printed(), 2);
  NamedTensors states;
  AppendGeneratorStates(*session_, {}, &states);
  OpenWith(CallPolicy::kByCost);
  ASSERT_OK_AND_ASSIGN(const auto callable, session_->Prepare({{"x"}, {"call_of_Marked"}, {}, {}}));
  ASSERT_OK(RestoreGeneratorStates(*session_, states));
  Tensor in[] = {Float(0)}, out[1];
  testing::internal::CaptureStderr();
  EXPECT_OK(callable->Run(in, absl::MakeSpan(out)));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Signatures are known by names of their own where their users give some, whatever they fetch.
TEST_F(FunctionStatesTest, SignaturesHaveNames) {
  OpenWith(CallPolicy::kByCost);
  const auto prepare = [this](std::vector<std::string> fetches, const char* name) {
    PrepareOptions options;
    options.plan_name = name;
    return *session_->Prepare({{"x"}, std::move(fetches), {}, {}}, options);
  };
  const auto run = [](const std::shared_ptr<const Callable>& callable) {
    std::vector<Tensor> in = {Float(0)}, out(callable->fetches().size());
    EXPECT_OK(callable->Run(absl::MakeSpan(in), absl::MakeSpan(out)));
    return *out[0].AsScalar<float>();
  };
  const auto train = prepare({"call_of_Marked"}, "train"), other = prepare({"call_of_Nested"}, "other");
  run(train);
  run(other);
  NamedTensors states, of_train;
  AppendGeneratorStates(*session_, {}, &states);
  AppendGeneratorStates(*session_, {train.get()}, &of_train);
  EXPECT_EQ(states.size(), 4) << "a generator and a Print each";
  ASSERT_EQ(of_train.size(), 2);
  for (const auto& [name, tensor] : of_train) EXPECT_EQ(name.find("sluice_call_state/train/Marked-"), 0) << name;
  const float wanted = run(train);
  OpenWith(CallPolicy::kByCost);
  const auto again = prepare({"call_of_Marked", "call_of_Plain"}, "train");
  ASSERT_OK(RestoreGeneratorStates(*session_, states));
  EXPECT_EQ(run(again), wanted);
  for (auto& [name, tensor] : states) tensor = Tensor::Strings({"nothing"});
  EXPECT_THAT(RestoreGeneratorStates(*session_, states), IsError(ErrorCode::kCheckpointEntry, "train/Marked-"));
}

}  // namespace
}  // namespace sluice
