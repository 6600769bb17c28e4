#ifndef SLUICE_TESTS_TESTING_EXECUTOR_HARNESS_H_
#define SLUICE_TESTS_TESTING_EXECUTOR_HARNESS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/compiled/local_executor.h"
#include "executor/executor.h"
#include "graph/base/mutex.h"
#include "kernels/device/cpu_device.h"
#include "kernels/kernel_registry.h"
#include "kernels/step/call_frame.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {

// Arguments and results of one run, by index; results that were not set have no value. Thread-safe for different
// indices.
class VectorCallFrame : public CallFrame {
 public:
  VectorCallFrame(std::vector<Tensor> args, size_t num_results) : args_(std::move(args)), results_(num_results) {}

  size_t num_args() const override { return args_.size(); }
  size_t num_retvals() const override { return results_.size(); }
  absl::StatusOr<Tensor> GetArg(size_t index) override { return args_.at(index); }
  absl::Status SetRetval(size_t index, Tensor value) override {
    results_.at(index) = std::move(value);
    return absl::OkStatus();
  }
  const std::vector<Tensor>& results() const { return results_; }

 private:
  const std::vector<Tensor> args_;
  std::vector<Tensor> results_;
};

// A device, a registry with plain kernels and those of state, a rendezvous, and the executor of one graph, by the
// dataflow driver unless a test says otherwise.
//
//   ExecutorHarness harness;
//   ASSERT_OK(harness.Build(b));
//   EXPECT_OK(harness.Run());
//
// Not thread-safe.
class ExecutorHarness {
 public:
  ExecutorHarness();

  KernelRegistry& registry() { return registry_; }
  CpuDevice& device() { return device_; }
  EdgeTable& edges() { return edges_; }
  LocalRendezvous& rendezvous() { return *rendezvous_; }
  // A new rendezvous for the next run.
  void NewRendezvous() { rendezvous_ = MakeCounted<LocalRendezvous>(edges_); }
  // The default arguments of runs.
  Executor::Args args();

  absl::Status Build(Graph graph, absl::string_view kind = "", Driver driver = Driver::kDataflow);
  const Executor& executor() const { return *executor_; }
  absl::Status Run() { return executor_->Run(args()); }

  // Sends and receives under the name that Send and Recv nodes of the graph have.
  absl::Status Send(const std::string& name, Tensor value, bool is_dead = false);
  absl::StatusOr<RendezvousValue> Recv(const std::string& name);
  // The attrs of a Send or Recv node of that name.
  static std::vector<std::pair<std::string, AttrValue>> TransferAttrs(const std::string& name);

 private:
  RendezvousKey Key(const std::string& name);

  KernelRegistry registry_;
  CpuDevice device_;
  EdgeTable edges_;
  CountedPtr<LocalRendezvous> rendezvous_ = MakeCounted<LocalRendezvous>(edges_);
  std::unique_ptr<Executor> executor_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_EXECUTOR_HARNESS_H_
