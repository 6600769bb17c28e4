#ifndef SLUICE_TOOLS_CLI_RUN_MODEL_SESSION_H_
#define SLUICE_TOOLS_CLI_RUN_MODEL_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session/session.h"
#include "graph/base/limits.h"
#include "graph/functions/call_choice.h"
#include "graph/load/load_graph.h"
#include "tools/cli/console/console.h"

namespace sluice {

// The options of `run` and `bench` for running a model. Lives in its command.
struct ModelSessionOptions {
  int threads = 0;
  bool deterministic = false;
  CallPolicy functions = CallPolicy::kByCost;
  bool no_fold = false;  // Constants are computed in every run.
  bool no_cse = false;   // Equal nodes are all computed.
  bool no_fuse = false;  // Bias and activation after a product stay nodes of their own.
  bool no_drop = false;  // Nodes that others only wait for run, too.
  std::string restore;
  std::vector<std::string> init;
  bool untrained = false;
  bool no_files = false;  // Grants no files; else all that the caller can reach: Note [Files are granted].
  LoadLimits limits;      // Not of the group: those that the model was loaded with.

  // Declares --threads, --deterministic, --functions, --no-fold, --no-cse, --no-drop, --no-fuse, --init, --untrained,
  // --restore and --no-files.
  void Declare(CLI::App& app);
};

// Checks the options against the model: kTargetUnknown for an --init that is not a node; kCannotRun, without
// --untrained, if --init, `targets` or the model's init would give a trained model initial values. Returns whether the
// model will answer as untrained; with `answers`, warns about that on the console (a training starts so).
absl::StatusOr<bool> CheckState(const LoadedGraph& model, const ModelSessionOptions& options,
                                absl::Span<const std::string> targets, bool answers, Console& console);

// A session for `model`, whose graph it shares, on one CPU device, with soft placement. Nothing has run yet. `kernels`
// must outlive it.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(const std::shared_ptr<const LoadedGraph>& model,
                                                     const ModelSessionOptions& options, const KernelRegistry& kernels);

// Gives variables their values from --restore, else, without --untrained, from the SavedModel; then runs the
// SavedModel's init, then --init, each node in a run of its own.
absl::Status InitialiseSession(Session& session, const LoadedGraph& model, const ModelSessionOptions& options,
                               const CallOptions& call);

// How many threads the session's runs use.
int NumThreads(Session& session);

// Notes on standard error which of the nodes that run request a missing device.
void NotePlacement(const LoadedGraph& model, const Callable& callable, Console& console);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_MODEL_SESSION_H_
