#ifndef SLUICE_TESTS_KERNELS_ROW_TRIAL_H_
#define SLUICE_TESTS_KERNELS_ROW_TRIAL_H_

// Random calls of the kernel of a row of the registry, and whether the ways to make one call agree.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_schema.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_registry.h"
#include "kernels/memory/tracking_allocator.h"
#include "kernels/resources/variable.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/image_inputs.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/plausible_inputs.h"

namespace sluice {

// A row with dtypes chosen for its type attrs, and the other attrs of its op.
struct CallCase {
  std::string op;
  PreparedKernel::Attrs attrs;
  std::vector<DType> inputs;            // References as RefType.
  DType resource_type = DType::kFloat;  // Of variables behind handles.
  std::vector<InputRole> roles;         // Of ops that update a variable; else empty.
  std::vector<Shape> shapes;            // Of inputs that would hardly ever meet by chance. Empty: none.

  std::string Name() const;  // "AddV2 float32 float32".
};

// The cases of a row: each dtype that it takes for its first type attr, the others in turn.
std::vector<CallCase> CasesOf(const KernelRow& row, const OpSchema& schema);

// The inputs of one call, copied from those of a trial.
struct GivenInputs {
  std::vector<KernelInput> inputs;
  std::vector<CountedPtr<VariableResource>> variables;  // That references and handles among the inputs stand for.
  std::set<const void*> places;                         // Where the elements of the others are.
};

// Each of `inputs` as its dtype in the case says: a value, or a variable of that value.
GivenInputs GiveInputs(const CallCase& row_case, const std::vector<Tensor>& inputs);

// What the trials of one case came to.
struct TrialCounts {
  int ok = 0;
  int failed = 0;     // The kernel refused the inputs.
  int in_place = 0;   // A result lies where an input was.
  int in_shards = 0;  // The work was cut into several shards.
};

// Calls the kernel of a case with random inputs, each time in all ways: inputs copied or handed over, one shard or
// many, deterministic with any number of threads. Whether inputs are handed over makes no difference to the bits, nor
// does the number of threads where the run is deterministic. Not thread-safe.
class RowTrial {
 public:
  // What one way came to: a status, or outputs and what variables hold afterwards.
  struct Outcome {
    absl::Status status;
    std::shared_ptr<TrackingAllocator> allocator;  // Outlives the values, and what they are handles of.
    std::vector<Tensor> values;
  };

  // `kernel` is that of `row_case`; both are borrowed.
  RowTrial(const CallCase& row_case, const PreparedKernel& kernel, uint32_t seed)
      : case_(row_case), kernel_(kernel), inputs_(seed), images_(seed), random_(seed) {}

  // One set of inputs, around tensors of many elements where `is_large`. The difference, or nothing where all agree.
  std::string Run(bool is_large);
  const TrialCounts& counts() const { return counts_; }

 private:
  struct Way {
    const char* name;
    int group;  // Ways of one group give the same bits; those of others come close, and are equal but for roundings.
    bool movable;
    int num_threads;  // 0: without a task runner.
    bool deterministic;
  };

  Outcome RunOnce(const std::vector<Tensor>& inputs, const Way& way);

  const CallCase& case_;
  const PreparedKernel& kernel_;
  PlausibleInputs inputs_;
  ImageInputs images_;
  FuzzRandom random_;
  TrialCounts counts_;
  int num_runs_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_ROW_TRIAL_H_
