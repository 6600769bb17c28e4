// Random structured programs into which waits are put, by both drivers: whatever the order in which the waits end, the
// same kernels have run before each of them, and the answers are the same. The seed of a failure is in its message.

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/compiled/local_executor.h"
#include "executor/trace/node_observer.h"
#include "graph/ir/control_flow_check.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "kernels/step/step_container.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/random_program.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// The calls of asynchronous kernels of one step that wait, by node.
class Waits {
 public:
  // Gives its input when it is ended; whatever its node is called.
  class WaitKernel final : public AsyncKernel {
   public:
    WaitKernel(Waits* waits, std::string node) : waits_(*waits), node_(std::move(node)) {}
    void ComputeAsync(KernelContext& context, Done done) const override {
      waits_.calls_[node_] = {&context, std::move(done)};
    }

   private:
    Waits& waits_;
    const std::string node_;
  };

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [name, call] : calls_) names.insert(name);
    return names;
  }
  void End(const std::string& name, const absl::Status& status) {
    auto call = calls_.extract(name);
    if (status.ok()) call.mapped().context->SetOutput(0, call.mapped().context->TakeInput(0));
    call.mapped().done(status);
  }

 private:
  struct Call {
    KernelContext* context = nullptr;
    AsyncKernel::Done done;
  };
  std::map<std::string, Call> calls_;
};

class Calls final : public NodeObserver {
 public:
  void OnNode(NodeId node, int64_t, int64_t, const KernelContext&) override { ++of[node.value()]; }
  std::map<int32_t, int> of;
};

std::vector<std::pair<std::string, AttrValue>> EdgeAttrs(const std::string& name, bool is_recv) {
  auto attrs = ExecutorHarness::TransferAttrs(name);
  attrs.emplace_back(is_recv ? "tensor_type" : "T", DType::kInt32);
  return attrs;
}

// Puts waits into data edges outside of loops, receives in place of some arguments, and sends.
void AddWaits(uint32_t seed, Graph* graph, std::vector<std::string>* receives) {
  std::mt19937 random(seed * 7919 + 3);
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo frames, BuildControlFlowInfo(*graph, LoadLimits()));
  const std::vector<NodeId> nodes = graph->Nodes();
  const auto add = [&](const char* op, const std::string& name, std::vector<Output> inputs,
                       std::vector<std::pair<std::string, AttrValue>> attrs) {
    NodeSpec spec;
    spec.op = op;
    spec.name = name;
    spec.inputs = std::move(inputs);
    spec.attrs = std::move(attrs);
    return graph->AddNode(spec);
  };
  int count = 0;
  for (int attempt = 0; attempt < 60 && count < 1 + static_cast<int>(seed % 5); ++attempt) {
    const NodeId reader = nodes[random() % nodes.size()];
    if (graph->inputs(reader).empty()) continue;
    const int32_t i = static_cast<int32_t>(random() % graph->inputs(reader).size());
    const Output source = graph->inputs(reader)[static_cast<size_t>(i)];
    // Values that enter a loop are computed outside of it.
    const bool is_enter = absl::StrContains(graph->op_name(reader), "Enter");
    const int32_t frame =
        is_enter ? frames.frames[static_cast<size_t>(frames.frame(reader))].parent : frames.frame(reader);
    if (frame != 0 || graph->input_type(reader, i) != DType::kInt32) continue;
    if (graph->output_type(source.node, source.index) != DType::kInt32) continue;
    const std::string name = absl::StrCat("wait", count);
    const bool is_arg = graph->op_name(source.node) == "_Arg";
    absl::StatusOr<NodeId> added;
    if (is_arg && random() % 2 == 0) {
      added = add("_Recv", name, {}, EdgeAttrs(name, true));
      receives->push_back(name);
    } else {
      added = add("Square", name, {source}, {{"T", DType::kInt32}});
    }
    ASSERT_OK(added);
    ASSERT_OK(graph->SetInput(reader, i, {*added, 0}));
    if (random() % 4 == 0) {
      ASSERT_OK(add("_Send", absl::StrCat("send", count), {source}, EdgeAttrs(absl::StrCat("out", count), false)));
    }
    ++count;
  }
}

