// Random graphs, run by the executor and worked out by the reference evaluator: the answers must be the same whatever
// the number of threads, with kernels that are slow, asynchronous or work in place, and with variables behind
// references.

#include "tests/testing/random_graph.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/threads/thread_pool.h"
#include "graph/ir/control_flow_check.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/reference_evaluator.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Neg, in place where it may; called heavy, so that other threads take it.
class NegKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const absl::Span<const float> in = context.input(0).flat<float>();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.ForwardOrAllocate(0, context.input(0).shape(), {0}));
    std::transform(in.begin(), in.end(), out->flat<float>().begin(), [](float x) { return -x; });
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kHeavy; }
};

// One thread that ends asynchronous calls.
class Ender {
 public:
  Ender() : thread_([this] { Loop(); }) {}
  ~Ender() {
    {
      MutexLock lock(&mu_);
      is_over_ = true;
    }
    changed_.Signal();
    thread_.join();
  }
  void Add(absl::AnyInvocable<void()> task) {
    MutexLock lock(&mu_);
    tasks_.push_back(std::move(task));
    changed_.Signal();
  }

 private:
  void Loop() {
    for (;;) {
      absl::AnyInvocable<void()> task;
      {
        MutexLock lock(&mu_);
        while (tasks_.empty() && !is_over_) changed_.Wait(&mu_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }
  Mutex mu_;
  CondVar changed_;
  std::deque<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mu_);
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// Abs, on another thread or at once.
class AbsKernel : public AsyncKernel {
 public:
  explicit AbsKernel(Ender* ender) : ender_(ender) {}
  void ComputeAsync(KernelContext& context, Done done) const override {
    const auto work = [&context] {
      Tensor value = context.TakeInput(0);
      if (!value.IsUniquelyOwned()) value = *value.DeepCopy();
      for (float& x : value.flat<float>()) x = std::fabs(x);
      context.SetOutput(0, std::move(value));
    };
    if (calls_.fetch_add(1, std::memory_order_relaxed) % 3 == 0) {
      work();
      return done(absl::OkStatus());
    }
    ender_->Add([work, done = std::move(done)]() mutable {
      work();
      done(absl::OkStatus());
    });
  }

 private:
  Ender* const ender_;
  mutable std::atomic<int> calls_{0};
};

// In how many graphs of a run each kind of thing was seen.
class KindCounts {
 public:
  void Add(const Graph& graph, const std::vector<ReferenceValue>& results) {
    std::set<std::string> kinds;
    for (const NodeId id : graph.Nodes()) kinds.insert(std::string(graph.op_name(id)));
    absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(graph, LoadLimits());
    ASSERT_OK(info);
    for (const StaticFrame& frame : info->frames) {
      if (frame.depth > 1) kinds.insert("a loop in a loop");
    }
    for (const NodeId id : graph.Nodes()) {
      const bool in_loop = info->frame(id) > 0;
      if (in_loop && graph.Is(id, "Merge") && graph.op_name(graph.inputs(id)[0].node) != "Enter") {
        kinds.insert("a conditional in a loop");
      }
      if (in_loop && graph.Is(id, "AssignAdd")) kinds.insert("a write in a loop");
    }
    for (const ReferenceValue& result : results) kinds.insert(result.has_value() ? "a live result" : "a dead result");
    for (const std::string& kind : kinds) ++counts_[kind];
    ++num_graphs_;
  }
  // Checks that each kind occurs in at least about a twentieth of the graphs.
  void ExpectAll() const {
    for (const char* kind : {"Switch",
                             "Merge",
                             "Enter",
                             "Exit",
                             "NextIteration",
                             "LoopCond",
                             "ControlTrigger",
                             "GradSum",
                             "Abs",
                             "Neg",
                             "VariableV2",
                             "Assign",
                             "AssignAdd",
                             "AssignSub",
                             "RefIdentity",
                             "RefSwitch",
                             "RefMerge",
                             "RefEnter",
                             "RefExit",
                             "RefNextIteration",
                             "a loop in a loop",
                             "a conditional in a loop",
                             "a write in a loop",
                             "a live result",
                             "a dead result"}) {
      const auto found = counts_.find(kind);
      const int count = found != counts_.end() ? found->second : 0;
      EXPECT_GT(count, num_graphs_ / 20) << kind;
    }
  }

 private:
  std::map<std::string, int> counts_;
  int num_graphs_ = 0;
};

class RandomGraphTest : public testing::TestWithParam<int> {
 protected:
  void Check(uint32_t seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const int64_t bytes_before = HostAllocatorLiveBytes();
    Compare(seed);
    EXPECT_EQ(HostAllocatorLiveBytes(), bytes_before) << "values, slabs and views are all gone";
  }

  void Compare(uint32_t seed) {
    RandomGraph made = MakeRandomGraph(seed, 40);
    ReferenceEvaluator reference(made.graph, made.constants);
    std::vector<ReferenceValue> expected;
    for (const Output& watched : made.watched) expected.push_back(reference.Evaluate(watched));
    counts_.Add(made.graph, expected);
    ExecutorHarness harness;
    ASSERT_OK(harness.registry().Add(
        OwnedKernelRow("Neg", [](const KernelConstruction&) { return std::make_unique<NegKernel>(); })));
    ASSERT_OK(harness.registry().Add(
        OwnedKernelRow("Abs", [this](const KernelConstruction&) { return std::make_unique<AbsKernel>(&ender_); })));
    ASSERT_OK(harness.Build(made.graph));
    for (int run = 0; run < 3; ++run) {
      VectorCallFrame frame({}, expected.size());
      Executor::Args args = harness.args();
      args.call_frame = &frame;
      args.task_runner = &pool_;
      ASSERT_OK(harness.executor().Run(args));
      for (size_t i = 0; i < expected.size(); ++i) {
        const Tensor& result = frame.results()[i];
        ASSERT_EQ(result.has_value(), expected[i].has_value()) << "watch" << i;
        if (!result.has_value()) continue;
        const absl::Span<const float> values = result.flat<float>();
        ASSERT_EQ(std::vector<float>(values.begin(), values.end()), *expected[i]) << "watch" << i;
      }
    }
  }

  static ThreadPoolOptions Options(int threads) {
    ThreadPoolOptions options;
    options.num_threads = threads;
    return options;
  }

  Ender ender_;
  KindCounts counts_;
  ThreadPool pool_{Options(GetParam())};
};

TEST_P(RandomGraphTest, AnswersAreThoseOfTheReference) {
  const char* const count_text = std::getenv("SLUICE_RANDOM_GRAPHS");
  const int count = count_text != nullptr ? std::atoi(count_text) : 1000;
  const uint32_t first = static_cast<uint32_t>(GetParam()) * 100000;
  std::cout << "seeds " << first << " to " << first + static_cast<uint32_t>(count) - 1 << ", " << GetParam()
            << " threads\n";
  for (int i = 0; i < count && !HasFatalFailure(); ++i) Check(first + static_cast<uint32_t>(i));
  counts_.ExpectAll();
}

INSTANTIATE_TEST_SUITE_P(Threads, RandomGraphTest, testing::Values(1, 2, 8));

}  // namespace
}  // namespace sluice
