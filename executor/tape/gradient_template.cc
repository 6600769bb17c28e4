#include "executor/tape/gradient_template.h"

#include "executor/threads/flush_denormals.h"

namespace sluice {
namespace {

const Tensor& ValueOf(const OpCall& call, uint32_t i) {
  return i < call.inputs.size() ? *call.inputs[i] : *call.outputs[i - call.inputs.size()];
}

bool HasElements(const Tensor& tensor, absl::Span<const int64_t> wanted) {
  if (tensor.num_elements() != static_cast<int64_t>(wanted.size())) return false;
  if (tensor.dtype() == DType::kInt64) {
    return std::equal(wanted.begin(), wanted.end(), tensor.flat<int64_t>().begin());
  }
  return tensor.dtype() == DType::kInt32 && std::equal(wanted.begin(), wanted.end(), tensor.flat<int32_t>().begin());
}

}  // namespace

bool GradientTemplate::Fact::Holds(const OpCall& call) const {
  const Tensor& value = ValueOf(call, of);
  switch (kind) {
    case Kind::kShape:
      return shape.IsCompatibleWith(value.shape());
    case Kind::kSameShape:
      return (value.shape() == ValueOf(call, other).shape()) == are_same;
    case Kind::kIntegers:
      // Unknown elements were not used.
      return !integers.has_value() || HasElements(value, *integers);
  }
  return false;
}

absl::Status GradientTemplate::Run(const RunContext& run, Entry* values, SlotSet wants) const {
  const FlushDenormals flush;
  EntryTables tables;
  tables.table[static_cast<size_t>(Operand::Table::kSlots)] = values;
  tables.table[static_cast<size_t>(Operand::Table::kConstants)] = constants_.get();
  KernelContext context(run, tables);
  for (const Step& step : steps_) {
    if (!step.serves.Meets(wants)) continue;
    const absl::Status status = step.op->RunIn(context, step.io);
    if (!status.ok()) return status;
    for (uint32_t i = 0; i < step.io.num_inputs; ++i) {
      const Operand input = step.io.input(i);
      if (input.is_last_use()) tables.at(input).Clear();
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice
