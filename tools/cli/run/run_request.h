#ifndef SLUICE_TOOLS_CLI_RUN_RUN_REQUEST_H_
#define SLUICE_TOOLS_CLI_RUN_RUN_REQUEST_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "graph/load/load_graph.h"
#include "graph/passes/feed_fetch.h"
#include "graph/value/tensor.h"

namespace sluice {

// The feeds and fetches of the command line. Lives in its command.
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
  std::vector<std::string> labels;  // The user's name for each fetch.
  bool is_guess = false;            // The fetches are the model's, not the user's.
};

// Finds the tensors that `request` names and reads the values. Names are those of nodes, or of the arguments and
// results of the given signature; without one also those of serving_default that no node has. Without fetches and
// targets: all results of the signature, else the outputs that `sluice show` lists.
// Errors, all at once: kValueSyntax and others of values, kFeedUnknown, kFeedType, kFeedShape and kFetchUnknown, in the
// user's names; kSavedModelSignatureUnknown; kNothingToRun, listing what could be run. Preparing the run finds others.
absl::StatusOr<ResolvedRun> ResolveRun(const LoadedGraph& model, const RunRequest& request, const LoadLimits& limits);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_RUN_REQUEST_H_
