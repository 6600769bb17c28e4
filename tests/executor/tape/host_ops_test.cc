// Ops that a host adds: gradients that nobody knows (G09), and branches that run at once (H14).

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/error.h"
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
};

// The identity. Waits a while for another call to come.
class MeetKernel final : public Kernel {
 public:
  explicit MeetKernel(Meeting* meeting) : meeting_(meeting) {}
  absl::Status Compute(KernelContext& context) const override {
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
};

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
  EXPECT_THAT(z.Backward(), IsError(ErrorCode::kUnsupported, "MeetGrad"));
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
