// Ops that a host adds: gradients that nobody knows (G09), and branches that run at once (H14).

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "executor/tape/call_limits.h"
#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/strong_id.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient_context.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// How many calls are inside of the kernel now, and whether two ever were.
struct Meeting {
  std::atomic<int> inside{0};
  std::atomic<bool> have_met{false};
  std::mutex mu;
  std::vector<StepId> steps;  // Of the calls that meet nobody any more.
};

// The identity. Waits a while for another call to come.
class MeetKernel final : public Kernel {
 public:
  explicit MeetKernel(Meeting* meeting) : meeting_(meeting) {}
  absl::Status Compute(KernelContext& context) const override {
    if (meeting_->have_met) {
      const std::lock_guard<std::mutex> lock(meeting_->mu);
      meeting_->steps.push_back(context.run().step_id);
    }
    ++meeting_->inside;
    for (int i = 0; i < 100 && !meeting_->have_met; ++i) {
      if (meeting_->inside > 1) meeting_->have_met = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    --meeting_->inside;
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  }

 private:
  Meeting* const meeting_;
};

absl::Status MeetGradient(GradientContext& c) {
  c.SetInput(0, AddOp("MeetGrad", {c.dy()}));
  return absl::OkStatus();
}

// The identity. Cancels the pass that its own is inside of, and tells whether its own is cancelled then.
class CancelKernel final : public Kernel {
 public:
  CancelKernel(const std::unique_ptr<CancellationManager>* outer, std::atomic<int>* seen)
      : outer_(outer), seen_(seen) {}
  absl::Status Compute(KernelContext& context) const override {
    (*outer_)->StartCancel();
    CancellationManager* const own = context.run().cancellation;
    *seen_ += own != nullptr && own->IsCancelled() ? 1 : 0;
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<CancellationManager>* const outer_;
  std::atomic<int>* const seen_;
};

absl::Status CancelGradient(GradientContext& c) {
  c.SetInput(0, AddOp("CancelGrad", {c.dy()}));
  return absl::OkStatus();
}

// The identity. Calls what the test says.
class CallingKernel final : public Kernel {
 public:
  explicit CallingKernel(const std::function<void()>* call) : call_(call) {}
  absl::Status Compute(KernelContext& context) const override {
    (*call_)();
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  }

 private:
  const std::function<void()>* const call_;
};

absl::Status CallingGradient(GradientContext& c) {
  c.SetInput(0, AddOp("Calling", {c.dy()}));
  return absl::OkStatus();
}

// Rows with mistakes: gradients of a wrong shape, and of a wrong type.
absl::Status WrongShape(GradientContext& c) {
  c.SetInput(0, AddOp("Reshape", {c.dy(), Int32s(c.dy(), {3})}));
  return absl::OkStatus();
}
absl::Status WrongType(GradientContext& c) {
  c.SetInput(0, AddOp("Cast", {c.dy()}, {{"DstT", DType::kDouble}}));
  return absl::OkStatus();
}

// Not reduced to the shape of an input that was broadcast: [2, 3] for [1, 3].
absl::Status Unreduced(GradientContext& c) {
  c.SetInput(0, AddOp("BroadcastTo", {c.dy(), Int32s(c.dy(), {2, 3})}));
  return absl::OkStatus();
}
// No gradient at all.
absl::Status Undefined(GradientContext&) { return absl::OkStatus(); }

// What an asynchronous kernel does with its callback.
enum class Keeping { kDrops, kThrows, kThrowsThenCalls, kWaits };
class KeepingKernel final : public AsyncKernel {
 public:
  explicit KeepingKernel(const Keeping* how) : how_(how) {}
  void ComputeAsync(KernelContext& context, Done done) const override {
    if (*how_ == Keeping::kDrops) return;
    if (*how_ == Keeping::kThrows) throw std::runtime_error("thrown words");
    auto kept = std::make_shared<Done>(std::move(done));
    if (*how_ == Keeping::kThrowsThenCalls) {
      std::thread([kept, &context] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        context.SetOutput(0, context.input(0));
        (*kept)(absl::OkStatus());
      }).detach();
      throw std::runtime_error("thrown words");
    }
    CancellationManager* const cancellation = context.run().cancellation;
    const auto end = [kept] { (*kept)(absl::CancelledError("the kernel was cancelled")); };
    if (cancellation == nullptr || !cancellation->RegisterCallback(cancellation->NewToken(), end)) end();
  }

