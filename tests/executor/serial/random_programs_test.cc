// Serial programs against the rules of tokens, on random graphs. The seed of a failure is in its message.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/testing/random_program.h"
#include "tests/testing/serial_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.bytes() == b.bytes();
}

void ExpectSameResults(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  // Trailing results that were never computed are missing in `expected`.
  ASSERT_GE(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const Tensor wanted = i < expected.size() ? expected[i] : Tensor();
    EXPECT_TRUE(SameBits(found[i], wanted))
        << "result " << i << ": " << found[i].ToString(32) << " instead of " << wanted.ToString(32);
  }
}

void ExpectSameCalls(const SerialRunner& serial, const TokenEvaluator& rules) {
  for (const SerialInstruction& instruction : serial.program()->instructions()) {
    if (instruction.action != SerialAction::kCompute) continue;
    const NodeId id(instruction.io.id);
    EXPECT_EQ(serial.times_run(id), rules.times_run(id)) << serial.graph().name(id);
  }
}

int refused = 0;
std::map<std::string, int> num_run;  // By op: programs that held it and ran.

// Both ways, twice: the second time variables have values of the first run.
void Compare(const Graph& graph, uint32_t seed) {
  SerialRunner serial(graph), rules(graph);
  ASSERT_OK(serial.Prepare());
  ASSERT_OK(rules.Prepare());
  if (serial.program() == nullptr) {
    // Some side contradicts the side around it.
    EXPECT_THAT(serial.why_not(), testing::AnyOf(testing::HasSubstr("stands under another condition than its loop"),
                                                 testing::HasSubstr("does not merge the sides of one Switch"),
                                                 testing::HasSubstr("does not run exactly when its loop continues")));
    ++refused;
    return;
  }
  std::set<std::string> ops;
  for (const NodeId id : graph.Nodes()) ops.insert(std::string(graph.op_name(id)));
  for (const std::string& op : ops) ++num_run[op];
  for (uint32_t run = 0; run < 2; ++run) {
    std::unique_ptr<TokenEvaluator> evaluator;
    ASSERT_OK(rules.Evaluate(RandomArguments(seed + run), &evaluator));
    ASSERT_FALSE(evaluator->is_ambiguous() || evaluator->is_stuck());
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, serial.Run(RandomArguments(seed + run)));
    ExpectSameResults(found, evaluator->results());
    ExpectSameCalls(serial, *evaluator);
  }
}

TEST(RandomProgramsTest, SerialProgramsDoWhatTheRulesSay) {
  RandomProgramOptions options;
  options.max_statements = 4;
  for (uint32_t seed = 0; seed < 1000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const Graph graph, RandomStructuredProgram(seed, options));
    Compare(graph, seed);
  }
  EXPECT_LT(refused, 120);
  for (const char* op : {"Switch",      "_SwitchN",         "Merge",          "Enter",
                         "Exit",        "NextIteration",    "LoopCond",       "ControlTrigger",
                         "VariableV2",  "Assign",           "AssignAdd",      "AssignSub",
                         "RefIdentity", "RefSwitch",        "RefMerge",       "RefEnter",
                         "RefExit",     "RefNextIteration", "ReadVariableOp", "AssignAddVariableOp",
                         "Snapshot",    "ScatterAdd",       "ScatterSub"}) {
    EXPECT_GT(num_run[op], 20) << op;
  }
}

TEST(RandomProgramsTest, DeepProgramsDoWhatTheRulesSay) {
  RandomProgramOptions options;
  options.max_depth = 6;
  options.max_statements = 4;
  for (uint32_t seed = 10'000; seed < 10'150 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const Graph graph, RandomStructuredProgram(seed, options));
    Compare(graph, seed);
  }
}

// Unstructured graphs are refused; accepted ones give the right results.
TEST(RandomProgramsTest, RewiredProgramsAreRefusedOrRunRight) {
  RandomProgramOptions options;
  options.with_state = false;
  options.max_depth = 2;
  options.max_statements = 4;
  int accepted = 0;
  for (uint32_t seed = 20'000; seed < 21'500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed, options));
    RewireAtRandom(seed, 1 + static_cast<int>(seed % 4), &graph);
    SerialRunner serial(graph), rules(graph);
    ASSERT_OK(serial.Prepare());
    ASSERT_OK(rules.Prepare());
    if (serial.program() == nullptr) continue;
    std::unique_ptr<TokenEvaluator> evaluator;
    const absl::Status status = rules.Evaluate(RandomArguments(seed), &evaluator, 20'000);
    if (!status.ok() || evaluator->is_ambiguous()) continue;
    ++accepted;
    EXPECT_FALSE(evaluator->is_stuck());
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, serial.Run(RandomArguments(seed)));
    ExpectSameResults(found, evaluator->results());
    ExpectSameCalls(serial, *evaluator);
  }
  EXPECT_GT(accepted, 100);
}

TEST(RandomProgramsTest, NothingIsKeptAfterARun) {
  const int64_t before = HostAllocatorLiveBytes();
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomProgramOptions options;
    options.with_state = false;
    ASSERT_OK_AND_ASSIGN(const Graph graph, RandomStructuredProgram(seed, options));
    SerialRunner serial(graph);
    ASSERT_OK(serial.Prepare());
    if (serial.program() == nullptr) continue;
    const int64_t prepared = HostAllocatorLiveBytes();
    ASSERT_OK(serial.Run(RandomArguments(seed)));
    EXPECT_EQ(HostAllocatorLiveBytes(), prepared);
  }
  EXPECT_EQ(HostAllocatorLiveBytes(), before);
}

}  // namespace
}  // namespace sluice
