#ifndef SLUICE_TESTS_EXECUTOR_COMPILED_WAITING_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_COMPILED_WAITING_FIXTURE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "executor/compiled/local_executor.h"
#include "executor/executor.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/compiled/executor_fixture.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/gate.h"

namespace sluice {

// Nodes of op Abs wait at a gate; those of Square count their calls.
class WaitingFixture : public ExecutorFixture, public testing::WithParamInterface<Driver> {
 protected:
  // One step under way.
  struct Step {
    explicit Step(std::vector<Tensor> args, size_t num_results = 1) : frame(std::move(args), num_results) {}
    VectorCallFrame frame;
    std::atomic<int> num_ends{0};
    absl::Status status;
    bool is_over() const { return num_ends > 0; }
    int32_t result(size_t i = 0) const { return *frame.results()[i].AsScalar<int32_t>(); }
  };

  WaitingFixture() {
    EXPECT_OK(registry_.Add(OwnedKernelRow(
        "Abs", [this](const KernelConstruction&) { return std::make_unique<CallGate::WaitKernel>(gate_); })));
    EXPECT_OK(registry_.Add(OwnedKernelRow("Square", MakeFunction([this](KernelContext& context) {
                                             ++num_effects_;
                                             const int32_t x = *context.input(0).AsScalar<int32_t>();
                                             context.SetOutput(0, Int(x * x));
                                             return absl::OkStatus();
                                           }))));
  }

  Output Arg(int64_t index) {
    const auto found = args_.find(index);
    return found != args_.end() ? found->second : args_[index] = ExecutorFixture::Arg(index);
  }
  Output Wait(const std::string& name, Output x) { return b_.Op("Abs", name, {x}); }
  Output Effect(const std::string& name, Output x) { return b_.Op("Square", name, {x}); }
  Output Add(Output a, Output b) { return b_.Op("AddV2", "", {a, b}); }
  static std::vector<std::pair<std::string, AttrValue>> Transfer(const std::string& name) {
    return ExecutorHarness::TransferAttrs(name);
  }
  Output Recv(const std::string& name) {
    auto attrs = Transfer(name);
    attrs.emplace_back("tensor_type", DType::kInt32);
    return b_.Op("_Recv", absl::StrCat("recv_", name), {}, attrs);
  }
  void Send(const std::string& name, Output value) {
    b_.Op("_Send", absl::StrCat("send_", name), {value}, Transfer(name));
  }
  RendezvousKey Key(const std::string& name) {
    const std::string device = absl::StrCat(kLocalTask, "/device:CPU:0");
    return RendezvousKey{edges_.Number(EdgeText(device, 1, device, name)), 0, 0};
  }
  std::unique_ptr<Executor> MakeIt(absl::string_view kind = kDefaultExecutor) {
    LocalExecutorParams params = Params(GetParam());
    params.edges = &edges_;
    EXPECT_OK(b_.status());
    absl::StatusOr<std::unique_ptr<Executor>> made = NewExecutor(kind, params, b_.graph());
    EXPECT_OK(made);
    return made.ok() ? *std::move(made) : nullptr;
  }
  static void Begin(const Executor& executor, Step& step, Executor::Args args = {}) {
    args.call_frame = &step.frame;
    executor.RunAsync(args, [&step](absl::Status status) {
      step.status = std::move(status);
      ++step.num_ends;
    });
  }
  bool is_dataflow() const { return GetParam() == Driver::kDataflow; }

  CallGate gate_;
  std::atomic<int> num_effects_{0};
  std::map<int64_t, Output> args_;
  EdgeTable edges_;
};

// The parameters of such tests: INSTANTIATE_TEST_SUITE_P(Drivers, ..., WaitingDrivers(), NameOfDriver).
inline auto WaitingDrivers() { return ::testing::Values(Driver::kAuto, Driver::kSerial, Driver::kDataflow); }
inline std::string NameOfDriver(const ::testing::TestParamInfo<Driver>& info) {
  return info.param == Driver::kAuto ? "Auto" : info.param == Driver::kSerial ? "Serial" : "Dataflow";
}

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_COMPILED_WAITING_FIXTURE_H_