// What one run shows: the kernels called and the waits at each point where nothing more can be done, and the end.
struct Story {
  std::vector<std::map<int32_t, int>> calls;
  std::vector<std::set<std::string>> waits;
  absl::Status status;
  int num_ends = 0;
  std::vector<Tensor> results;
  std::vector<std::string> sent;
};

class Runner {
 public:
  explicit Runner(const Graph& graph, Driver driver) {
    RegisterAllKernels(registry_);
    EXPECT_OK(registry_.Add(OwnedKernelRow("Square", [this](const KernelConstruction& construction) {
      return std::make_unique<Waits::WaitKernel>(&waits_, std::string(construction.name()));
    })));
    LocalExecutorParams params;
    params.device = &device_;
    params.registry = &registry_;
    params.edges = &edges_;
    params.driver = driver;
    params.observes_ports = false;
    made_ = CompiledGraph::Create(graph, params);
    if (made_.ok()) executor_ = *NewExecutor("", *made_);
  }

  const absl::Status& status() const { return made_.status(); }
  const CompiledGraph& compiled() const { return **made_; }

  // Ends what waits in the order that `seed` says; some receives get dead values, and in some runs a wait fails.
  Story Run(uint32_t seed, const std::vector<std::string>& receives) {
    std::mt19937 random(seed);
    Story story;
    Calls calls;
    VectorCallFrame frame(RandomArguments(seed), 64);
    StepContainer container(StepId(static_cast<int64_t>(seed) + 1));
    const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
    Executor::Args args;
    args.step_id = container.step_id();
    args.step_container = &container;
    args.rendezvous = rendezvous.get();
    args.call_frame = &frame;
    args.observer = &calls;
    executor_->RunAsync(args, [&](absl::Status status) {
      story.status = std::move(status);
      ++story.num_ends;
    });
    std::set<std::string> left(receives.begin(), receives.end());
    const bool fails = random() % 8 == 0;
    while (story.num_ends == 0) {
      std::set<std::string> open = waits_.names();
      open.insert(left.begin(), left.end());
      story.calls.push_back(calls.of);
      story.waits.push_back(waits_.names());
      if (open.empty()) {
        ADD_FAILURE() << "hangs";
        break;
      }
      auto next = open.begin();
      std::advance(next, random() % open.size());
      const bool is_special = random() % 4 == 0;
      if (left.erase(*next) > 0) {
        // Refused once a wait has failed.
        static_cast<void>(
            rendezvous->Send(Key(*next), {}, {is_special ? Tensor() : Tensor::Scalar<int32_t>(3), is_special}));
      } else {
        waits_.End(*next, fails && is_special ? absl::DataLossError("lost") : absl::OkStatus());
      }
    }
    story.calls.push_back(calls.of);
    story.results = frame.results();
    for (int i = 0; i < 8 && story.status.ok(); ++i) {
      rendezvous->RecvAsync(
          Key(absl::StrCat("out", i)), {}, nullptr,
          [&, i](const absl::Status& status, const RendezvousValue& value, const TransferArgs&, const TransferArgs&) {
            if (!status.ok()) return;
            story.sent.push_back(absl::StrCat(i, ":", value.is_dead ? "dead" : value.tensor.ToString(64)));
          });
    }
    return story;
  }

 private:
  RendezvousKey Key(const std::string& name) {
    const std::string device = absl::StrCat(kLocalTask, "/device:CPU:0");
    return RendezvousKey{edges_.Number(EdgeText(device, 1, device, name)), 0, 0};
  }

  Waits waits_;
  KernelRegistry registry_;
  CpuDevice device_{absl::StrCat(kLocalTask, "/device:CPU:0"), 1};
  EdgeTable edges_;
  absl::StatusOr<std::shared_ptr<const CompiledGraph>> made_ = absl::InternalError("");
  std::unique_ptr<Executor> executor_;
};

