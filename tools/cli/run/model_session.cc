#include "tools/cli/run/model_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/device_name.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/run/checkpoint_step.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {

void ModelSessionOptions::Declare(CLI::App& app) {
  app.add_option("--init", init, "nodes to run once before the first step, in this order")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group("State");
  app.add_option("--restore", restore, "read the variables from this checkpoint before the first step")
      ->check(NotEmpty())
      ->option_text("PREFIX")
      ->group("State");
  app.add_option("--threads", threads, "threads, this one included; 0: one per processor")
      ->check(CLI::Range(0, 1024))
      ->option_text("N [0]")
      ->group("How to run");
  app.add_flag("--deterministic", deterministic, "the same bits for any number of threads")->group("How to run");
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(const LoadedGraph& model, const ModelSessionOptions& options) {
  SessionOptions session;
  session.num_threads = options.threads;
  session.deterministic = options.deterministic;
  session.allow_soft_placement = true;
  return Session::Create(session, model.graph);
}

absl::Status InitialiseSession(Session& session, const LoadedGraph& model, const ModelSessionOptions& options,
                               const CallOptions& call, Console& console) {
  if (!options.restore.empty()) {
    SLUICE_RETURN_IF_ERROR(RestoreVariables(session, model, options.restore, call));
  } else if (const std::string prefix = SavedVariablesPrefix(model); !prefix.empty()) {
    if (CanRestore()) {
      SLUICE_RETURN_IF_ERROR(RestoreVariables(session, model, prefix, call));
    } else {
      console.Warn("the model's variables have no values: this build has no checkpoint kernels");
    }
  }
  SLUICE_RETURN_IF_ERROR(RunModelInit(session, model, call));
  for (const std::string& node : options.init) SLUICE_RETURN_IF_ERROR(session.Run({}, {}, {node}, call).status());
  return absl::OkStatus();
}

int NumThreads(Session& session) {
  const ThreadPool* const pool = session.core().pool();
  return pool == nullptr ? 1 : pool->num_threads();
}

void NotePlacement(const LoadedGraph& model, const Callable& callable, const DeviceList& devices, Console& console) {
  int64_t count = 0;
  std::string first;
  for (const NodeId id : callable.graph().Nodes()) {
    const NodeId original = model.graph.Find(callable.graph().name(id));
    if (!model.graph.Contains(original)) continue;
    DeviceName wanted;
    if (!ParseDeviceName(model.graph.device(original), &wanted)) continue;
    const absl::Span<const DeviceEntry> here = devices.devices();
    const bool is_here = std::any_of(here.begin(), here.end(), [&wanted](const DeviceEntry& device) {
      return MatchesDevice(wanted, device.parsed);
    });
    if (is_here) continue;
    if (count++ == 0) {
      first = absl::StrCat("'", PrintableName(model.graph.name(original)), "' wants ", model.graph.device(original));
    }
  }
  if (count == 0) return;
  console.Note(absl::StrCat(CountOf(count, "node"), count == 1 ? " asks" : " ask", " for a device that is not here (",
                            first, "); ", devices.client().name, " runs ", count == 1 ? "it" : "them"));
}

}  // namespace sluice