 private:
  const Keeping* const how_;
};

// Registries with ops Meet, whose gradient is MeetGrad, which has none.
class TapeHostOpsTest : public ::testing::Test {
 protected:
  TapeHostOpsTest() {
    RegisterAllKernels(kernels_);
    for (const char* const name : {"Meet", "MeetGrad"}) {
      EXPECT_OK(ops_->Add(*OpSchemaBuilder(name).Input("x: float").Output("y: float").Build()));
      const bool meets = name == std::string("MeetGrad");
      EXPECT_OK(kernels_.Add(OwnedKernelRow(name, [this, meets](const KernelConstruction&) {
                               return absl::StatusOr<std::unique_ptr<Kernel>>(
                                   std::make_unique<MeetKernel>(meets ? &backward_ : &forward_));
                             }).Cost(CostHint::kHeavy)));
    }
    forward_.have_met = true;  // Nobody waits there.
  }
  // Also the identity as ops Wrong and Cancel, with the row `wrong`, and with one that cancels.
  TapeOptions OptionsOf(GradientFunction wrong) {
    for (const char* const name : {"Wrong", "Cancel", "CancelGrad"}) {
      EXPECT_OK(ops_->Add(*OpSchemaBuilder(name).Input("x: float").Output("y: float").Build()));
      const bool cancels = name == std::string("CancelGrad");
      EXPECT_OK(kernels_.Add(OwnedKernelRow(name, [this, cancels](const KernelConstruction&) {
        return cancels ? absl::StatusOr<std::unique_ptr<Kernel>>(std::make_unique<CancelKernel>(&outer_, &seen_))
                       : absl::StatusOr<std::unique_ptr<Kernel>>(std::make_unique<MeetKernel>(&forward_));
      })));
    }
    TapeOptions options = Options(1);
    options.rows = {GradientRow("Wrong", wrong), GradientRow("Cancel", &CancelGradient)};
    return options;
  }
  TapeOptions Options(int num_threads) const {
    TapeOptions options;
    options.num_threads = num_threads;
    options.ops = ops_.get();
    options.kernels = &kernels_;
    options.rows = {GradientRow("Meet", &MeetGradient)};
    return options;
  }

