// Many threads that change one variable at once.

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

struct UpdateCase {
  Driver driver;
  bool use_locking;
};

class ConcurrentUpdatesTest : public SessionFixture, public ::testing::WithParamInterface<UpdateCase> {
 protected:
  static constexpr int kThreads = 8, kRuns = 50, kNodes = 16;

  void OpenDriver() {
    SessionOptions options;
    options.driver = GetParam().driver;
    options.num_threads = 4;
    Open(options);
    ASSERT_OK(session_->Run({}, {}, {"start"}));
  }
  // Each of some threads runs `target` a number of times.
  void RunByAll(const std::string& target) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, &target] {
        for (int run = 0; run < kRuns; ++run) EXPECT_OK(session_->Run({}, {}, {target}));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(ConcurrentUpdatesTest, NoAddendIsLost) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("Assign", "start", {v, b_.Const("zero", Int(0))});
  const Output one = b_.Const("one", Int(1)), all = b_.Op("NoOp", "all");
  for (int i = 0; i < kNodes; ++i) {
    b_.AddControl(all, b_.Op("AssignAdd", absl::StrCat("add", i), {v, one}, {{"use_locking", GetParam().use_locking}}));
  }
  b_.Op("Identity", "now", {v});
  OpenDriver();
  RunByAll("all");
  ExpectFetch("now", kThreads * kRuns * kNodes);
}

TEST_P(ConcurrentUpdatesTest, NoAddendOfAResourceVariableIsLost) {
  const Output v = b_.Op("VarHandleOp", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("AssignVariableOp", "start", {v, b_.Const("zero", Int(0))});
  const Output one = b_.Const("one", Int(1)), all = b_.Op("NoOp", "all");
  for (int i = 0; i < kNodes; ++i) {
    b_.AddControl(all, b_.Op("AssignAddVariableOp", absl::StrCat("add", i), {v, one}));
  }
  b_.Op("ReadVariableOp", "now", {v}, {{"dtype", DType::kInt32}});
  OpenDriver();
  RunByAll("all");
  ExpectFetch("now", kThreads * kRuns * kNodes);
}

// No gradient that is added to a slot is lost. Every other step has variable and slot the other way round, which must
// not lock them in another order.
TEST_P(ConcurrentUpdatesTest, StepsOfAnOptimizerAreWholeAndNeverWaitForEachOther) {
  const Output zero = b_.Const("zero", Tensor::Scalar(0.0f)), one = b_.Const("one", Tensor::Scalar(1.0f));
  const Output start = b_.Op("NoOp", "start"), all = b_.Op("NoOp", "all");
  const char* const kOps[] = {"ApplyMomentum", "ResourceApplyMomentum"};
  for (int kind = 0; kind < 2; ++kind) {
    const bool is_ref = kind == 0;
    std::vector<Output> slots;
    for (const char* name : {"v", "a"}) {
      slots.push_back(b_.Op(is_ref ? "VariableV2" : "VarHandleOp", absl::StrCat(name, kind), {},
                            {{"dtype", DType::kFloat}, {"shape", Shape()}}));
      b_.AddControl(start, b_.Op(is_ref ? "Assign" : "AssignVariableOp", "", {slots.back(), zero}));
      const std::string now = absl::StrCat(name, kind, "_now");
      if (is_ref) b_.Op("Identity", now, {slots.back()});
      if (!is_ref) b_.Op("ReadVariableOp", now, {slots.back()}, {{"dtype", DType::kFloat}});
    }
    // A rate of 0, a gradient and a momentum of 1: the slot grows by 1, and the variable stays.
    for (int i = 0; i < kNodes; ++i) {
      const Output& variable = slots[static_cast<size_t>(i % 2)];
      const Output& slot = slots[static_cast<size_t>(1 - i % 2)];
      b_.AddControl(all, b_.Op(kOps[kind], absl::StrCat("step", kind, "_", i), {variable, slot, zero, one, one},
                               {{"use_locking", GetParam().use_locking}}));
    }
  }
  OpenDriver();
  RunByAll("all");
  for (const char* now : {"v0_now", "a0_now", "v1_now", "a1_now"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch(now));
    EXPECT_EQ(*value.AsScalar<float>(), kThreads * kRuns * kNodes / 2) << now;
  }
}

#ifndef SLUICE_TSAN
// v := v + 1, read, added and written in three steps: addends may be lost, but every value is one that somebody wrote.
// Not built for ThreadSanitizer, which rightly finds that readers of a reference take no lock, as in TensorFlow: the
// race is what is tested.
TEST_P(ConcurrentUpdatesTest, RacingReadsAndWritesLoseAddendsAndNothingElse) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("Assign", "start", {v, b_.Const("zero", Int(0))});
  const Output all = b_.Op("NoOp", "all");
  for (int i = 0; i < kNodes; ++i) {
    const Output sum = b_.Op("AddV2", "", {b_.Op("Identity", "", {v}), b_.Const("", Int(1))});
    b_.AddControl(all, b_.Op("Assign", absl::StrCat("set", i), {v, sum}, {{"use_locking", GetParam().use_locking}}));
  }
  b_.Op("Identity", "now", {v});
  OpenDriver();
  RunByAll("all");
  ASSERT_OK_AND_ASSIGN(const Tensor now, Fetch("now"));
  EXPECT_GE(*now.AsScalar<int32_t>(), 1);
  EXPECT_LE(*now.AsScalar<int32_t>(), kThreads * kRuns * kNodes);
}
#endif

INSTANTIATE_TEST_SUITE_P(All, ConcurrentUpdatesTest,
                         testing::Values(UpdateCase{Driver::kAuto, true}, UpdateCase{Driver::kAuto, false},
                                         UpdateCase{Driver::kDataflow, true}, UpdateCase{Driver::kDataflow, false}));

}  // namespace
}  // namespace sluice
