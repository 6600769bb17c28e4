// Which segments a graph is cut into, and what it keeps between them. See Note [Segments] and Note [Kept values].

#include "executor/serial/segment_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/join_plan.h"
#include "executor/serial/kept_plan.h"
#include "executor/serial/register_plan.h"
#include "executor/serial/serial_code.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Graphs in which nodes of ops Abs and Unpack are asynchronous.
class SegmentPlanTest : public ::testing::Test {
 protected:
  SegmentPlanTest() : b_(NewOpRegistry()) {
    RegisterAllKernels(registry_);
    for (const char* const op : {"Abs", "Unpack"}) {
      EXPECT_OK(registry_.Add(OwnedKernelRow(op, MakeAsyncFunction([](KernelContext& context) {
                                               context.SetOutput(0, context.input(0));
                                               return absl::OkStatus();
                                             }))));
    }
  }

  Output Arg(int index) {
    const auto found = args_.find(index);
    if (found != args_.end()) return found->second;
    return args_[index] = b_.Op("_Arg", absl::StrCat("arg", index), {}, {{"T", DType::kInt32}, {"index", index}});
  }
  void Return(int index, Output value) { b_.Op("_Retval", absl::StrCat("ret", index), {value}, {{"index", index}}); }
  Output Wait(const std::string& name, Output input) { return b_.Op("Abs", name, {input}); }
  Output Add(const std::string& name, Output a, Output b) { return b_.Op("AddV2", name, {a, b}); }
  Output Pred() { return b_.Op("Less", "pred", {Arg(8), Arg(9)}); }
  static std::vector<std::pair<std::string, AttrValue>> Transfer() {
    return {{"tensor_name", "t"}, {"send_device", "d"}, {"send_device_incarnation", 1}, {"recv_device", "d"}};
  }
  Output Recv(const std::string& name) {
    auto attrs = Transfer();
    attrs.emplace_back("tensor_type", DType::kInt32);
    return b_.Op("_Recv", name, {}, attrs);
  }
  void Send(const std::string& name, Output value) { b_.Op("_Send", name, {value}, Transfer()); }

  // Empty, or why the graph has no segments.
  std::string Plan() {
    absl::StatusOr<Graph> graph = b_.Build();
    EXPECT_OK(graph);
    graph_ = std::make_unique<Graph>(*std::move(graph));
    KernelSet::Options options;
    options.registry = &registry_;
    options.device = &device_;
    absl::StatusOr<KernelSet> kernels = KernelSet::Create(*graph_, options);
    EXPECT_OK(kernels);
    kernels_ = std::make_unique<KernelSet>(*std::move(kernels));
    absl::StatusOr<SerialStructure> structure =
        SerialStructure::Analyze(*graph_, *kernels_, nullptr, LoadLimits(), SerialWaits::kAllowed);
    EXPECT_OK(structure);
    structure_ = std::make_unique<SerialStructure>(*std::move(structure));
    std::string why_not;
    if (!SerialCode::Write(*structure_, &code_, &why_not)) return why_not.empty() ? "?" : why_not;
    return "";
  }
  // The named nodes that run in each segment, with the stops before it: "a b | [w] c".
  std::string Segments() {
    const SegmentPlan& plan = *code_.segments();
    std::vector<std::string> segments;
    for (int32_t i = 0; i < plan.num_segments(); ++i) {
      std::vector<std::string> stops, nodes;
      for (const int32_t stop : plan.sets().Members(plan.stops_before(i))) {
        stops.emplace_back(graph_->name(plan.stops()[static_cast<size_t>(stop)]));
      }
      std::sort(stops.begin(), stops.end());
      stops.erase(std::unique(stops.begin(), stops.end()), stops.end());  // Their outcomes have their names.
      if (i > 0) nodes.push_back(absl::StrCat("[", absl::StrJoin(stops, " "), "]"));
      const int32_t begin = code_.segment_begins()[static_cast<size_t>(i)];
      const int32_t end = code_.segment_begins()[static_cast<size_t>(i) + 1];
      for (int32_t at = begin; at < end; ++at) {
        const SerialStep& step = code_.steps()[static_cast<size_t>(at)];
        const bool is_named =
            step.op == SerialOp::kCompute || step.op == SerialOp::kStart || step.op == SerialOp::kReturn;
        if (is_named) nodes.emplace_back(graph_->name(step.node));
      }
      segments.push_back(absl::StrJoin(nodes, " "));
    }
    return absl::StrJoin(segments, " | ");
  }
  const KeptPlan& Kept() {
    if (registers_ == nullptr) registers_ = std::make_unique<RegisterPlan>(code_);
    return *registers_->kept();
  }
  int32_t SlotOf(const std::string& node) { return Kept().slot_of(structure_->value({graph_->Find(node), 0})); }

