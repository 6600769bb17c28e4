// Every op that has a kernel, with each of its dtypes: in the graph, in the body of a function, and in a body whose
// attrs the caller binds; its int attrs at their extremes one by one, its lists empty; inputs that are scalars,
// vectors, matrices, empty, of higher rank, NaN and huge, and inputs that the op accepts with one of them replaced by
// such a one; under both drivers, with little memory. Nothing crashes, nothing is left over, and errors name a node.
// (What crashes is found by the last line printed.)

#include "tests/stress/op_sweep.h"

#include <iostream>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// Each takes the ops whose number leaves its own, so that they may run beside each other.
constexpr int kParts = 4;

class OpSweepTest : public testing::TestWithParam<int> {};

TEST_P(OpSweepTest, EveryOpSurvivesEveryAttrAndInput) {
  SweepCounts counts;
  OpSweep sweep(&counts);
  std::string op;
  int number = -1;
  for (const OpCase& op_case : AllOpCases()) {
    const bool is_new = op_case.schema->name != op;
    op = op_case.schema->name;
    number += is_new ? 1 : 0;
    if (number % kParts != GetParam()) continue;
    if (is_new) std::cout << op << std::endl;
    sweep.Sweep(op_case);
  }
  std::cout << counts.ops.size() << " ops, " << counts.graphs << " graphs (" << counts.refused << " times refused), "
            << counts.runs << " steps: " << counts.ok << " ended well, " << counts.errors << " with an error; "
            << counts.calls << " kernel calls of " << counts.ops_called.size() << " ops, " << counts.ops_ok.size()
            << " ops ended well; " << counts.cases_ok << " of " << counts.cases << " cases accepted inputs; "
            << counts.without_kernel.size() << " ops without a kernel besides\n";
  for (const std::string& complaint : counts.complaints) ADD_FAILURE() << complaint;
  for (const std::string& name : counts.ops) {
    if (counts.ops_ok.count(name) > 0) continue;
    std::cout << "never ended well: " << name << ": " << counts.last_errors[name] << "\n";
  }
  // Four fifths of a part's share.
  EXPECT_GE(counts.ops.size(), 343u / 5);
  EXPECT_GE(counts.ops_called.size(), 335u / 5);
  EXPECT_GE(counts.ops_ok.size(), 340u / 5);
  EXPECT_GE(counts.cases_ok, 4'400 / 5);
  EXPECT_GE(counts.runs, 1'500'000 / 5);
}

INSTANTIATE_TEST_SUITE_P(Parts, OpSweepTest, testing::Range(0, kParts));

}  // namespace
}  // namespace sluice
