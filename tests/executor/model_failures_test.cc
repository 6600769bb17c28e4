// A small model is loaded, prepared and run, and each allocation of that fails once, and then from one on all of them:
// the answer is a status, OK or kOutOfMemory, and no exception; the next time it is right; nothing is lost.
//
// Sanitizers have an operator new of their own: there the model runs, and nothing fails.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/executor/failing_allocations.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// What one test may take, about. Where all of its allocations would take longer (a build without optimisation, a busy
// machine), every second fails, or every third, and so on.
constexpr absl::Duration kBudget = absl::Seconds(12);

// Loads, prepares or runs; fixtures have a Run of their own. OK when all that it sees is right.
using Action = Run;

// `work`, whose exceptions are an error that is not that of a lack of memory.
absl::Status WithoutThrowing(const Action& work) {
  try {
    return work();
  } catch (...) {
    FailNewCall(0);
    return absl::InternalError("an exception comes out");
  }
}

class ModelFailuresTest : public ::testing::TestWithParam<CallPolicy> {
 protected:
  // y = If(x > 0, loop + 1, -loop) + (x * x + 1) + -3, where loop is x, made larger by 1 until it is 10 or more.
  void SetUp() override {
    GraphBuilder b(ops_);
    AddOne().AddTo(b.graph());
    LessThanTen().AddTo(b.graph());
    Negate().AddTo(b.graph());
    SquarePlusOne().AddTo(b.graph());
    const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
    const Output loop = b.Op("While", "loop", {x},
                             {{"T", std::vector<DType>{DType::kFloat}},
                              {"cond", AttrValue::Func("LessThanTen", {})},
                              {"body", AttrValue::Func("AddOne", {})}});
    const Output is_positive = b.Op("Greater", "is_positive", {x, b.Const("zero", Tensor::Scalar(0.0f))});
    const Output branch = b.Op("If", "branch", {is_positive, loop},
                               {{"Tin", std::vector<DType>{DType::kFloat}},
                                {"Tout", std::vector<DType>{DType::kFloat}},
                                {"then_branch", AttrValue::Func("AddOne", {})},
                                {"else_branch", AttrValue::Func("Negate", {})}});
    const Output square = Call(b, "square", "SquarePlusOne", {x}, {DType::kFloat});
    const Output folded = b.Op("Neg", "folded", {b.Const("three", Tensor::Scalar(3.0f))});
    b.Op("AddV2", "y", {b.Op("AddV2", "sum", {branch, square}), folded});
    ASSERT_OK_AND_ASSIGN(graph_, b.Build());
    bytes_ = ExportGraph(graph_);
    load_options_.ops = ops_;
    session_options_.num_threads = 1;
    session_options_.function_calls = GetParam();
  }

  absl::Status CheckAnswer(Session& session) const {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(feeds_, fetches_, {}));
    SLUICE_ASSIGN_OR_RETURN(const float y, values[0].AsScalar<float>());
    return Expect(y == 11.5f + 7.25f - 3.0f, "wrong answer");
  }

  // Has each allocation of `run` fail, as far as it comes, once and with all after it. `prepare` comes before each, and
  // another `run`, which succeeds, after it.
  void FailEachAllocationOfModel(const Action& prepare, const Action& run) {
    // Two runs first, so that what is made once per process exists already.
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(prepare());
      ASSERT_OK(run());
    }
#ifdef SLUICE_COUNTS_NEW
    session_.reset();
    const int64_t live_bytes = LiveNewBytes(), live_host_bytes = HostAllocatorLiveBytes();
    const int64_t calls_before = NewCalls();
    const absl::Time begin = absl::Now();
    ASSERT_OK(prepare());
    ASSERT_OK(run());
    const int64_t num_calls = NewCalls() - calls_before;
    // Half a run fails and a whole one follows; for both ways of failing.
    const absl::Duration all = 3 * (absl::Now() - begin) * num_calls;
    const int64_t step = 1 + static_cast<int64_t>(absl::FDivDuration(all, kBudget));
    std::cout << num_calls << " allocations, of which each " << step << ". fails\n";
    Watchdog watchdog;
    for (const bool and_later : {false, true}) FailEachOf(prepare, run, and_later, step, &watchdog);
    session_.reset();
    EXPECT_LT(LiveNewBytes() - live_bytes, 8 << 10) << "one small object for each that fails would be more";
    EXPECT_EQ(HostAllocatorLiveBytes(), live_host_bytes);
#endif
  }

  const std::shared_ptr<const OpRegistry> ops_ = NewOpRegistry();
  Graph graph_ = Graph(nullptr);
  std::string bytes_;
  std::unique_ptr<Session> session_;
  // All that a call is given is made before anything fails.
  const std::string name_ = "model.pb";
  LoadOptions load_options_;
  SessionOptions session_options_;
  const NamedTensors feeds_ = {{"x", Tensor::Scalar(2.5f)}};
  const std::vector<std::string> fetches_ = {"y"};

 private:
  static void FailEachOf(const Action& prepare, const Action& run, bool and_later, int64_t step, Watchdog* watchdog) {
    int64_t num_failed = 0;
    bool has_failed = true;
    for (int64_t n = 1; has_failed; n += step) {
      watchdog->SetFailing(n, and_later);
      ASSERT_OK(prepare());
      FailNewCall(n, and_later);
      const absl::Status status = WithoutThrowing(run);
      has_failed = HasFailedNewCall();
      FailNewCall(0);
      ASSERT_TRUE(status.ok() || (has_failed && IsShortOfMemory(status)))
          << "allocation " << n << (and_later ? " and all later ones: " : ": ") << status;
      num_failed += status.ok() ? 0 : 1;
      const absl::Status next = WithoutThrowing(run);
      ASSERT_TRUE(next.ok()) << "after allocation " << n << (and_later ? " and all later ones: " : ": ") << next;
    }
    EXPECT_GT(num_failed, 0);
  }
};

TEST_P(ModelFailuresTest, AModelIsLoadedPreparedAndRun) {
  FailEachAllocationOfModel([] { return absl::OkStatus(); },
                            [&]() -> absl::Status {
                              SLUICE_ASSIGN_OR_RETURN(LoadedGraph model,
                                                      LoadGraphBytes(bytes_, nullptr, name_, load_options_));
                              SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                                                      Session::Create(session_options_, std::move(model.graph)));
                              return CheckAnswer(*session);
                            });
}

// Of one session, which prepares again what it could not prepare.
TEST_P(ModelFailuresTest, TheFirstRunOfASession) {
  FailEachAllocationOfModel(
      [&]() -> absl::Status {
        SLUICE_ASSIGN_OR_RETURN(session_, Session::Create(session_options_, graph_));
        return absl::OkStatus();
      },
      [&] { return CheckAnswer(*session_); });
}

INSTANTIATE_TEST_SUITE_P(All, ModelFailuresTest, ::testing::Values(CallPolicy::kInline, CallPolicy::kCall),
                         [](const auto& info) { return info.param == CallPolicy::kInline ? "Inlined" : "Called"; });

}  // namespace
}  // namespace sluice