  KernelRegistry registry_;
  CpuDevice device_{absl::StrCat(kLocalTask, "/device:CPU:0"), 1};
  GraphBuilder b_;
  std::map<int, Output> args_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<SerialStructure> structure_;
  SerialCode code_;
  std::unique_ptr<RegisterPlan> registers_;
};

TEST_F(SegmentPlanTest, AChainIsCutWhereItWaits) {
  const Output a = Add("a", Arg(0), Arg(0));
  const Output b = Add("b", Wait("w", a), a);
  Return(0, Add("c", Wait("v", b), b));
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "a w | [w] b v | [v w] c ret0");
}

TEST_F(SegmentPlanTest, WhatDoesNotDependOnAWaitStandsBeforeIt) {
  const Output w = Wait("w", Arg(0)), v = Wait("v", Arg(1));
  Return(0, Add("only_w", w, Arg(2)));
  Return(1, Add("only_v", v, Arg(2)));
  Return(2, Add("both", w, v));
  Return(3, Add("neither", Arg(2), Arg(2)));
  Send("send", Arg(3));
  ASSERT_EQ(Plan(), "");
  const std::string text = Segments();
  EXPECT_THAT(text, HasSubstr(" | [w] only_w ret0 | [v] only_v ret1 | [v w] both ret2"));
  for (const char* node : {"w", "v", "neither", "send", "ret3"}) {
    EXPECT_LT(text.find(node), text.find(" | ")) << node;
  }
}

TEST_F(SegmentPlanTest, ControlEdgesCount) {
  const Output w = Wait("w", Arg(0));
  const Output a = Add("a", Arg(1), Arg(1));
  b_.AddControl(a, w);
  Return(0, a);
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "w | [w] a ret0");
}

// Each output may be dead by itself, and a control edge is not dead with them.
TEST_F(SegmentPlanTest, WhatReadsDifferentOutputsOfOneWaitStandsApart) {
  const Output u = b_.Op("Unpack", "u", {Arg(0)}, {{"num", 2}});
  Return(0, Add("first", u, Arg(1)));
  Return(1, Add("second", GraphBuilder::Nth(u, 1), Arg(1)));
  Return(2, Add("both", u, GraphBuilder::Nth(u, 1)));
  const Output after = Add("after", Arg(1), Arg(1));
  b_.AddControl(after, u);
  Return(3, after);
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "u | [u] after ret3 | [u] first ret0 | [u] second ret1 | [u] both ret2");
  const SegmentPlan& plan = *code_.segments();
  EXPECT_EQ(plan.stops().size(), 3u);
  EXPECT_EQ(plan.first_outcome(0), 1);
  EXPECT_TRUE(plan.IsBefore(1, 2));
  EXPECT_FALSE(plan.IsBefore(2, 2));
  EXPECT_TRUE(plan.IsBefore(0, 3));
}

TEST_F(SegmentPlanTest, AWaitWithOneReadOutputIsItsOwnOutcome) {
  Return(0, Wait("w", Arg(0)));
  const Output v = Wait("v", Arg(1));
  Return(1, v);
  b_.AddControl(Add("after_v", Arg(1), Arg(1)), v);
  ASSERT_EQ(Plan(), "");
  const SegmentPlan& plan = *code_.segments();
  ASSERT_EQ(plan.stops().size(), 3u);
  const int32_t w = plan.stop_of(graph_->Find("w")), two = plan.stop_of(graph_->Find("v"));
  EXPECT_EQ(plan.first_outcome(w), w);
  EXPECT_EQ(plan.first_outcome(two), 2);
}

TEST_F(SegmentPlanTest, AMergeOfTwoOutputsOfOneWaitIsRefused) {
  const Output u = b_.Op("Unpack", "u", {Arg(0)}, {{"num", 2}});
  Return(0, b_.Op("Merge", "merge", {u, GraphBuilder::Nth(u, 1)}));
  EXPECT_THAT(Plan(), HasSubstr("'merge' does not merge the sides of one Switch"));
}

