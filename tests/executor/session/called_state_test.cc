// Which calls of functions share the state of kernels, inlined or called: Note [State of calls] in
// graph/functions/call_states.h. The same cases, answered by TensorFlow, are in tests/goldens/call_state.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/called_functions_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

using testing::ElementsAre;

class CalledStateTest : public CalledFunctionsTest {
 protected:
  using Numbers = std::vector<int>;

  // A Print that gives how often it was called.
  CalledStateTest() {
    RegisterAllKernels(registry_);
    EXPECT_OK(registry_.Add(OwnedKernelRow("Print", [](const KernelConstruction&) {
      auto calls = std::make_shared<std::atomic<int32_t>>(0);
      return std::make_unique<FunctionKernel>(
          [calls](KernelContext& context) {
            context.SetScalar(0, static_cast<float>(++*calls));
            return absl::OkStatus();
          },
          CostHint::kByBytes);
    })));
  }

  static FunctionText Count(absl::string_view name, bool is_marked) {
    FunctionText text(name);
    text.Arg("x: float").Result("n: float", "p:output:0").ControlResult("p", "p").Stateful();
    text.Node("p = Print(x, x)", {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}});
    if (is_marked) text.FunctionAttr("_noinline", true);
    return text;
  }
  // A function that calls `callee`.
  static FunctionText Over(absl::string_view name, absl::string_view callee, bool is_marked) {
    FunctionText text(name);
    text.Arg("x: float").Result("n: float", "in:output:0").ControlResult("in", "in").Stateful();
    text.Node("in = StatefulPartitionedCall(x)", {{"f", AttrValue::Func(callee, {})},
                                                  {"Tin", std::vector<DType>{DType::kFloat}},
                                                  {"Tout", std::vector<DType>{DType::kFloat}}});
    if (is_marked) text.FunctionAttr("_noinline", true);
    return text;
  }
  // The next call, after all that were added before.
  void AddCall(absl::string_view function) {
    Then(Call(b_, absl::StrCat("c", ++num_), function, {x_}, {DType::kFloat}, {}, "StatefulPartitionedCall"));
  }
  void AddIf(absl::string_view function, bool is_lowered) {
    const AttrValue branch = AttrValue::Func(function, {});
    Then(b_.Op("If", absl::StrCat("c", ++num_), {yes_, x_},
               {{"Tin", std::vector<DType>{DType::kFloat}},
                {"Tout", std::vector<DType>{DType::kFloat}},
                {"then_branch", branch},
                {"else_branch", branch},
                {"_lower_using_switch_merge", is_lowered}}));
  }
  // Functions A1 to A<depth>, and B: each calls A and B of the depth below.
  void AddTree(int depth) {
    for (int i = 1; i <= depth; ++i) {
      for (const char* const letter : {"A", "B"}) {
        FunctionText text(absl::StrCat(letter, i));
        text.Arg("x: float").Result("n: float", "b:output:0").ControlResult("b", "b").Stateful();
        for (const char* const callee : {"A", "B"}) {
          const std::string line =
              callee[0] == 'A' ? "a = StatefulPartitionedCall(x)" : "b = StatefulPartitionedCall(a:output:0)";
          text.Node(line, {{"f", AttrValue::Func(absl::StrCat(callee, i - 1), {})},
                           {"Tin", std::vector<DType>{DType::kFloat}},
                           {"Tout", std::vector<DType>{DType::kFloat}}});
        }
        text.FunctionAttr("_noinline", true).AddTo(b_.graph());
      }
    }
  }
  void Then(const Output& node) {
    if (num_ > 1) b_.AddControl(node, last_);
    last_ = node;
  }

  Numbers Run(std::vector<std::string> fetches) {
    Numbers numbers;
    const absl::StatusOr<std::vector<Tensor>> values = session_->Run({{"x", Float(0)}}, fetches, {});
    EXPECT_OK(values);
    if (!values.ok()) return numbers;
    for (const Tensor& value : *values) numbers.push_back(static_cast<int>(*value.AsScalar<float>()));
    return numbers;
  }
  // Calls `check` in sessions of all kinds.
  template <typename Check>
  void InAllSessions(Check check) {
    for (const CallPolicy policy : {CallPolicy::kByCost, CallPolicy::kInline, CallPolicy::kCall}) {
      for (const Driver driver : kDrivers) {
        SCOPED_TRACE(absl::StrCat("policy ", static_cast<int>(policy), ", driver ", static_cast<int>(driver)));
        SessionOptions options;
        options.kernels = &registry_;
        OpenWith(policy, driver, options);
        check();
      }
    }
  }

  KernelRegistry registry_;
  const Output x_ = PlaceholderX();
  const Output yes_ = b_.Const("yes", Tensor::Scalar(true));
  int num_ = 0;
  Output last_;
};

