#include "graph/functions/call_states.h"

#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

class CallStatesTest : public testing::Test {
 protected:
  // The function with its one attr bound.
  static BoundFunction Bind(const char* name, DType type) {
    BoundFunction bound;
    const absl::StatusOr<std::shared_ptr<const FunctionDefinition>> made = FunctionText(name).Arg("x: float").Build();
    EXPECT_TRUE(made.ok());
    bound.definition = made.value_or(nullptr);
    bound.attrs.emplace("T", type);
    return bound;
  }

  CallStates states_;
  const BoundFunction f_ = Bind("f", DType::kFloat), g_ = Bind("g", DType::kFloat);
};

TEST_F(CallStatesTest, AnInstanceIsKnownByFunctionAttrsAndKindOfCall) {
  const CallStates::Scope graph;
  const int32_t f = states_.Enter(graph, true, f_).instance;
  EXPECT_GT(f, 0);
  EXPECT_EQ(states_.Enter(graph, true, f_).instance, f);
  EXPECT_NE(states_.Enter(graph, true, g_).instance, f);
  EXPECT_NE(states_.Enter(graph, true, Bind("f", DType::kInt32)).instance, f);
  EXPECT_NE(states_.Enter(graph, false, f_).instance, f) << "a direct call, or a loop";
}

TEST_F(CallStatesTest, CallOpsHaveInstancesOfTheirOwnInThem) {
  const CallStates::Scope graph;
  const CallStates::Scope f = states_.Enter(graph, true, f_), g = states_.Enter(graph, true, g_);
  EXPECT_NE(states_.Enter(f, true, g_).instance, g.instance);
  EXPECT_NE(states_.Enter(f, false, g_).instance, states_.Enter(graph, false, g_).instance);
  const CallStates::Scope loop = states_.Enter(graph, false, f_);
  EXPECT_EQ(states_.Enter(loop, true, g_).instance, g.instance) << "a loop does not tell instances apart";
}

TEST_F(CallStatesTest, ScopesAreFoundByNumber) {
  const CallStates::Scope f = states_.Enter(CallStates::Scope(), true, f_);
  EXPECT_EQ(states_.ScopeOf(f.instance).instance, f.instance);
  EXPECT_EQ(states_.ScopeOf(f.instance).around, f.around);
  for (const int64_t number : {int64_t{0}, int64_t{-1}, int64_t{f.instance} + 1, int64_t{1} << 40}) {
    EXPECT_EQ(states_.ScopeOf(number).instance, 0);
  }
}

TEST_F(CallStatesTest, KeysAreNumbersAndNames) {
  CallStates::Scope scope = states_.Enter(CallStates::Scope(), true, f_);
  scope.prefix = 5;
  EXPECT_EQ(CallStates::NodeKey(scope, "call/in/u"), CallStates::KeyOf(scope.instance) + "in/u");
  EXPECT_EQ(CallStates::NameIn(CallStates::NodeKey(scope, "call/in/u")), "in/u");
  EXPECT_EQ(CallStates::NameIn("u"), "u") << "not a key of ours";
  scope.prefix = 100;
  EXPECT_EQ(CallStates::NodeKey(scope, "u"), CallStates::KeyOf(scope.instance));
}

}  // namespace
}  // namespace sluice
