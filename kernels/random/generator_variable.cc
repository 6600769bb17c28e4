#include "kernels/random/generator_variable.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/resources/variable.h"
#include "kernels/state/cell_ops.h"
#include "kernels/state/handles.h"

namespace sluice {
namespace {

absl::Status CheckState(const Tensor& state) {
  const bool fits = state.dtype() == DType::kInt64 && state.rank() == 1 && state.num_elements() >= kGeneratorState;
  if (fits) return absl::OkStatus();
  return Error(ErrorCode::kResourceType)
      .Input(0, "resource")
      .Found(absl::StrCat("a variable of ", DTypeName(state.dtype()), " ", state.shape().ToString()))
      .Expected("the state of a generator: a vector of three or more int64");
}

absl::StatusOr<RandomAlgorithm> ReadAlgorithm(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t number, ReadScalar(context, input, name));
  return static_cast<RandomAlgorithm>(number);
}

absl::Status BadAlgorithm(int input, absl::string_view name, RandomAlgorithm found, absl::string_view expected) {
  return ValueError(input, name, absl::StrCat("algorithm ", static_cast<int64_t>(found)), expected);
}

}  // namespace

absl::Status CheckAlgorithm(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const RandomAlgorithm algorithm, ReadAlgorithm(context, input, name));
  switch (algorithm) {
    case RandomAlgorithm::kPhilox:
    case RandomAlgorithm::kAutoSelect:
      return absl::OkStatus();
    case RandomAlgorithm::kThreeFry:
      return Error(ErrorCode::kOpUnimplemented)
          .Input(input, name)
          .Found("2 (ThreeFry)")
          .Expected("1 (Philox), or 3 (chosen by the device)");
  }
  return BadAlgorithm(input, name, algorithm, "1 (Philox), or 3 (chosen by the device)");
}

absl::Status CheckPhilox(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const RandomAlgorithm algorithm, ReadAlgorithm(context, input, name));
  if (algorithm == RandomAlgorithm::kPhilox) return absl::OkStatus();
  return BadAlgorithm(input, name, algorithm, "1 (Philox)");
}

absl::StatusOr<Philox> TakeFromVariable(const KernelContext& context, uint64_t blocks) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupInput<Variable>(context, 0));
  Philox taken(0, 0);
  const auto advance = [&taken, blocks](Tensor& state) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckState(state));
    int64_t* const words = state.flat<int64_t>().data();
    taken = Philox(static_cast<uint64_t>(words[2]), static_cast<uint64_t>(words[0]), static_cast<uint64_t>(words[1]));
    Philox next = taken;
    next.Skip(blocks);
    words[0] = static_cast<int64_t>(next.low());
    words[1] = static_cast<int64_t>(next.high());
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(ChangeValue(variable->cell(), context.allocator(), VariableReadMode::kSnapshot, advance));
  return taken;
}

}  // namespace sluice