  const std::shared_ptr<OpRegistry> ops_ = NewOpRegistry();
  KernelRegistry kernels_;
  Meeting forward_, backward_;
  std::unique_ptr<CancellationManager> outer_;
  std::atomic<int> seen_{0};
};

// Passes as compiled graphs, too: what rendezvous and stores keep by step is not another pass's.
TEST_F(TapeHostOpsTest, EachPassIsAStepOfItsOwn) {
  backward_.have_met = true;  // Nobody waits.
  Tape tape(Options(1));
  constexpr size_t kPasses = 4;
  for (size_t pass = 0; pass < kPasses; ++pass) {
    const Var x = tape.Leaf(Tensor::Scalar(2.0f));
    ASSERT_OK(CallOp("Meet", {x}).Backward());
  }
  EXPECT_GT(tape.NumPassesOfKnownStructure(), 0);
  ASSERT_EQ(backward_.steps.size(), kPasses);
  ASSERT_EQ(forward_.steps.size(), kPasses);
  for (size_t a = 0; a < kPasses; ++a) {
    EXPECT_FALSE(backward_.steps[a] == forward_.steps[0]);
    for (size_t b = 0; b < a; ++b) EXPECT_FALSE(backward_.steps[a] == backward_.steps[b]);
  }
}

TEST_F(TapeHostOpsTest, G09AnOpWithoutGradientEndsThePassBeforeAnythingRuns) {
  Tape tape(Options(1));
  Var x = tape.Leaf(Tensor::Scalar(1.0f));
  const Var y = CallOp("MeetGrad", {x});
  ASSERT_OK(y.status());
  int calls = 0;
  Var z = y * 2.0;
  ASSERT_OK(z.AddHook([&](const Var&) {
               ++calls;
               return Var();
             }).status());
  EXPECT_THAT(z.Backward(), IsError(ErrorCode::kTapeNoDerivative, "MeetGrad"));
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(TapeHostOpsTest, H14BranchesOfOnePassRunAtOnce) {
  Tape tape(Options(2));
  int passes = 0;
  // Both drivers are timed before the quicker one is chosen.
  for (; passes < 30 && !backward_.have_met; ++passes) {
    const Var x = tape.Leaf(Tensor::Scalar(1.0f)), y = tape.Leaf(Tensor::Scalar(1.0f));
    ASSERT_OK((CallOp("Meet", {x}) + CallOp("Meet", {y})).Backward());
    ASSERT_OK_AND_ASSIGN(const float grad, x.grad().value().AsScalar<float>());
    EXPECT_EQ(grad, 1.0f);
  }
  EXPECT_TRUE(backward_.have_met) << passes;
}

TEST_F(TapeHostOpsTest, G08GradientsOfRowsAreChecked) {
  Tape tape(OptionsOf(&WrongShape));
  for (int i = 0; i < 3; ++i) {
    const Var y = tape.Leaf(Tensor::Of<float>(Shape::Of({1, 3}), {1, 2, 3}));
    const Var z = CallOp("Wrong", {y});
    ASSERT_OK(z.status());
    EXPECT_THAT(Sum(z).Backward(), IsError(ErrorCode::kOpShape, "WrongBackward"));
    EXPECT_FALSE(y.grad().defined());
  }
}

// A pass gives the same gradient whichever way it is run: with a reduction, with an op before it, with a shape that
// needs none, and where nothing flows.
TEST_F(TapeHostOpsTest, G08GradientsOfRowsAreReducedInEveryPass) {
  Tape tape(OptionsOf(&Unreduced));
  for (int i = 0; i < 5; ++i) {
    const Var y = tape.Leaf(Tensor::Of<float>(Shape::Of({1, 3}), {1, 2, 3}));
    ASSERT_OK(Sum(CallOp("Wrong", {y}) * 3.0).Backward());
    EXPECT_EQ(y.grad().value().shape(), Shape::Of({1, 3}));
    EXPECT_THAT(y.grad().value().flat<float>(), ::testing::ElementsAre(6, 6, 6)) << i;
    const Var x = tape.Leaf(Tensor::Vector<float>({1, 2, 3}));
    ASSERT_OK(Sum(CallOp("Wrong", {Reshape(x, {1, 3})})).Backward());
    EXPECT_THAT(x.grad().value().flat<float>(), ::testing::ElementsAre(2, 2, 2)) << i;
  }
  // The graph is made for a shape that needs no reduction, and used for one that does.
  for (const int64_t rows : {2, 2, 2, 1, 1, 2}) {
    const auto count = static_cast<size_t>(rows * 3);
    const Var y = tape.Leaf(Tensor::Of<float>(Shape::Of({rows, 3}), std::vector<float>(count, 1.0f)));
    const Var z = CallOp("Wrong", {y});
    ASSERT_OK(tape.Backward({z}, {tape.Constant(z.value())}));
    EXPECT_EQ(y.grad().value().shape(), y.shape());
    EXPECT_THAT(y.grad().value().flat<float>(), ::testing::Each(rows == 1 ? 2.0f : 1.0f));
  }
}

TEST_F(TapeHostOpsTest, G08RowsWithoutAGradientGiveNone) {
  Tape tape(OptionsOf(&Undefined));
  for (int i = 0; i < 4; ++i) {
    const Var x = tape.Leaf(Tensor::Vector<float>({1, 2}));
    const Var y = Sum(CallOp("Wrong", {Exp(x)}));
    ASSERT_OK(y.Backward());
    EXPECT_FALSE(x.grad().defined());
    EXPECT_THAT(y.Backward(), IsError(ErrorCode::kTapeFreed, "second time")) << i;
  }
}

// X3: a call ends whatever its kernel does with the callback.
TEST_F(TapeHostOpsTest, AsynchronousCallsEnd) {
  Keeping how = Keeping::kDrops;
  ASSERT_OK(ops_->Add(*OpSchemaBuilder("Keep").Input("x: float").Output("y: float").Build()));
  ASSERT_OK(kernels_.Add(OwnedKernelRow("Keep", [&how](const KernelConstruction&) {
    return absl::StatusOr<std::unique_ptr<Kernel>>(std::make_unique<KeepingKernel>(&how));
  })));
  Tape tape(Options(1));
  const Var x = tape.Leaf(Tensor::Scalar(1.0f));
  EXPECT_THAT(CallOp("Keep", {x}).status(), IsError(ErrorCode::kOutputMissing, "dropped its callback"));
  how = Keeping::kThrows;
  EXPECT_THAT(CallOp("Keep", {x}).status(), IsError(ErrorCode::kKernelException, "thrown words"));
  how = Keeping::kThrowsThenCalls;
  EXPECT_OK(CallOp("Keep", {x}).status());
  how = Keeping::kWaits;
  {
    const CallLimitsScope limits(nullptr, absl::Now() + absl::Milliseconds(50));
    EXPECT_THAT(CallOp("Keep", {x}).status(), IsError(ErrorCode::kDeadline));
    EXPECT_THAT(CallOp("Meet", {x}).status(), IsError(ErrorCode::kDeadline));
  }
  CancellationManager cancellation;
  const CallLimitsScope limits(&cancellation);
  ASSERT_OK(CallOp("Meet", {x}).status());
  std::thread cancels([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancellation.StartCancelWithStatus(absl::CancelledError("by the test"));
  });
  EXPECT_THAT(CallOp("Keep", {x}).status(), StatusIs(absl::StatusCode::kCancelled));
  cancels.join();
}

TEST_F(TapeHostOpsTest, G08GradientsOfRowsAreCast) {
  Tape tape(OptionsOf(&WrongType));
  for (int i = 0; i < 4; ++i) {
    const Var x = tape.Leaf(Tensor::Vector<float>({1, 2}));
    ASSERT_OK(Sum(CallOp("Wrong", {x}) * 2.0 + x).Backward());
    EXPECT_EQ(x.grad().dtype(), DType::kFloat);
    EXPECT_THAT(x.grad().value().flat<float>(), ::testing::ElementsAre(3, 3));
  }
}

TEST_F(TapeHostOpsTest, CancellationOfAnOuterPassIsSeenInKernelsOfInnerOnes) {
  Tape tape(OptionsOf(&WrongType));
  int num_passes = 0;
  for (const bool has_own : {false, true}) {
    for (int i = 0; i < 3; ++i) {
      outer_ = std::make_unique<CancellationManager>();
      CancellationManager own;
      Var x = tape.Leaf(Tensor::Scalar(1.0f)) * 1.0;
      ASSERT_OK(x.AddHook([&](const Var&) -> absl::StatusOr<Var> {
                   const GradModeScope grad(true);
                   const Var inner = tape.Leaf(Tensor::Scalar(1.0f));
                   BackwardOptions options;
                   if (has_own) options.cancellation = &own;
                   (void)tape.Backward({CallOp("Cancel", {inner}) * 1.0}, {}, options);
                   return Var();
                 }).status());
      BackwardOptions options;
      options.cancellation = outer_.get();
      EXPECT_THAT(tape.Backward({x * 2.0}, {}, options), StatusIs(absl::StatusCode::kCancelled));
      EXPECT_EQ(seen_, ++num_passes);
    }
  }
}

// The last handle of a leaf goes while a pass runs, as a graph and node by node: who holds its gradient, or has a hook,
// sees what is added.
TEST_F(TapeHostOpsTest, ALeafMayGoWhileAPassRuns) {
  std::function<void()> call = [] {};
  ASSERT_OK(ops_->Add(*OpSchemaBuilder("Calling").Input("x: float").Output("y: float").Build()));
  ASSERT_OK(kernels_.Add(OwnedKernelRow("Calling", [&call](const KernelConstruction&) {
    return absl::StatusOr<std::unique_ptr<Kernel>>(std::make_unique<CallingKernel>(&call));
  })));
  for (const int max_structures : {0, 64}) {
    TapeOptions options = Options(1);
    options.rows = {GradientRow("Calling", &CallingGradient)};
    options.max_structures = max_structures;
    Tape tape(options);
    for (int pass = 0; pass < 4; ++pass) {
      Var x = tape.Leaf(Tensor::Scalar(1.0f));
      const Var y = CallOp("Calling", {x});
      BackwardOptions retain;
      retain.retain_graph = true;
      ASSERT_OK(tape.Backward({y}, {}, retain));
      const Var grad = x.grad();
      call = [&] { x = Var(); };
      ASSERT_OK(tape.Backward({y}, {}, retain));
      ASSERT_OK(tape.Backward({y}, {}, retain));
      call = [] {};
      ASSERT_OK_AND_ASSIGN(const float sum, grad.Item<float>());
      EXPECT_EQ(sum, 3.0f) << pass;
    }
    EXPECT_EQ(tape.NumPassesOfKnownStructure() > 0, max_structures > 0);
  }
}

TEST_F(TapeHostOpsTest, OneThreadIsOneThread) {
  Tape tape(Options(1));
  for (int i = 0; i < 5; ++i) {
    const Var x = tape.Leaf(Tensor::Scalar(1.0f)), y = tape.Leaf(Tensor::Scalar(1.0f));
    ASSERT_OK((CallOp("Meet", {x}) + CallOp("Meet", {y})).Backward());
  }
  EXPECT_FALSE(backward_.have_met);
}

}  // namespace
}  // namespace sluice
