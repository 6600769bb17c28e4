#include "graph/passes/pass.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// In builds with assertions: that `pass` left a sound graph.
absl::Status CheckAfter(const Pass& pass, const GraphEditor& edit) {
#ifdef NDEBUG
  (void)pass, (void)edit;
  return absl::OkStatus();
#else
  const absl::Status status = edit.Validate();
  if (status.ok()) return status;
  return Error(ErrorCode::kInternal)
      .Text(absl::StrCat("pass '", pass.name(), "' leaves a graph that is not sound: ", status.message()));
#endif
}

}  // namespace

absl::Status RunPasses(absl::Span<const std::unique_ptr<const Pass>> passes, int max_rounds, const PassContext& context,
                       GraphEditor& edit, std::vector<PassReport>* reports) {
  const Graph& graph = edit.graph();
  for (int round = 0; round < max_rounds; ++round) {
    int64_t changes = 0;
    for (const std::unique_ptr<const Pass>& pass : passes) {
      PassReport report;
      report.name = std::string(pass->name());
      report.nodes_before = static_cast<int64_t>(graph.num_nodes());
      SLUICE_ASSIGN_OR_RETURN(report.changes, pass->Run(edit, context));
      if (context.validates) SLUICE_RETURN_IF_ERROR(CheckAfter(*pass, edit));
      report.nodes_after = static_cast<int64_t>(graph.num_nodes());
      changes += report.changes;
      if (reports != nullptr) reports->push_back(std::move(report));
    }
    if (changes == 0) break;
  }
  return absl::OkStatus();
}

absl::Status RunPasses(absl::Span<const std::unique_ptr<const Pass>> passes, int max_rounds, const PassContext& context,
                       Graph& graph, std::vector<PassReport>* reports) {
  GraphEditor edit(graph);
  edit.SetInference(context.inference);
  return RunPasses(passes, max_rounds, context, edit, reports);
}

}  // namespace sluice
