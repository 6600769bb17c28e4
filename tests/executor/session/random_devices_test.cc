// Random programs with their nodes on three CPU devices at random: joined to one graph and cut at the borders they
// answer what they do on one device. The seed of a failure is in its message.

#include <string>
#include <vector>

#include "tests/executor/session/session_fixture.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

constexpr int kDevices = 3;

class RandomDevicesTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Steps, RandomDevicesTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Cut" : "Joined"; });

TEST_P(RandomDevicesTest, AnswersDoNotDependOnWhereNodesAre) {
  RandomProgramOptions program;
  program.max_statements = 3;
  program.max_depth = 3;
  int num_live = 0, num_dead = 0;
  for (uint32_t seed = 900; seed < 1200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed, program));
    ASSERT_OK(ArgumentsToPlaceholders(&graph));
    SessionOptions options;
    options.operation_timeout = absl::Seconds(10);
    options.stall_timeout = absl::Seconds(2);
    options.num_threads = 1;
    const std::vector<Answer> expected = AnswersOf(graph, seed, options);
    for (const Answer& answer : expected) ++(answer.value.has_value() ? num_live : num_dead);
    SpreadOverDevices(seed, kDevices, &graph);
    options.num_cpu_devices = kDevices;
    options.cut_by_device = GetParam();
    options.num_threads = 1 + static_cast<int>(seed % 3);
    const std::vector<Answer> found = AnswersOf(graph, seed, options);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i] == expected[i]) << "answer " << i << ": " << found[i].status << "; " << expected[i].status;
    }
  }
  EXPECT_GT(num_live, 500);
  EXPECT_GT(num_dead, 50);
}

}  // namespace
}  // namespace sluice
