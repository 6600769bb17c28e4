#ifndef SLUICE_TESTS_EXECUTOR_COMPILED_EXECUTOR_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_COMPILED_EXECUTOR_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/compiled/local_executor.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "kernels/step/span_call_frame.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// A graph under construction with arguments and results, a device and a registry that tests may add to: what an
// embedder has. No session.
class ExecutorFixture : public ::testing::Test {
 protected:
  ExecutorFixture() : b_(NewOpRegistry()) { RegisterAllKernels(registry_); }

  static Tensor Int(int32_t value) { return Tensor::Scalar(value); }
  Output Arg(int64_t index) {
    return b_.Op("_Arg", absl::StrCat("arg", index), {}, {{"T", DType::kInt32}, {"index", index}});
  }
  void Return(int64_t index, Output value) {
    b_.Op("_Retval", absl::StrCat("result", index), {value}, {{"index", index}});
  }
  // The first result is x * x + x.
  void AddPolynomial() {
    const Output x = Arg(0);
    Return(0, b_.Op("AddV2", "sum", {b_.Op("Mul", "square", {x, x}), x}));
  }
  // Counts for ever, or so, and gives the count.
  void AddEndlessLoop() {
    const auto enter = [&](int32_t value, bool is_constant) {
      return b_.Op("Enter", "", {b_.Const("", Int(value))}, {{"frame_name", "f"}, {"is_constant", is_constant}});
    };
    const Output limit = enter(2'000'000'000, true), one = enter(1, true), first = enter(0, false);
    const Output merge = b_.Op("Merge", "merge", {first, first});
    const Output ports = b_.Op("Switch", "", {merge, b_.Op("LoopCond", "", {b_.Op("Less", "", {merge, limit})})});
    b_.SetInput(merge, 1, b_.Op("NextIteration", "", {b_.Op("AddV2", "", {GraphBuilder::Nth(ports, 1), one})}));
    Return(0, b_.Op("Exit", "exit", {ports}));
  }
  // Has `function` called for nodes of op Neg, which are not known to be quick.
  void UseKernel(FunctionKernel::Function function) {
    ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", MakeFunction(std::move(function)))));
  }

  LocalExecutorParams Params(Driver driver) {
    LocalExecutorParams params;
    params.device = &device_;
    params.registry = &registry_;
    params.driver = driver;
    return params;
  }
  std::unique_ptr<Executor> Make(Driver driver, absl::string_view kind = kDefaultExecutor) {
    absl::StatusOr<std::unique_ptr<Executor>> made = NewExecutor(kind, Params(driver), b_.graph());
    EXPECT_OK(b_.status());
    EXPECT_OK(made);
    return made.ok() ? *std::move(made) : nullptr;
  }
  static absl::Status RunAsyncAndWait(const Executor& executor, const Executor::Args& args) {
    absl::Status outcome;
    Notification over;
    executor.RunAsync(args, [&](absl::Status status) {
      outcome = std::move(status);
      over.Notify();
    });
    over.WaitForNotification();
    return outcome;
  }

  KernelRegistry registry_;
  CpuDevice device_{absl::StrCat(kLocalTask, "/device:CPU:0"), 1};
  GraphBuilder b_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_COMPILED_EXECUTOR_FIXTURE_H_