TEST_F(CalledStateTest, PlainCallsHaveStateOfTheirOwnInAllSignatures) {
  Count("Count", false).AddTo(b_.graph());
  AddCall("Count");
  AddCall("Count");
  InAllSessions([&] {
    EXPECT_THAT(Run({"c1", "c2"}), ElementsAre(1, 1));
    EXPECT_THAT(Run({"c1"}), ElementsAre(2));
    EXPECT_THAT(Run({"c1", "c2"}), ElementsAre(3, 2));
  });
}

TEST_F(CalledStateTest, MarkedFunctionsShareItWithinASignature) {
  Count("Count", true).AddTo(b_.graph());
  AddCall("Count");
  AddCall("Count");
  InAllSessions([&] {
    EXPECT_THAT(Run({"c1", "c2"}), ElementsAre(1, 2));
    EXPECT_THAT(Run({"c1"}), ElementsAre(1));
    EXPECT_THAT(Run({"c1", "c2"}), ElementsAre(3, 4));
    EXPECT_THAT(Run({"c1"}), ElementsAre(2));
  });
}

TEST_F(CalledStateTest, FunctionsThatAreMarkedHaveInstancesOfTheirOwnInThem) {
  Count("Count", true).AddTo(b_.graph());
  Over("A", "Count", true).AddTo(b_.graph());
  Over("B", "Count", true).AddTo(b_.graph());
  for (const char* const function : {"A", "A", "B", "Count"}) AddCall(function);
  InAllSessions([&] {
    EXPECT_THAT(Run({"c1", "c2", "c3", "c4"}), ElementsAre(1, 2, 1, 1));
    EXPECT_THAT(Run({"c1", "c2", "c3", "c4"}), ElementsAre(3, 4, 2, 2));
  });
}

TEST_F(CalledStateTest, PlainOnesPassTheGraphsOwnInstancesOn) {
  Count("Count", true).AddTo(b_.graph());
  Over("A", "Count", false).AddTo(b_.graph());
  Over("B", "Count", false).AddTo(b_.graph());
  for (const char* const function : {"A", "A", "B", "Count"}) AddCall(function);
  InAllSessions([&] { EXPECT_THAT(Run({"c1", "c2", "c3", "c4"}), ElementsAre(1, 2, 3, 4)); });
}

TEST_F(CalledStateTest, APlainFunctionInAMarkedOneIsPartOfItsInstance) {
  Count("Count", false).AddTo(b_.graph());
  Over("A", "Count", true).AddTo(b_.graph());
  for (const char* const function : {"A", "A", "Count"}) AddCall(function);
  InAllSessions([&] {
    EXPECT_THAT(Run({"c1", "c2", "c3"}), ElementsAre(1, 2, 1));
    EXPECT_THAT(Run({"c3"}), ElementsAre(2)) << "a plain call's";
    EXPECT_THAT(Run({"c1", "c2", "c3"}), ElementsAre(3, 4, 3));
  });
}

TEST_F(CalledStateTest, BranchesThatAreNotLoweredShareWhatCallsDoNot) {
  Count("Count", false).AddTo(b_.graph());
  AddIf("Count", false);
  AddIf("Count", false);
  AddCall("Count");
  AddIf("Count", true);
  InAllSessions([&] {
    EXPECT_THAT(Run({"c1", "c2", "c3", "c4"}), ElementsAre(1, 2, 1, 1));
    EXPECT_THAT(Run({"c1", "c2", "c3", "c4"}), ElementsAre(3, 4, 2, 2));
  });
}

// A call that is inlined since its argument may be dead shares with one that stays.
TEST_F(CalledStateTest, InlinedAndCalledOnesShareIt) {
  Count("Count", true).AddTo(b_.graph());
  AddCall("Count");
  const Output ports = b_.Op("Switch", "ports", {x_, yes_});
  const Output late =
      Call(b_, "late", "Count", {GraphBuilder::Nth(ports, 1)}, {DType::kFloat}, {}, "StatefulPartitionedCall");
  b_.AddControl(late, last_);
  InAllSessions([&] {
    EXPECT_THAT(Run({"c1", "late"}), ElementsAre(1, 2));
    EXPECT_THAT(Run({"c1", "late"}), ElementsAre(3, 4));
  });
}

