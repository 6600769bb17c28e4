#ifndef SLUICE_TOOLS_CLI_RUN_MODEL_SESSION_H_
#define SLUICE_TOOLS_CLI_RUN_MODEL_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"
#include "tools/cli/console/console.h"

namespace sluice {

// How `run` and `bench` run a model, as it stands on the command line. Lives in its command.
struct ModelSessionOptions {
  int threads = 0;
  bool deterministic = false;
  std::string restore;
  std::vector<std::string> init;

  // Declares --threads, --deterministic, --restore and --init.
  void Declare(CLI::App& app);
};

// A session for `model` on one CPU device, with soft placement. Nothing has run yet.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(const LoadedGraph& model, const ModelSessionOptions& options);

// Gives variables their values: from --restore, else from the SavedModel; then what a SavedModel has for init, then
// --init, each node in a run of its own. A SavedModel's variables that this build cannot read are a warning.
absl::Status InitialiseSession(Session& session, const LoadedGraph& model, const ModelSessionOptions& options,
                               const CallOptions& call, Console& console);

// How many threads the session's runs use.
int NumThreads(Session& session);

// Notes on standard error which of the nodes that run ask for a device that is not here.
void NotePlacement(const LoadedGraph& model, const Callable& callable, const DeviceList& devices, Console& console);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_MODEL_SESSION_H_
