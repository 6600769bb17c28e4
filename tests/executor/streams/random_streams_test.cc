// Random programs with their nodes on a CPU and on two devices that work on their own, at random: joined to one graph
// and cut at the borders they answer what they do on one CPU. The seed of a failure is in its message.

#include <string>
#include <vector>

#include "graph/ir/op_class.h"
#include "tests/executor/streams/streams_fixture.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

bool HandsOn(OpClass op_class) { return op_class == OpClass::kForward || IsControlFlow(op_class); }

// A read through a reference shares the variable's memory, where later updates show; a copy in another memory does not
// see them. So all that sees such a value stays on the CPU.
void KeepAliasesOnTheHost(Graph* graph) {
  std::vector<bool> is_alias(static_cast<size_t>(graph->id_limit()));
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const NodeId id : graph->Nodes()) {
      bool sees = false;
      for (const Output& input : graph->inputs(id)) {
        sees = sees || is_alias[static_cast<size_t>(input.node.value())] ||
               IsRef(graph->output_type(input.node, input.index));
      }
      if (!sees) continue;
      graph->SetDevice(id, "/device:CPU:0");
      if (is_alias[static_cast<size_t>(id.value())] || !HandsOn(graph->op(id).op_class)) continue;
      is_alias[static_cast<size_t>(id.value())] = has_changed = true;
    }
  }
}

class RandomStreamsTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Steps, RandomStreamsTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Cut" : "Joined"; });

TEST_P(RandomStreamsTest, AnswersDoNotDependOnWhereNodesAre) {
  KernelRegistry registry;
  RegisterAllKernels(registry);
  ASSERT_OK(AddFakeKernels(registry));
  RandomProgramOptions program;
  program.max_statements = 3;
  program.max_depth = 3;
  int num_live = 0, num_dead = 0;
  int64_t num_launches = 0;
  for (uint32_t seed = 2000; seed < 2120 && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed, program));
    ASSERT_OK(ArgumentsToPlaceholders(&graph));
    SessionOptions options;
    options.operation_timeout = absl::Seconds(20);
    options.stall_timeout = absl::Seconds(5);
    options.num_threads = 1;
    const std::vector<Answer> expected = AnswersOf(graph, seed, options);
    for (const Answer& answer : expected) ++(answer.value.has_value() ? num_live : num_dead);
    FakeDevice::Options fake;
    fake.seed = seed;
    fake.small_copy_bytes = seed % 2 == 0 ? 0 : 64;
    fake.max_delay = absl::Microseconds(20);
    fake.memory_bytes = size_t{1} << 20;
    FakeDevices devices(2, fake);
    SpreadOverDevices(seed, {"/device:CPU:0", "/device:GPU:0", "/device:GPU:1"}, &graph);
    KeepAliasesOnTheHost(&graph);
    options.devices = devices.all;
    options.kernels = &registry;
    options.allow_soft_placement = true;
    options.cut_by_device = GetParam();
    options.num_threads = 1 + static_cast<int>(seed % 3);
    {
      const std::vector<Answer> found = AnswersOf(graph, seed, options);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(found[i] == expected[i])
            << "answer " << i << ": " << found[i].status << " " << found[i].value.ToString() << "; "
            << expected[i].status << " " << expected[i].value.ToString();
      }
    }
    devices.Settle();
    for (FakeDevice* const device : devices.fakes) {
      num_launches += device->num_launches();
      EXPECT_EQ(device->live_bytes(), 0);
    }
  }
  EXPECT_GT(num_live, 200);
  EXPECT_GT(num_dead, 20);
  EXPECT_GT(num_launches, 500);
}

}  // namespace
}  // namespace sluice
