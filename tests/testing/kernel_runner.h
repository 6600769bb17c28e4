#ifndef SLUICE_TESTS_TESTING_KERNEL_RUNNER_H_
#define SLUICE_TESTS_TESTING_KERNEL_RUNNER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/value/ref_cell.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_registry.h"
#include "kernels/run_context.h"

namespace sluice {

// One input of a call: a value, or the variable that an input of a reference type refers to.
struct KernelInput {
  KernelInput(Tensor v) : value(std::move(v)) {}  // NOLINT(google-explicit-constructor)
  KernelInput(RefCell* cell) : ref(cell) {}       // NOLINT(google-explicit-constructor)

  Tensor value;
  RefCell* ref = nullptr;
};

// The kernel of one node 'op', made once and called any number of times without an executor.
class PreparedKernel {
 public:
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;

  // Makes a graph of the op with a source for each input and creates the built-in kernel. Type attrs that follow from
  // the inputs (references as RefType) need not be given.
  static absl::StatusOr<std::unique_ptr<PreparedKernel>> Make(const std::string& op, const Attrs& attrs,
                                                              absl::Span<const DType> inputs, Device* device);

  // Inputs are handed over: with `movable` the kernel is their last reader and may work in place. Errors are those that
  // a run of the node would give. What `run` lacks, the kernel does without.
  absl::StatusOr<std::vector<Tensor>> Run(const RunContext& run, std::vector<KernelInput> inputs, bool movable) const;

  const Graph& graph() const { return graph_; }
  NodeId node() const { return node_; }

 private:
  PreparedKernel(Graph graph, NodeId node) : graph_(std::move(graph)), node_(node) {}

  const Graph graph_;
  const NodeId node_;
  std::unique_ptr<Kernel> kernel_;
};

// Runs one op of the built-in kernels once: a PreparedKernel with a device and resources of its own.
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
  // The facilities of the kernel; device and resources are set to those of this runner where null.
  RunContext& run() { return run_; }
  Device& device() { return *device_; }
  // Inputs are handed over: with `movable` the kernel is their last reader and may work in place.
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> inputs, bool movable = false);
  // The only output.
  absl::StatusOr<Tensor> Run1(std::vector<Tensor> inputs, bool movable = false);

 private:
  const std::string op_;
  PreparedKernel::Attrs attrs_;
  RunContext run_;
  std::shared_ptr<Device> device_ = MakeDevice();
  static std::shared_ptr<Device> MakeDevice();
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_KERNEL_RUNNER_H_
