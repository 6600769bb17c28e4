#ifndef SLUICE_TOOLS_CLI_RUN_RUN_REQUEST_H_
#define SLUICE_TOOLS_CLI_RUN_RUN_REQUEST_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/load/load_graph.h"
#include "graph/passes/feed_fetch.h"
#include "graph/value/tensor.h"

namespace sluice {

// What to feed and fetch, as it stands on the command line. Lives in its command.
struct RunRequest {
  std::vector<std::string> feeds;  // "NAME=VALUE".
  std::vector<std::string> fetches, targets;
  std::string signature;

  // Declares --feed, --fetch, --target and --signature.
  void Declare(CLI::App& app);
};

// The same in terms of one graph.
struct ResolvedRun {
  FeedFetchSpec spec;
  std::vector<Tensor> inputs;       // One per feed of the spec.
  std::vector<std::string> labels;  // What the user calls each fetch.
  bool is_guess = false;            // The fetches are the model's, not the user's.
};

// Finds the tensors that `request` names and reads the values. Names are those of nodes, or the arguments and results
// of the signature asked for; without one also those of serving_default where no node is called so. Without fetches and
// targets: all results of the signature, else the outputs that `sluice show` lists.
// Names that are not in the graph stay as they are: preparing the run tells what is near them.
// Errors: kValueSyntax and others of values, naming the feed; kSavedModelSignatureUnknown.
absl::StatusOr<ResolvedRun> ResolveRun(const LoadedGraph& model, const RunRequest& request, const LoadLimits& limits);

// What the user can add to the command line to get past `status`, as lines to show: feeds for placeholders that have
// none, and the model's init node where a variable has no value and `init` (--init) is empty. Mostly nothing.
std::vector<std::string> WayOutLines(const LoadedGraph& model, const RunRequest& request,
                                     absl::Span<const std::string> init, const absl::Status& status);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_RUN_REQUEST_H_
