// Runs the node of an op in a backward pass: takes its saved values and calls the steps of its gradient.

#include <utility>

#include "executor/tape/backward_pass.h"
#include "executor/tape/grad_check.h"
#include "executor/tape/saved_values.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

SlotSet SlotsOf(absl::Span<const TapeValue> grads) {
  SlotSet slots;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].is_set()) slots.Add(i);
  }
  return slots;
}

}  // namespace

absl::Status BackwardPass::EvaluateOp(size_t i, absl::Span<TapeValue> grads, std::vector<TapeValue>* input_grads) {
  TapeNode& node = *plan_.items()[i].node;
  std::vector<TapeValue> values;
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const GradientTemplate> gradient,
                          GradientOfNode(core_.ops(), node, SlotsOf(grads)));
  SLUICE_RETURN_IF_ERROR(TakeSaved(node, *gradient, options_.keeps_graph, &values));
  if (options_.creates_graph) ForgetFrozen(absl::MakeSpan(values));
  for (const uint32_t slot : gradient->dys()) {
    // Outputs from 63 on share a bit: some may have no gradient.
    if (!grads[slot].is_set()) {
      SLUICE_ASSIGN_OR_RETURN(grads[slot].value, FilledGrad(node.outputs[slot], 0));
    }
    values.push_back(std::move(grads[slot]));
  }
  const SlotSet wants = WantsOf(i);
  return options_.creates_graph ? RecordSteps(*gradient, absl::MakeSpan(values), wants, input_grads)
                                : RunSteps(*gradient, absl::MakeSpan(values), wants, input_grads);
}

absl::Status BackwardPass::RunSteps(const GradientTemplate& gradient, absl::Span<TapeValue> values, SlotSet wants,
                                    std::vector<TapeValue>* input_grads) {
  if (num_entries_ < gradient.num_values()) {
    num_entries_ = gradient.num_values() + 16;
    entries_ = std::make_unique<Entry[]>(num_entries_);
  }
  Entry* const entries = entries_.get();
  for (size_t k = 0; k < values.size(); ++k) entries[k].SetValue(std::move(values[k].value));
  const absl::Status status = gradient.Run(run_, entries, wants);
  for (size_t e = 0; status.ok() && e < input_grads->size(); ++e) {
    if (!wants.Has(e) || !gradient.has_dx(e)) continue;
    const Operand dx = gradient.dx(e);
    (*input_grads)[e].value = dx.table() == Operand::Table::kConstants ? gradient.constants()[dx.index()].value()
                                                                       : entries[dx.index()].value();
  }
  for (size_t k = 0; k < gradient.num_values(); ++k) entries[k].Clear();
  return status;
}

absl::Status BackwardPass::RecordSteps(const GradientTemplate& gradient, absl::Span<TapeValue> values, SlotSet wants,
                                       std::vector<TapeValue>* input_grads) {
  std::vector<TapeValue> all(gradient.num_values());
  for (size_t k = 0; k < values.size(); ++k) all[k] = std::move(values[k]);
  const auto input_of = [&](Operand operand) {
    if (operand.table() == Operand::Table::kConstants) return OpInput{&gradient.constants()[operand.index()].value()};
    return OpInput::Of(all[operand.index()]);
  };
  for (const GradientTemplate::Step& step : gradient.steps()) {
    if (!step.serves.Meets(wants)) continue;
    std::vector<OpInput> inputs;
    for (uint32_t k = 0; k < step.io.num_inputs; ++k) inputs.push_back(input_of(step.io.input(k)));
    std::vector<TapeValue> outputs(step.io.num_outputs);
    SLUICE_RETURN_IF_ERROR(CallOp(core_, step.op, inputs, absl::MakeSpan(outputs)));
    for (uint32_t k = 0; k < step.io.num_outputs; ++k) all[step.io.output(k).index()] = std::move(outputs[k]);
  }
  for (size_t e = 0; e < input_grads->size(); ++e) {
    if (!wants.Has(e) || !gradient.has_dx(e)) continue;
    const OpInput dx = input_of(gradient.dx(e));
    (*input_grads)[e] = {*dx.value, dx.history == nullptr ? TapeEdge() : *dx.history};
  }
  return absl::OkStatus();
}

}  // namespace sluice
