#include "graph/functions/call_state_names.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

BoundFunction Bind(const char* name) {
  BoundFunction bound;
  const absl::StatusOr<std::shared_ptr<const FunctionDefinition>> made = FunctionText(name).Arg("x: float").Build();
  EXPECT_TRUE(made.ok());
  bound.definition = made.value_or(nullptr);
  bound.attrs.emplace("T", DType::kFloat);
  return bound;
}

// The instances of one plan, with their names.
struct Plan {
  CallStates::Scope Enter(const CallStates::Scope& from, bool by_call_op, const BoundFunction& function) {
    const CallStates::Scope scope = states.Enter(from, by_call_op, function);
    names.Add(from, by_call_op, function, scope.instance);
    return scope;
  }
  std::string NameOf(const CallStates::Scope& scope) const {
    return names.WithName(CallStates::KeyOf(scope.instance) + "u");
  }

  CallStates states;
  CallStateNames names;
};

// Checkpoints hold the names: they are the same in whichever order calls are met.
TEST(CallStateNamesTest, NamesDoNotDependOnTheOrder) {
  const BoundFunction f = Bind("f"), g = Bind("g");
  const CallStates::Scope graph;
  Plan one, other;
  const CallStates::Scope f1 = one.Enter(graph, true, f), g_in_f1 = one.Enter(f1, true, g);
  const CallStates::Scope g2 = other.Enter(graph, false, g), f2 = other.Enter(graph, true, f);
  EXPECT_EQ(other.NameOf(f2), one.NameOf(f1));
  EXPECT_EQ(one.NameOf(f1).find("f-"), 0u) << one.NameOf(f1);
  EXPECT_EQ(one.NameOf(f1).substr(one.NameOf(f1).size() - 2), "/u");
  EXPECT_EQ(other.NameOf(other.Enter(f2, true, g)), one.NameOf(g_in_f1));
  EXPECT_NE(other.NameOf(g2), one.NameOf(g_in_f1)) << "g in f is another instance than that of the graph";
  EXPECT_EQ(one.NameOf(one.Enter(graph, true, f)), one.NameOf(f1)) << "entered again";
}

TEST(CallStateNamesTest, NamesArePrintableAndWithoutSlashes) {
  const std::string name = CallStateNames::Make("", Bind("a/b\nc"));
  EXPECT_EQ(name.find('/'), std::string::npos) << name;
  EXPECT_EQ(name.find('\n'), std::string::npos) << name;
  EXPECT_NE(CallStateNames::Make("kernel function ", Bind("f")), CallStateNames::Make("", Bind("f")));
}

TEST(CallStateNamesTest, OtherKeysStay) {
  const CallStateNames names;
  for (const char* key : {"own/u", "7/u", "u", "", "/", "99999999999/u"}) EXPECT_EQ(names.WithName(key), key);
}

}  // namespace
}  // namespace sluice
