#ifndef SLUICE_TESTS_TESTING_KERNEL_RUNNER_H_
#define SLUICE_TESTS_TESTING_KERNEL_RUNNER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/attr.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_registry.h"
#include "kernels/run_context.h"

namespace sluice {

// Runs one op of the built-in kernels without an executor: makes a graph of it with a placeholder for each input,
// creates the kernel and calls it. Errors are those that a run of the node 'op' would give.
//
//   EXPECT_OK_AND_EQ(KernelRunner("AddV2").Attr("T", DType::kFloat).Run({a, b}), ...);
class KernelRunner {
 public:
  explicit KernelRunner(std::string op) : op_(std::move(op)) {}

  // Type attrs that follow from the inputs need not be given.
  KernelRunner& Attr(std::string name, AttrValue value) {
    attrs_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  // What the kernel may use; device and resources are set to those of this runner where null.
  RunContext& run() { return run_; }
  Device& device() { return *device_; }
  // Inputs are handed over: with `movable` the kernel is their last reader and may work in place.
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> inputs, bool movable = false);
  // The only output.
  absl::StatusOr<Tensor> Run1(std::vector<Tensor> inputs, bool movable = false);

 private:
  const std::string op_;
  std::vector<std::pair<std::string, AttrValue>> attrs_;
  RunContext run_;
  std::shared_ptr<Device> device_ = MakeDevice();
  static std::shared_ptr<Device> MakeDevice();
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_KERNEL_RUNNER_H_
