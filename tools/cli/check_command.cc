#include "tools/cli/check_command.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "executor/saved_model/saved_model.h"
#include "graph/base/error.h"
#include "tools/cli/check/check_report.h"
#include "tools/cli/model_argument.h"

namespace sluice {
namespace {

// `sluice check`: what is wrong with a model and what it lacks. Lives for one run, on one thread.
class CheckCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app);
    app.add_flag("--graph-only", graph_only_, "the exit status says whether the graph is sound, not whether it can run")
        ->group("Output");
    app.add_flag("--json", json_, "one JSON document")->group("Output");
    app.add_flag("--all", all_, "list each error; without it those of one cause are shown once, with their places")
        ->group("Output");
  }

  int Run(Console& console) override {
    if (const absl::Status plugins = model_.LoadPlugins(); !plugins.ok()) {
      console.Problem(plugins);
      return kExitFailed;
    }
    LoadOptions options = model_.Options();
    options.check_runnable = true;
    const absl::StatusOr<LoadedGraph> model = model_.Load(console, options);
    if (!model.ok() && IsUnread(model.status())) {
      console.Problem(model.status());
      return kExitFailed;
    }
    CheckReport report = CheckModel(model_.path(), model, model_.kernels(), options.limits);
    // The graph is as sound without its variables, but cannot run.
    if (model.ok() && IsDirectory(model_.path())) report.checkpoint = OpenVariables(model_.path()).status();
    console.Write(json_ ? RenderCheckJson(report, all_) : RenderCheckText(report, console.out(), all_));
    return (graph_only_ ? report.graph_ok() : report.runnable()) ? kExitOk : kExitFailed;
  }

 private:
  // Whether no byte of the model was read, so that the error says nothing about a graph.
  static bool IsUnread(const absl::Status& error) {
    const ErrorCode code = ErrorInfoOf(error).value_or(ErrorInfo()).code;
    return code == ErrorCode::kFileMissing || code == ErrorCode::kFileRead || code == ErrorCode::kSavedModelMissing ||
           code == ErrorCode::kLimitFileSize;
  }

  static bool IsDirectory(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored);
  }

  ModelArgument model_;
  bool graph_only_ = false;
  bool json_ = false;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() { return std::make_unique<CheckCommand>(); }

}  // namespace sluice
