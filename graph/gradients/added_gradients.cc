#include "graph/gradients/added_gradients.h"

#include <utility>

#include "graph/gradients/gradient_table.h"
#include "graph/ir/added_functions.h"

namespace sluice {

absl::Status AddGradientFunction(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op,
                                 AddedGradient function) {
  return AddedFunctions<AddedGradient>::Get().Add(ops, op, std::move(function), "gradient",
                                                  FindGradientRow(op) != nullptr);
}

bool HasGradientFunction(const OpRegistry* ops, absl::string_view op) {
  return FindGradientRow(op) != nullptr || FindAddedGradient(ops, op) != nullptr;
}

std::shared_ptr<const AddedGradient> FindAddedGradient(const OpRegistry* ops, absl::string_view op) {
  return AddedFunctions<AddedGradient>::Get().Find(ops, op);
}

}  // namespace sluice
