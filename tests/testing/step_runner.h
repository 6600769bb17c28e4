#ifndef SLUICE_TESTS_TESTING_STEP_RUNNER_H_
#define SLUICE_TESTS_TESTING_STEP_RUNNER_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/builder.h"
#include "kernels/kernel_registry.h"
#include "kernels/run_context.h"

namespace sluice {

class Device;

// Runs a graph without loops step by step, without an executor: all ancestors of what is fetched, in the order in
// which they were added, one after the other. Kernels and the device's state live as long as the runner, the step
// container as long as a step. Errors are those that a session would give. Knows the kernels of constants, state and
// transfers only, so that a test of these needs no others.
//
//   GraphBuilder b(NewOpRegistry());
//   const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
//   StepRunner steps(b);
//   ASSERT_OK(steps.Run({b.Op(...)}));
class StepRunner {
 public:
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  StepRunner();
  ~StepRunner();

  GraphBuilder& graph() { return builder_; }
  // What kernels may use; set before the first step. Members that are null get this runner's value, except rendezvous,
  // session state and tensor store.
  RunContext& run() { return run_; }
  Device& device() { return *device_; }

  // One step. A fetch of a control output is a target: no tensor comes for it.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Output>& fetches, const Feeds& feeds = {});
  absl::StatusOr<Tensor> Run1(Output fetch, const Feeds& feeds = {});
  // What `node` left on output `index` in the last step was dead.
  bool WasDead(Output output) const;

 private:
  struct Step;

  absl::StatusOr<const Kernel*> KernelOf(NodeId id);
  absl::Status RunNode(NodeId id, Step& step);
  absl::StatusOr<Tensor> Fetch(Output output, Step& step);

  GraphBuilder builder_;
  KernelRegistry registry_;
  RunContext run_;
  std::shared_ptr<Device> device_;
  std::map<NodeId, std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<Step> last_;
  int64_t steps_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_STEP_RUNNER_H_
