#ifndef SLUICE_TESTS_EXECUTOR_SESSION_CALLED_FUNCTIONS_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_SESSION_CALLED_FUNCTIONS_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/functions/call_site.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_defs.h"

namespace sluice {

inline constexpr CallPolicy kPolicies[] = {CallPolicy::kInline, CallPolicy::kCall};
inline constexpr Driver kDrivers[] = {Driver::kAuto, Driver::kDataflow};

// Sessions that call functions, and sessions that do not.
class CalledFunctionsTest : public SessionFixture {
 protected:
  static Tensor Float(float value) { return Tensor::Scalar(value); }
  static bool IsCallOp(const Graph& graph, NodeId id) {
    return CallKindOf(graph.op_name(id)) == CallKind::kCall || graph.library().Contains(graph.op_name(id));
  }
  // y = op(x) in a function of that name, marked as TensorFlow marks functions that it does not inline.
  static FunctionText Unary(absl::string_view name, absl::string_view op, bool is_marked = false) {
    FunctionText text(name);
    text.Arg("x: float").Result("y: float", "y:y:0").Node(absl::StrCat("y = ", op, "(x)"), {{"T", DType::kFloat}});
    if (is_marked) text.FunctionAttr("_noinline", true);
    return text;
  }

  void OpenWith(CallPolicy policy, Driver driver = Driver::kAuto, SessionOptions options = {}) {
    options.function_calls = policy;
    options.driver = driver;
    Open(options);
  }
  // Calls that the graph of a signature still has.
  int CallsLeft(const FeedFetchSpec& spec) {
    absl::StatusOr<std::shared_ptr<const Callable>> callable = session_->Prepare(spec);
    EXPECT_OK(callable);
    if (!callable.ok()) return -1;
    int calls = 0;
    for (const NodeId id : (*callable)->graph().Nodes()) calls += IsCallOp((*callable)->graph(), id) ? 1 : 0;
    return calls;
  }
  // Fetches `name` with both policies and drivers: equal answers. `calls` are left when all are called.
  void ExpectEqualAnswers(const std::string& name, const NamedTensors& feeds, float expected, int calls) {
    FeedFetchSpec spec;
    for (const auto& feed : feeds) spec.feeds.push_back(feed.first);
    spec.fetches = {name};
    for (const CallPolicy policy : kPolicies) {
      for (const Driver driver : kDrivers) {
        OpenWith(policy, driver);
        EXPECT_EQ(CallsLeft(spec), policy == CallPolicy::kCall ? calls : 0);
        for (int run = 0; run < 3; ++run) {
          ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch(name, feeds));
          EXPECT_EQ(*value.AsScalar<float>(), expected) << name;
        }
      }
    }
  }
  Output PlaceholderX() { return b_.Placeholder("x", DType::kFloat); }
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_SESSION_CALLED_FUNCTIONS_FIXTURE_H_