// 2^n instances: as many nodes as inlining would make, and as few are allowed.
TEST_F(CalledStateTest, TooManyInstancesAreRefused) {
  Count("A0", true).AddTo(b_.graph());
  Count("B0", true).AddTo(b_.graph());
  AddTree(40);
  AddCall("A40");
  SessionOptions options;
  options.kernels = &registry_;
  options.limits.max_expanded_nodes = 10'000;
  for (const CallPolicy policy : kPolicies) {
    OpenWith(policy, Driver::kAuto, options);
    EXPECT_THAT(session_->Run({{"x", Float(0)}}, {"c1"}, {}), IsError(ErrorCode::kLimitNodes, "too many nodes"));
  }
}

// The same where it is not the functions that share state that have the nodes, but what is inlined there.
TEST_F(CalledStateTest, InstancesWithTooManyNodesAreRefused) {
  FunctionText large("Large");
  large.Arg("x: float").Result("n: float", "n299:y:0").Stateful().ControlResult("p", "p");
  large.Node("p = Print(x, x)", {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}});
  for (int i = 0; i < 300; ++i) {
    const std::string from = i == 0 ? "p:output:0" : absl::StrCat("n", i - 1, ":y:0");
    large.Node(absl::StrCat("n", i, " = Neg(", from, ")"), {{"T", DType::kFloat}});
  }
  large.AddTo(b_.graph());
  Over("A0", "Large", true).AddTo(b_.graph());
  Over("B0", "Large", true).AddTo(b_.graph());
  AddTree(6);
  AddCall("A6");
  SessionOptions options;
  options.kernels = &registry_;
  for (const CallPolicy policy : kPolicies) {
    options.limits.max_expanded_nodes = 10'000;
    OpenWith(policy, Driver::kAuto, options);
    EXPECT_THAT(session_->Run({{"x", Float(0)}}, {"c1"}, {}), IsError(ErrorCode::kLimitNodes, "too many nodes"));
    options.limits.max_expanded_nodes = 100'000;
    OpenWith(policy, Driver::kAuto, options);
    EXPECT_OK(session_->Run({{"x", Float(0)}}, {"c1"}, {}));
  }
}

// The functions of a kernel with state are those of its graph, also where another graph comes with the same node.
TEST_F(CalledStateTest, AKernelIsAnotherWhereItsFunctionsAre) {
  ASSERT_OK(registry_.Add(OwnedKernelRow(
      "RemoteCall", [](const KernelConstruction& construction) -> absl::StatusOr<std::unique_ptr<Kernel>> {
        absl::StatusOr<std::shared_ptr<const CallableFunction>> body = construction.Function("f");
        if (!body.ok()) return body.status();
        return std::make_unique<FunctionKernel>(
            [body = *body](KernelContext& context) -> absl::Status {
              Tensor arguments[] = {context.input(1)}, results[1];
              const absl::Status status = body->Run(context, arguments, absl::MakeSpan(results));
              if (status.ok()) context.SetOutput(0, std::move(results[0]));
              return status;
            },
            CostHint::kByBytes);
      })));
  SessionOptions options;
  options.kernels = &registry_;
  OpenWith(CallPolicy::kByCost, Driver::kAuto, options);
  for (const char* const op : {"Neg", "Square"}) {
    GraphBuilder graph(NewOpRegistry());
    Unary("Inner", op).AddTo(graph.graph());
    FunctionText("F").Arg("x: float").Result("y: float", "in:y:0").Node("in = Inner(x)").AddTo(graph.graph());
    const Output x = graph.Placeholder("x", DType::kFloat);
    graph.Op("RemoteCall", "call", {graph.Const("target", Tensor::Strings({"here"})), x},
             {{"Tin", std::vector<DType>{DType::kFloat}},
              {"Tout", std::vector<DType>{DType::kFloat}},
              {"f", AttrValue::Func("F", {})}});
    ASSERT_OK(graph.status());
    ASSERT_OK(session_->Replace(graph.graph()));
    ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("call", {{"x", Float(3)}}));
    EXPECT_EQ(*value.AsScalar<float>(), std::string(op) == "Neg" ? -3 : 9);
  }
}

}  // namespace
}  // namespace sluice