TEST_F(SegmentPlanTest, AWaitInABranchDoesNotHoldUpTheOther) {
  const Output pred = Pred();
  const Output ports = b_.Op("Switch", "switch", {Arg(0), pred});
  const Output waits = Add("after", Wait("w", GraphBuilder::Nth(ports, 1)), Arg(1));
  const Output other = b_.Op("Neg", "other", {ports});
  Return(0, b_.Op("Merge", "merge", {other, waits}));
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "pred w other | [w] after ret0");
}

TEST_F(SegmentPlanTest, AMergeThatCouldGoOnBeforeAWaitIsRefused) {
  const Output ports = b_.Op("Switch", "switch", {Arg(0), Pred()});
  const Output waits = Add("after", Wait("w", Arg(1)), GraphBuilder::Nth(ports, 1));
  Return(0, b_.Op("Merge", "merge", {b_.Op("Neg", "other", {ports}), waits}));
  EXPECT_THAT(Plan(), HasSubstr("'merge' may run before a wait"));
}

TEST_F(SegmentPlanTest, AMergeAfterThePredicateHasWaitedIsFine) {
  const Output pred = b_.Op("Less", "pred", {Wait("w", Arg(8)), Arg(9)});
  const Output ports = b_.Op("Switch", "switch", {Arg(0), pred});
  Return(0, b_.Op("Merge", "merge", {b_.Op("Neg", "n", {ports}), b_.Op("Square", "s", {GraphBuilder::Nth(ports, 1)})}));
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "w | [w] pred n s ret0");
}

TEST_F(SegmentPlanTest, WhatDoesNotFitIsRefused) {
  const auto refused = [&](const std::function<void()>& add) {
    b_ = GraphBuilder(NewOpRegistry());
    args_.clear();
    code_ = SerialCode();
    add();
    return Plan();
  };
  EXPECT_THAT(refused([&] {
                const Output ports = b_.Op("Switch", "switch", {Arg(0), Pred()});
                Send("send", ports);
              }),
              HasSubstr("'send' transfers under a condition"));
  EXPECT_THAT(refused([&] {
                const Output trigger = b_.Op("ControlTrigger", "trigger", {});
                b_.AddControl(trigger, Wait("w", Arg(0)));
              }),
              HasSubstr("'trigger' may run after a wait"));
  EXPECT_THAT(
      refused([&] {
        const Output first = b_.Op("Enter", "", {Arg(0)}, {{"frame_name", "f"}});
        const Output merge = b_.Op("Merge", "merge", {first, first});
        const Output limit = b_.Op("Enter", "", {Arg(1)}, {{"frame_name", "f"}, {"is_constant", true}});
        const Output ports = b_.Op("Switch", "", {merge, b_.Op("LoopCond", "", {b_.Op("Less", "", {merge, limit})})});
        b_.SetInput(merge, 1, b_.Op("NextIteration", "", {Wait("w", GraphBuilder::Nth(ports, 1))}));
        Return(0, b_.Op("Exit", "exit", {ports}));
      }),
      HasSubstr("'w' waits or sends in a loop"));
}

TEST_F(SegmentPlanTest, AWholeLoopStandsInOneSegment) {
  const Output limit = b_.Op("Enter", "", {Wait("w", Arg(1))}, {{"frame_name", "f"}, {"is_constant", true}});
  const Output first = b_.Op("Enter", "", {Arg(0)}, {{"frame_name", "f"}});
  const Output merge = b_.Op("Merge", "merge", {first, first});
  const Output ports = b_.Op("Switch", "", {merge, b_.Op("LoopCond", "", {b_.Op("Less", "less", {merge, limit})})});
  b_.SetInput(merge, 1,
              b_.Op("NextIteration", "", {Add("more", GraphBuilder::Nth(ports, 1), GraphBuilder::Nth(ports, 1))}));
  Return(0, Add("sum", b_.Op("Exit", "exit", {ports}), Arg(0)));
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "w | [w] less more sum ret0");
}

