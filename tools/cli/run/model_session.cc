#include "tools/cli/run/model_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/model_state.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/tensor_id.h"
#include "graph/passes/endpoint_resolver.h"
#include "tools/cli/report/absent_devices.h"
#include "tools/cli/run/functions_option.h"
#include "tools/cli/run/initial_values.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

// Longer paths are cut in messages.
constexpr size_t kMaxPathBytes = 1000;

// Names the first init that gives initial values to variables that a checkpoint would restore; empty if there is none.
// The model's own init runs before its variables are restored, so it counts only if they are not.
std::string InitThatUntrains(const LoadedGraph& model, const ModelSessionOptions& options,
                             absl::Span<const std::string> targets, bool is_restored) {
  const InitialValues initial(model);
  for (const std::string& node : options.init) {
    if (initial.SetBy(node)) return absl::StrCat("--init '", PrintableName(node), "'");
  }
  for (const std::string& node : targets) {
    if (initial.SetBy(node)) return absl::StrCat("--target '", PrintableName(node), "'");
  }
  if (is_restored) return "";
  for (const std::string& node : model.meta.init_ops) {
    if (initial.SetBy(node)) return absl::StrCat("the model's own init '", PrintableName(node), "'");
  }
  return "";
}

}  // namespace

void ModelSessionOptions::Declare(CLI::App& app) {
  app.add_option("--init", init, "nodes to run once before the first step, in this order")
      ->delimiter(',')
      ->transform(WithoutBlanks())
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group("State");
  app.add_flag("--untrained", untrained, "run a trained model with the initial values that its init gives")
      ->group("State");
  app.add_option("--restore", restore,
                 "read the variables from this checkpoint, or from the newest of a directory, before the first step")
      ->check(NotEmpty())
      ->option_text("PREFIX")
      ->group("State");
  app.add_option("--threads", threads, "threads, this one included; 0: one per processor")
      ->check(CLI::Range(0, 1024))
      ->option_text("N [0]")
      ->group("How to run");
  app.add_flag("--deterministic", deterministic, "the same bits for any number of threads")->group("How to run");
  app.add_flag("--no-files", no_files, "ops that read or write files fail: for models of others")->group("State");
  DeclareFunctions(app, &functions);
  app.add_flag("--no-fold", no_fold, "compute what depends on constants alone in every run, not once ahead")
      ->group("How to run");
  app.add_flag("--no-cse", no_cse, "compute equal nodes each, not once for all")->group("How to run");
  app.add_flag("--no-fuse", no_fuse, "keep biases, norms and activations apart from the products before them")
      ->group("How to run");
  app.add_flag("--no-drop", no_drop, "also compute values that nothing reads and others only wait for")
      ->group("How to run");
}

absl::StatusOr<bool> CheckState(const LoadedGraph& model, const ModelSessionOptions& options,
                                absl::Span<const std::string> targets, bool answers, Console& console) {
  ErrorCollector errors;
  for (const std::string& node : options.init) {
    if (model.graph.Contains(model.graph.Find(ParseTensorId(node).node))) continue;
    errors.Add(UnknownEndpoint(model.graph, ErrorCode::kTargetUnknown, "--init", node));
  }
  SLUICE_RETURN_IF_ERROR(errors.Finish());
  const std::string trained = options.restore.empty() ? TrainedValuesPrefix(model) : options.restore;
  if (trained.empty() && !HasSaver(model)) return false;
  const std::string init = InitThatUntrains(model, options, targets, !trained.empty());
  if (init.empty()) return false;
  if (trained.empty()) {
    if (answers) {
      console.Warn(absl::StrCat("these are the answers of an untrained model: ", init,
                                " gives its variables initial values, and no checkpoint was read"));
    }
    return true;
  }
  if (!options.untrained) {
    return Error(ErrorCode::kCannotRun)
        .Help(
            "leave it out: the trained values are read without it; or add --untrained, if initial values are what you "
            "want")
        .Text(absl::StrCat(init, " gives the model's variables initial values instead of the trained ones in '",
                           PrintableName(trained, kMaxPathBytes),
                           "', which it would replace: the answers would be those of an untrained model"));
  }
  console.WarnAlways(absl::StrCat("these are the answers of an untrained model: ", init,
                                  " gives its variables initial values, and the trained ones in '",
                                  PrintableName(trained, kMaxPathBytes), "' are not used"));
  return true;
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(const std::shared_ptr<const LoadedGraph>& model,
                                                     const ModelSessionOptions& options,
                                                     const KernelRegistry& kernels) {
  SessionOptions session;
  session.kernels = &kernels;
  session.limits = options.limits;
  session.num_threads = options.threads;
  session.deterministic = options.deterministic;
  session.function_calls = options.functions;
  session.allow_soft_placement = true;
  session.allow_other_task = true;
  if (!options.no_files) session.files = FileAccess::All();
  session.simplify.fold_constants = !options.no_fold;
  session.simplify.join_equal_nodes = !options.no_cse;
  session.simplify.fuse_layers = !options.no_fuse;
  session.simplify.drop_unread_values = !options.no_drop;
  return Session::Create(session, std::shared_ptr<const Graph>(model, &model->graph));
}

absl::Status InitialiseSession(Session& session, const LoadedGraph& model, const ModelSessionOptions& options,
                               const CallOptions& call) {
  const std::string own = options.untrained ? "" : TrainedValuesPrefix(model);
  const std::string trained = options.restore.empty() ? own : options.restore;
  if (!trained.empty()) SLUICE_RETURN_IF_ERROR(RestoreVariables(session, model, trained, call));
  SLUICE_RETURN_IF_ERROR(RunModelInit(session, model, call));
  for (const std::string& node : options.init) SLUICE_RETURN_IF_ERROR(session.Run({}, {}, {node}, call).status());
  return absl::OkStatus();
}

int NumThreads(Session& session) {
  const ThreadPool* const pool = session.core().pool();
  return pool == nullptr ? 1 : pool->num_threads();
}

void NotePlacement(const LoadedGraph& model, const Callable& callable, Console& console) {
  AbsentDevices absent;
  for (const NodeId id : callable.graph().Nodes()) {
    const NodeId original = model.graph.Find(callable.graph().name(id));
    if (!model.graph.Contains(original)) continue;
    if (!IsAbsentDevice(model.graph.device(original))) continue;
    absent.Add(model.graph.name(original), model.graph.device(original));
  }
  if (absent.num_nodes > 0) console.Note(absent.Note());
}

}  // namespace sluice
