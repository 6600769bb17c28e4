// Random programs with their nodes on three CPU devices at random: joined to one graph and cut at the borders they
// answer what they do on one device. The seed of a failure is in its message.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/executor/session/session_fixture.h"
#include "tests/testing/random_program.h"

namespace sluice {
namespace {

constexpr int kDevices = 3;

// One result of each of some steps: the value, or the error, whose code counts.
struct Answer {
  absl::Status status;
  Tensor value;

  bool operator==(const Answer& other) const {
    if (status.code() != other.status.code() || value.has_value() != other.value.has_value()) return false;
    return !value.has_value() || (value.shape() == other.value.shape() && value.bytes() == other.value.bytes());
  }
};

// Arguments become placeholders "x0", "x1", ..., which sessions feed.
void MakePlaceholders(Graph* graph) {
  GraphBuilder b(*graph);
  std::map<NodeId, NodeId> placeholders;
  for (const NodeId id : graph->Nodes()) {
    if (!graph->Is(id, "_Arg")) continue;
    const std::string name = absl::StrCat("x", *graph->GetInt(id, "index"));
    placeholders[id] = b.Placeholder(name, graph->output_type(id, 0)).node;
  }
  for (const NodeId id : graph->Nodes()) {
    std::vector<Output> inputs(graph->inputs(id).begin(), graph->inputs(id).end());
    std::vector<NodeId> controls;
    for (Output& input : inputs) {
      if (placeholders.count(input.node) > 0) input.node = placeholders[input.node];
    }
    for (const Output& control : graph->controls(id)) {
      const auto found = placeholders.find(control.node);
      controls.push_back(found != placeholders.end() ? found->second : control.node);
    }
    EXPECT_OK(b.graph().SetInputs(id, inputs, controls));
  }
  for (const auto& [argument, placeholder] : placeholders) b.graph().RemoveNode(argument);
  absl::StatusOr<Graph> made = b.Build();
  EXPECT_OK(made);
  *graph = *std::move(made);
}

// A device for each node that shares no variable with others: those are kept together by the placer, and when a value
// is read that crosses from a reference, control edges do not say.
void Spread(uint32_t seed, Graph* graph) {
  std::mt19937 random(seed);
  for (const NodeId id : graph->Nodes()) {
    bool has_state = false;
    for (const Output& input : graph->inputs(id)) {
      const DType type = graph->output_type(input.node, input.index);
      has_state |= IsRef(type) || type == DType::kResource;
    }
    for (const DType type : graph->signature(id).outputs) has_state |= IsRef(type) || type == DType::kResource;
    if (!has_state) graph->SetDevice(id, absl::StrCat("/device:CPU:", random() % kDevices));
  }
}

// Every result of a program by itself, twice: the second time variables have values of the first.
std::vector<Answer> AnswersOf(const Graph& graph, uint32_t seed, const SessionOptions& options) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph);
  EXPECT_OK(session);
  std::vector<Answer> answers;
  for (uint32_t run = 0; run < 2; ++run) {
    const std::vector<Tensor> values = RandomArguments(seed + run);
    NamedTensors feeds;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string name = absl::StrCat("x", i);
      if (graph.Find(name).valid()) feeds.emplace_back(name, values[i]);
    }
    for (const NodeId id : graph.Nodes()) {
      if (!graph.Is(id, "_Retval")) continue;
      const Output source = graph.inputs(id)[0];
      const auto found = (*session)->Run(feeds, {absl::StrCat(graph.name(source.node), ":", source.index)}, {});
      answers.push_back({found.status(), found.ok() ? (*found)[0] : Tensor()});
    }
  }
  return answers;
}

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
    MakePlaceholders(&graph);
    SessionOptions options;
    options.operation_timeout = absl::Seconds(10);
    options.stall_timeout = absl::Seconds(2);
    options.num_threads = 1;
    const std::vector<Answer> expected = AnswersOf(graph, seed, options);
    for (const Answer& answer : expected) ++(answer.value.has_value() ? num_live : num_dead);
    Spread(seed, &graph);
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