// Each goes around before the next is known not to need the wait: one round of planning a variable, or it is refused.
TEST_F(SegmentPlanTest, ALoopWhoseVariablesPassOnTheirWaitsIsPlannedInBoundedTime) {
  const auto plan = [&](int num_variables) {
    b_ = GraphBuilder(NewOpRegistry());
    args_.clear();
    code_ = SerialCode();
    const Output w = Wait("w", Arg(1));
    std::vector<Output> merges, ports;
    for (int i = 0; i < num_variables; ++i) {
      const Output first = b_.Op("Enter", "", {i == 0 ? Arg(0) : w}, {{"frame_name", "f"}});
      merges.push_back(b_.Op("Merge", "", {first, first}));
    }
    const Output limit = b_.Op("Enter", "", {Arg(0)}, {{"frame_name", "f"}, {"is_constant", true}});
    const Output go = b_.Op("LoopCond", "", {b_.Op("Less", "", {merges[0], limit})});
    for (const Output& merge : merges) ports.push_back(b_.Op("Switch", "", {merge, go}));
    for (int i = 0; i < num_variables; ++i) {
      const Output source = GraphBuilder::Nth(ports[static_cast<size_t>(i > 0 ? i - 1 : 0)], 1);
      b_.SetInput(merges[static_cast<size_t>(i)], 1, b_.Op("NextIteration", "", {source}));
    }
    return Plan();
  };
  EXPECT_EQ(plan(8), "");
  EXPECT_THAT(plan(4 * SegmentPlan::kMaxRounds), HasSubstr("only after many rounds"));
}

TEST_F(SegmentPlanTest, OnlyWhatCrossesAWaitIsKept) {
  Output x = Arg(0);
  for (int i = 0; i < 1000; ++i) x = b_.Op("Neg", absl::StrCat("before", i), {x});
  x = Add("after", Wait("w", x), x);
  for (int i = 0; i < 1000; ++i) x = b_.Op("Neg", absl::StrCat("after", i), {x});
  Return(0, x);
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Kept().num_slots(), 2) << "the input of the call, and its output";
  EXPECT_GE(SlotOf("before999"), 0);
  EXPECT_GE(SlotOf("w"), 0);
  EXPECT_EQ(SlotOf("before998"), -1);
  EXPECT_EQ(SlotOf("after"), -1);
  EXPECT_EQ(registers_->num_registers(), 2);
}

TEST_F(SegmentPlanTest, ValuesOfWaitsAfterOneAnotherShareSlots) {
  Output x = Arg(0);
  for (int i = 0; i < 100; ++i) {
    x = b_.Op("Neg", absl::StrCat("neg", i), {x});
    x = Add(absl::StrCat("sum", i), Wait(absl::StrCat("w", i), x), x);
  }
  Return(0, x);
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(code_.segments()->num_segments(), 101);
  EXPECT_LE(Kept().num_slots(), 4);
}

TEST_F(SegmentPlanTest, ReadersThatDoNotWaitForEachOtherAreCounted) {
  const Output w = Wait("w", Arg(0)), v = Wait("v", Arg(1));
  const Output a = Add("a", Arg(2), Arg(2));
  Return(0, Add("with_w", w, a));
  Return(1, Add("with_v", v, a));
  ASSERT_EQ(Plan(), "");
  EXPECT_THAT(Kept().counters(), testing::ElementsAre(2));
  EXPECT_FALSE(Kept().EndsInSegment(structure_->value({graph_->Find("a"), 0})));
  EXPECT_TRUE(Kept().EndsInSegment(structure_->value({graph_->Find("w"), 0})));
  EXPECT_TRUE(Kept().EndsInCall(structure_->value({graph_->Find("arg0"), 0})));
  EXPECT_EQ(Kept().drops_of_segment(1).size(), 1u);
  EXPECT_EQ(Kept().drops_of_segment(2).size(), 1u);
}

TEST_F(SegmentPlanTest, GraphsThatWaitInVeryManyPlacesAreRefused) {
  for (int i = 0; i <= SegmentPlan::kMaxStops; ++i) Return(i, Wait(absl::StrCat("w", i), Arg(i)));
  EXPECT_THAT(Plan(), HasSubstr("waits, and so do very many"));
}

TEST_F(SegmentPlanTest, ADeadlyReceiveAndASendAreStopAndStep) {
  const Output got = Recv("got");
  Send("sent", Add("sum", got, Arg(0)));
  ASSERT_EQ(Plan(), "");
  EXPECT_EQ(Segments(), "got | [got] sum sent");
}

