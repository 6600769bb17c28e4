#include "tools/cli/check_command.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "executor/saved_model/saved_model.h"
#include "graph/base/status_macros.h"
#include "kernels/families/register_all.h"
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
  }

  int Run(Console& console) override {
    const absl::StatusOr<LoadedGraph> model = Load(console);
    const CheckReport report = CheckModel(model_.path(), model, BuiltinKernels());
    console.Write(json_ ? RenderCheckJson(report) : RenderCheckText(report, console.out()));
    return (graph_only_ ? report.graph_ok() : report.runnable()) ? kExitOk : kExitFailed;
  }

 private:
  // Of a SavedModel directory the variables are opened too: the model cannot run without them.
  absl::StatusOr<LoadedGraph> Load(Console& console) const {
    std::error_code ignored;
    LoadOptions options = model_.Options();
    options.check_runnable = true;
    if (!std::filesystem::is_directory(model_.path(), ignored)) return model_.Load(console, options);
    SLUICE_ASSIGN_OR_RETURN(SavedModel model, LoadSavedModel(model_.path(), options));
    return std::move(model.loaded);
  }

  ModelArgument model_;
  bool graph_only_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() { return std::make_unique<CheckCommand>(); }

}  // namespace sluice
