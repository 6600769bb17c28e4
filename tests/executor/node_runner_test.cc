// One kernel call: its inputs before, its outputs after. Without threads and without a run around it.

#include "executor/dataflow/node_runner.h"

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frames/flat_propagator.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ops/op_table.h"
#include "graph/value/ref_cell.h"
#include "gtest/gtest.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Remembers "start NODE", "end NODE", "fail NODE".
class LogObserver : public NodeObserver {
 public:
  explicit LogObserver(const Graph& graph) : graph_(graph) {}
  void OnStart(NodeId node, int64_t) override { Add("start ", node); }
  void OnFailure(NodeId node, int64_t) override { Add("fail ", node); }
  void OnNode(NodeId node, int64_t, int64_t, const KernelContext&) override { Add("end ", node); }

  std::vector<std::string> log;

 private:
  void Add(const char* what, NodeId node) { log.push_back(what + std::string(graph_.name(node))); }
  const Graph& graph_;
};

class NodeRunnerTest : public ::testing::Test {
 protected:
  NodeRunnerTest() : b_(NewOpRegistry()) {
    Make("Const", [](KernelContext& context) {
      context.SetOutput(0, Tensor::Vector<int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
      return absl::OkStatus();
    });
  }

  void Make(const std::string& op, FunctionKernel::Function function) {
    kernels_[op] = std::make_unique<FunctionKernel>(std::move(function), CostHint::kCheap);
  }
  Output Value(const std::string& name) { return b_.Const(name, Tensor::Scalar<int32_t>(0)); }
  Output Variable(const std::string& name) {
    Make("VariableV2", [this](KernelContext& context) {
      context.SetRefOutput(0, cell_.get());
      return absl::OkStatus();
    });
    return b_.Op("VariableV2", name, {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  }

  // Runs all nodes in order; the first error.
  absl::Status Run() {
    absl::StatusOr<Graph> graph = b_.Build();
    SLUICE_RETURN_IF_ERROR(graph.status());
    graph_ = std::make_unique<Graph>(*std::move(graph));
    SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo frames, BuildControlFlowInfo(*graph_, LoadLimits()));
    std::vector<NodeFacts> facts(static_cast<size_t>(graph_->id_limit()));
    for (const NodeId id : graph_->Nodes()) {
      const auto found = kernels_.find(std::string(graph_->op_name(id)));
      if (found != kernels_.end()) facts[static_cast<size_t>(id.value())].kernel = found->second.get();
    }
    SLUICE_ASSIGN_OR_RETURN(GraphView view, GraphView::Create(*graph_, frames, facts));
    view_ = std::make_unique<GraphView>(std::move(view));
    observer_ = std::make_unique<LogObserver>(*graph_);
    FlatPropagator propagator(*view_, nullptr);
    const NodeRunner runner(*graph_, *view_, propagator.activation(), observer_.get());
    KernelContext context(run_, EntryTables());
    CallSpace space(view_->num_scratch());
    propagator.Begin();
    while (!propagator.ready().empty()) {
      const TaggedNode node = propagator.ready().Pop();
      if (!RunsKernel(node.item().kind)) {
        propagator.Process(node);
        continue;
      }
      propagator.SetTables(node, &context.tables());
      bool all_live = false;
      SLUICE_RETURN_IF_ERROR(runner.Run(node, context, space, &all_live));
      propagator.PropagateOutputs(node, all_live);
    }
    propagator.Reset(/*was_stopped=*/false);
    return absl::OkStatus();
  }

  GraphBuilder b_;
  RunContext run_;
  std::map<std::string, std::unique_ptr<const Kernel>> kernels_;  // By op.
  CountedPtr<RefCell> cell_ = MakeCounted<RefCell>(DType::kInt32);
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<GraphView> view_;
  std::unique_ptr<LogObserver> observer_;
};

TEST_F(NodeRunnerTest, AnOutputThatIsReadMustBeSet) {
  Make("Neg", [](KernelContext&) { return absl::OkStatus(); });
  b_.Op("Neg", "unread", {Value("x")});
  EXPECT_OK(Run());
  b_ = GraphBuilder(NewOpRegistry());
  Make("Abs", [](KernelContext&) { return absl::OkStatus(); });
  b_.Op("Abs", "reader", {b_.Op("Neg", "read", {Value("x")})});
  EXPECT_THAT(Run(), IsError(ErrorCode::kOutputMissing, "Neg 'read'"));
}

TEST_F(NodeRunnerTest, AnOutputHasTheDeclaredTypeAndIsNotDead) {
  Make("Neg", [](KernelContext& context) {
    context.SetOutput(0, Tensor::Scalar(1.0f));
    return absl::OkStatus();
  });
  b_.Op("Neg", "typed", {Value("x")});
  EXPECT_THAT(Run(), IsError(ErrorCode::kOutputType, "Neg 'typed'"));
  b_ = GraphBuilder(NewOpRegistry());
  Make("Neg", [](KernelContext& context) {
    context.SetDeadOutput(0);
    return absl::OkStatus();
  });
  b_.Op("Neg", "dead", {Value("x")});
  EXPECT_THAT(Run(), IsError(ErrorCode::kOutputMissing, "not a transfer"));
}

TEST_F(NodeRunnerTest, TheLastReaderHasItsInputAloneAndInputsAreGivenUp) {
  std::vector<bool> alone;
  const auto look = [&alone](KernelContext& context) {
    alone.push_back(context.InputIsWritable(0));
    return absl::OkStatus();
  };
  Make("Neg", look);
  Make("Abs", look);
  const Output x = Value("x");
  const Output first = b_.Op("Neg", "first", {x});
  b_.AddControl(b_.Op("Abs", "last", {x}), first);
  const int64_t bytes = HostAllocatorLiveBytes();
  EXPECT_OK(Run());
  EXPECT_EQ(alone, (std::vector<bool>{false, true}));
  view_.reset();
  EXPECT_EQ(HostAllocatorLiveBytes(), bytes);
}

TEST_F(NodeRunnerTest, AReferenceIsReadWhereAValueIsWantedAndNotKept) {
  {
    MutexLock lock(&cell_->mu);
    cell_->tensor = Tensor::Vector<int32_t>(std::vector<int32_t>(100, 5));
  }
  int32_t seen = 0;
  Make("Abs", [&seen](KernelContext& context) {
    EXPECT_EQ(context.input_ref(0), nullptr);
    seen = context.input(0).flat<int32_t>()[99];
    return absl::OkStatus();
  });
  b_.Op("Abs", "reader", {Variable("v")});
  EXPECT_OK(Run());
  EXPECT_EQ(seen, 5);
  MutexLock lock(&cell_->mu);
  EXPECT_TRUE(cell_->tensor.IsUniquelyOwned()) << "or it could not be written in place";
}

TEST_F(NodeRunnerTest, AVariableWithoutAValueIsAnErrorThatNamesTheInput) {
  Make("Abs", [](KernelContext&) { return absl::OkStatus(); });
  Make("CountUpTo", [](KernelContext&) { return absl::OkStatus(); });
  b_.Op("Abs", "reader", {Variable("v")});
  EXPECT_THAT(Run(), IsError(ErrorCode::kUninitialized, "Abs 'reader': input 0 'v"));
  b_ = GraphBuilder(NewOpRegistry());
  b_.Op("CountUpTo", "counter", {Variable("v")}, {{"limit", 3}});
  EXPECT_THAT(Run(), IsError(ErrorCode::kUninitialized, "CountUpTo 'counter': input 0 'v"));
}

TEST_F(NodeRunnerTest, AReferenceToAVariableOfAnotherTypeIsAnError) {
  cell_ = MakeCounted<RefCell>(DType::kFloat);
  Variable("v");
  EXPECT_THAT(Run(), IsError(ErrorCode::kOutputType, "VariableV2 'v'"));
}

TEST_F(NodeRunnerTest, TheObserverHearsOfEachCallOnce) {
  Make("Neg", [](KernelContext& context) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  Make("Abs", [](KernelContext&) { return absl::InvalidArgumentError("no"); });
  b_.Op("Abs", "b", {b_.Op("Neg", "a", {Value("x")})});
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument, "Abs 'b'"));
  const std::vector<std::string> expected = {"start x", "end x", "start a", "end a", "start b", "fail b"};
  EXPECT_EQ(observer_->log, expected);
}

TEST_F(NodeRunnerTest, AnExceptionOfTheKernelPassesThrough) {
  Make("Neg", [](KernelContext&) -> absl::Status { throw std::runtime_error("bad plan"); });
  b_.Op("Neg", "n", {Value("x")});
  EXPECT_THROW(Run().IgnoreError(), std::runtime_error);
}

}  // namespace
}  // namespace sluice
