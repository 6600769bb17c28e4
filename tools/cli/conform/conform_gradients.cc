#include "tools/cli/conform/conform_gradients.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"

namespace sluice {
namespace {

absl::StatusOr<std::vector<Output>> FindAll(const Graph& graph, const GradientNames& names,
                                            const std::vector<std::string>& wanted) {
  std::vector<Output> outputs;
  for (const std::string& name : wanted) {
    const auto of_gradient = names.find(name);
    const std::string& endpoint = of_gradient == names.end() ? name : of_gradient->second;
    if (endpoint.empty()) {
      return Error(ErrorCode::kFetchUnknown).Text(absl::StrCat("'", name, "' is a gradient that is not connected"));
    }
    SLUICE_ASSIGN_OR_RETURN(const Output output, graph.FindOutput(endpoint));
    outputs.push_back(output);
  }
  return outputs;
}

}  // namespace

absl::StatusOr<GradientNames> AddCaseGradients(Graph& graph, const std::vector<ConformGradients>& gradients,
                                               const std::vector<CustomGradient>& custom) {
  GradientNames names;
  for (const ConformGradients& wanted : gradients) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> ys, FindAll(graph, names, wanted.ys));
    SLUICE_ASSIGN_OR_RETURN(std::vector<Output> xs, FindAll(graph, names, wanted.xs));
    GradientOptions options;
    options.custom = custom;
    SLUICE_ASSIGN_OR_RETURN(options.grad_ys, FindAll(graph, names, wanted.grad_ys));
    SLUICE_ASSIGN_OR_RETURN(options.stop, FindAll(graph, names, wanted.stop));
    SLUICE_ASSIGN_OR_RETURN(const GradientResult found, AddGradients(graph, ys, xs, options));
    // Calls have other ids now.
    SLUICE_ASSIGN_OR_RETURN(xs, FindAll(graph, names, wanted.xs));
    for (size_t i = 0; i < found.xs.size(); ++i) {
      std::string& name = names[absl::StrCat(wanted.prefix, "/", i)];
      if (!found.xs[i].is_set()) continue;
      // A node of its own: the gradient may be a tensor that the case feeds.
      SLUICE_ASSIGN_OR_RETURN(const Output named,
                              NameGradient(graph, xs[i], found.xs[i], found.name, absl::StrCat(found.name, "/", i)));
      name = graph.OutputName(named);
    }
  }
  return names;
}

}  // namespace sluice