TEST(StopSetsTest, EachSetIsStoredOnce) {
  StopSets sets(130);
  const StopSetId a = sets.With(sets.With(kNoStops, 3), 129), b = sets.With(sets.With(kNoStops, 129), 3);
  EXPECT_EQ(a, b);
  EXPECT_EQ(sets.Union(sets.With(kNoStops, 3), sets.With(kNoStops, 129)), a);
  EXPECT_EQ(sets.Union(a, kNoStops), a);
  EXPECT_EQ(sets.Count(a), 2);
  EXPECT_THAT(sets.Members(a), testing::ElementsAre(3, 129));
  EXPECT_TRUE(sets.IsSubset(sets.With(kNoStops, 129), a));
  EXPECT_FALSE(sets.IsSubset(a, sets.With(kNoStops, 129)));
  EXPECT_TRUE(sets.Contains(a, 129));
  EXPECT_FALSE(sets.Contains(a, 128));
}

// ---- Joins ----

// The stops that each join counts, through all of its parts, are the stops before its segment.
void ExpectJoinsAreTheSets(const SegmentPlan& plan, const JoinPlan& joins) {
  std::vector<std::set<int32_t>> stops(static_cast<size_t>(joins.num_joins()));
  std::vector<uint32_t> left = joins.num_parts();
  std::vector<int32_t> ended;
  const auto add = [&](int32_t join, const std::set<int32_t>& more) {
    stops[static_cast<size_t>(join)].insert(more.begin(), more.end());
    if (--left[static_cast<size_t>(join)] == 0) ended.push_back(join);
  };
  for (size_t stop = 0; stop < plan.stops().size(); ++stop) {
    for (const int32_t join : joins.after_stop()[stop]) add(join, {static_cast<int32_t>(stop)});
  }
  while (!ended.empty()) {
    const size_t join = static_cast<size_t>(ended.back());
    ended.pop_back();
    for (const int32_t next : joins.after_join()[join]) add(next, stops[join]);
  }
  for (int32_t segment = 0; segment < plan.num_segments(); ++segment) {
    const int32_t join = joins.join_of_segment()[static_cast<size_t>(segment)];
    const std::vector<int32_t> before = plan.sets().Members(plan.stops_before(segment));
    ASSERT_EQ(join < 0, before.empty());
    if (join < 0) continue;
    EXPECT_EQ(left[static_cast<size_t>(join)], 0u) << "a part never ends";
    EXPECT_EQ(joins.segments()[static_cast<size_t>(join)], segment);
    EXPECT_EQ(stops[static_cast<size_t>(join)], std::set<int32_t>(before.begin(), before.end()));
  }
}

int64_t NumParts(const JoinPlan& joins) {
  return std::accumulate(joins.num_parts().begin(), joins.num_parts().end(), int64_t{0});
}

// Each segment of a running sum has all stops before it: their lists would be quadratic.
TEST_F(SegmentPlanTest, JoinsOfARunningSumGrowWithTheGraph) {
  for (const int count : {10, 100, 500}) {
    b_ = GraphBuilder(NewOpRegistry());
    args_.clear();
    Output sum = Arg(0);
    for (int i = 0; i < count; ++i) {
      sum = Add(absl::StrCat("sum", i), sum, Wait(absl::StrCat("w", i), Arg(1)));
    }
    Return(0, sum);
    ASSERT_EQ(Plan(), "");
    const SegmentPlan& plan = *code_.segments();
    EXPECT_EQ(plan.num_segments(), count + 1);
    const JoinPlan joins(plan);
    ExpectJoinsAreTheSets(plan, joins);
    EXPECT_LE(joins.num_joins(), 2 * count);
    EXPECT_LE(NumParts(joins), 4 * count);
  }
}

// A node that reads all of them at once makes a set for each input; only the last one belongs to a segment.
TEST_F(SegmentPlanTest, JoinsOfOneReaderOfAllAreOne) {
  constexpr int kCount = 50;
  std::vector<Output> waits;
  for (int i = 0; i < kCount; ++i) waits.push_back(Wait(absl::StrCat("w", i), Arg(0)));
  Return(0, b_.Op("AddN", "all", waits));
  Return(1, Add("two", waits[0], waits[1]));
  Return(2, Add("three", waits[2], Add("four", waits[0], waits[1])));
  ASSERT_EQ(Plan(), "");
  const SegmentPlan& plan = *code_.segments();
  const JoinPlan joins(plan);
  ExpectJoinsAreTheSets(plan, joins);
  EXPECT_LE(joins.num_joins(), 8);
  EXPECT_LE(NumParts(joins), kCount + 8);
}

}  // namespace
}  // namespace sluice
