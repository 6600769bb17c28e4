#ifndef SLUICE_TOOLS_CLI_RUN_RUN_ADVICE_H_
#define SLUICE_TOOLS_CLI_RUN_RUN_ADVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/load/load_graph.h"
#include "tools/cli/run/model_session.h"
#include "tools/cli/run/run_request.h"

namespace sluice {

// Advises users about `status`, the error of a run of `model`, in lines to show after it: a feed for each placeholder
// without one; the model's inputs for a wrong feed, its outputs for a wrong fetch; how variables get values; what to
// feed instead of an op without a kernel. Often empty.
std::vector<std::string> AdviceLines(const LoadedGraph& model, const RunRequest& request,
                                     const ModelSessionOptions& options, const absl::Status& status);

// The exit status of a run that failed with `status`: values that cannot be read are wrong use.
int ExitStatusOf(const absl::Status& status);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_RUN_ADVICE_H_