// The calls of nodes in `nodes`.
std::map<int32_t, int> CallsOf(const std::set<int32_t>& nodes, const std::map<int32_t, int>& calls) {
  std::map<int32_t, int> some;
  for (const auto& [node, count] : calls) {
    if (nodes.count(node) > 0) some[node] = count;
  }
  return some;
}

void ExpectSame(const CompiledGraph& compiled, const Story& serial, const Story& dataflow) {
  EXPECT_EQ(serial.num_ends, 1);
  EXPECT_EQ(dataflow.num_ends, 1);
  EXPECT_EQ(serial.status.code(), dataflow.status.code()) << serial.status << " and " << dataflow.status;
  if (!serial.status.ok()) return;
  ASSERT_EQ(serial.waits, dataflow.waits);
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo frames, BuildControlFlowInfo(compiled.graph(), LoadLimits()));
  // A loop as a whole waits for all that enters it, or is dead: nodes in it may run without it if that has no visible
  // effect.
  std::set<int32_t> nodes;
  for (const SerialInstruction& instruction : compiled.waiting_program()->instructions()) {
    if (instruction.kernel == nullptr) continue;
    const OpSchema& op = compiled.graph().op(NodeId(instruction.io.id));
    if (op.is_stateful || frames.frame(NodeId(instruction.io.id)) == 0) nodes.insert(instruction.io.id);
  }
  ASSERT_EQ(serial.calls.size(), dataflow.calls.size());
  for (size_t i = 0; i < serial.calls.size(); ++i) {
    ASSERT_EQ(CallsOf(nodes, serial.calls[i]), CallsOf(nodes, dataflow.calls[i])) << "at wait " << i;
  }
  for (size_t i = 0; i < serial.results.size(); ++i) {
    EXPECT_EQ(serial.results[i].ToString(64), dataflow.results[i].ToString(64)) << "result " << i;
  }
  EXPECT_EQ(serial.sent, dataflow.sent);
}

TEST(RandomWaitsTest, BothDriversDoTheSameBeforeAndAfterEachWait) {
  std::map<std::string, int> refused;
  int run = 0, dead = 0, failed = 0, with_loops = 0;
  const int64_t bytes_before = HostAllocatorLiveBytes();
  for (uint32_t seed = 0; seed < 1500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomProgramOptions options;
    options.max_statements = 4;
    options.with_state = seed % 2 == 0;
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed, options));
    std::vector<std::string> receives;
    AddWaits(seed, &graph, &receives);
    Runner serial(graph, Driver::kSerial), dataflow(graph, Driver::kDataflow);
    ASSERT_OK(dataflow.status());
    if (!serial.status().ok()) {
      const std::string why(serial.status().message());
      const size_t quote = why.rfind('\'');
      ++refused[quote == std::string::npos ? why : why.substr(quote + 1)];
      continue;
    }
    if (serial.compiled().waiting_program() == nullptr) continue;
    for (uint32_t i = 0; i < 3; ++i) {
      const Story by_segments = serial.Run(seed + i, receives), by_nodes = dataflow.Run(seed + i, receives);
      ExpectSame(serial.compiled(), by_segments, by_nodes);
      ++run;
      failed += by_segments.status.ok() ? 0 : 1;
      for (const std::string& sent : by_segments.sent) dead += absl::StrContains(sent, "dead") ? 1 : 0;
    }
    for (const NodeId id : graph.Nodes()) {
      if (graph.op_name(id) != "LoopCond") continue;
      ++with_loops;
      break;
    }
  }
  std::cout << run << " runs, " << failed << " failed, " << with_loops << " graphs with loops, " << dead
            << " sent dead\n";
  for (const auto& [why, count] : refused) std::cout << count << " refused: " << why << "\n";
  EXPECT_GT(run, 1000);
  EXPECT_GT(failed, 10);
  EXPECT_GT(with_loops, 100);
  EXPECT_EQ(HostAllocatorLiveBytes(), bytes_before);
}

}  // namespace
}  // namespace sluice
