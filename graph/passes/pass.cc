#include "graph/passes/pass.h"

#include "graph/base/status_macros.h"

namespace sluice {

absl::Status RunPasses(absl::Span<const std::unique_ptr<const Pass>> passes, int max_rounds, Graph& graph,
                       std::vector<PassReport>* reports) {
  for (int round = 0; round < max_rounds; ++round) {
    int64_t changes = 0;
    for (const std::unique_ptr<const Pass>& pass : passes) {
      PassReport report;
      report.name = std::string(pass->name());
      report.nodes_before = static_cast<int64_t>(graph.num_nodes());
      SLUICE_ASSIGN_OR_RETURN(report.changes, pass->Run(graph));
      report.nodes_after = static_cast<int64_t>(graph.num_nodes());
      changes += report.changes;
      if (reports != nullptr) reports->push_back(std::move(report));
    }
    if (changes == 0) break;
  }
  return absl::OkStatus();
}

}  // namespace sluice
