#include "tools/cli/show_command.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "tools/cli/checkpoint/checkpoint_path.h"
#include "tools/cli/checkpoint/checkpoint_report.h"
#include "tools/cli/checkpoint/checkpoint_text.h"
#include "tools/cli/draw/drawing_title.h"
#include "tools/cli/draw/drawn_graph.h"
#include "tools/cli/draw/html_drawing.h"
#include "tools/cli/draw/svg_drawing.h"
#include "tools/cli/file_ending.h"
#include "tools/cli/model_argument.h"
#include "tools/cli/output_file.h"
#include "tools/cli/report/model_report.h"
#include "tools/cli/report/report_json.h"
#include "tools/cli/report/report_text.h"

namespace sluice {
namespace {

// `sluice show`: what is in a model, as text, JSON or a drawing. Lives for one run, on one thread.
class ShowCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app);
    app.get_option("MODEL")->description(
        "GraphDef, MetaGraphDef or SavedModel, binary or text; a SavedModel directory; - for standard input; or a "
        "checkpoint: its prefix, one of its files, or its directory");
    app.add_flag("--json", json_, "one JSON document with everything")->group("Output");
    app.add_option("--depth", depth_, "levels of name scopes to list")
        ->check(CLI::Range(0, 64))
        ->option_text("N [2]")
        ->group("Output");
    app.add_flag("--all", all_, "list everything instead of the first 20 of each")->group("Output");
    app.add_flag("--values", values_,
                 "of a checkpoint, or of a SavedModel's variables: smallest, largest and mean finite value, how many "
                 "are NaN or infinite, the first ones")
        ->group("Output");
    app.add_option("--svg", svg_, "also draw the graph into an SVG file")
        ->check(EndsIn({".svg"}, "an SVG drawing"))
        ->option_text("FILE")
        ->group("Drawing");
    app.add_option("--html", html_, "also draw it into an HTML page: open and close scopes, search, details")
        ->check(EndsIn({".html", ".htm"}, "an HTML page"))
        ->option_text("FILE")
        ->group("Drawing");
    app.add_option("--boxes", boxes_, "about how many boxes are seen, for the page at first")
        ->check(CLI::Range(1, 2000))
        ->option_text("N [120, page 40]")
        ->group("Drawing");
    for (const char* const name : {"--tags", "--depth", "--boxes"}) of_graphs_.push_back(app.get_option(name));
  }

  int Run(Console& console) override {
    if (const absl::Status begun = Begin(); !begun.ok()) {
      console.Problem(begun);
      return kExitFailed;
    }
    const absl::StatusOr<std::optional<std::string>> prefix = FindCheckpoint(model_.path(), values_);
    if (!prefix.ok()) {
      console.Problem(prefix.status());
      return kExitFailed;
    }
    if (prefix->has_value()) return ShowCheckpoint(console, **prefix);
    if (values_) {
      console.Problem(Error(ErrorCode::kCheckpointMissing)
                          .Help("give a checkpoint, or the directory of a SavedModel")
                          .Text(absl::StrCat("'", PrintableName(model_.path()), "' has no variables with values")));
      return kExitFailed;
    }
    LoadOptions load = model_.Options();
    load.keep_unsound = true;  // What cannot run can be looked at.
    load.shapes_of_calls = true;
    const absl::StatusOr<LoadedGraph> model = model_.Load(console, load);
    if (!model.ok()) {
      console.Problem(model.status());
      return kExitFailed;
    }
    if (!model->unsound.ok()) {
      WarnOf(console, model->unsound, "the graph is not sound and cannot run; it is shown as far as it is known:");
    }
    if (!model->deferred.ok()) {
      WarnOf(console, model->deferred, "parts of the graph are not sound; what does not need them runs:");
    }
    const ModelReport report = ReportModel(*model);
    if (json_) {
      console.Write(RenderReportJson(report));
    } else {
      ReportTextOptions options;
      options.scope_depth = depth_;
      if (all_) options.max_rows = options.max_line = 1'000'000'000;
      console.Write(RenderReportText(report, options, console.out()));
    }
    if (const absl::Status drawn = Draw(console, *model); !drawn.ok()) {
      console.Problem(drawn);
      return kExitFailed;
    }
    return kExitOk;
  }

 private:
  int ShowCheckpoint(Console& console, const std::string& prefix) const {
    if (!svg_.empty() || !html_.empty()) {
      console.Problem(Error(ErrorCode::kCannotRun)
                          .Help("draw the model that the checkpoint is of")
                          .Text(absl::StrCat("the checkpoint '", PrintableName(prefix), "' holds no graph to draw")));
      return kExitFailed;
    }
    for (const CLI::Option* const option : of_graphs_) {
      if (option->count() == 0) continue;
      console.Problem(Error(ErrorCode::kCannotRun)
                          .Text(absl::StrCat(option->get_name(), " means nothing for the checkpoint '",
                                             PrintableName(prefix), "', which holds no graph")));
      return kExitFailed;
    }
    if (values_) console.Progress("reading values …");
    CheckpointReportOptions options;
    options.with_values = values_;
    options.max_tensor_bytes = model_.Options().limits.max_tensor_bytes;
    options.max_file_bytes = model_.Options().limits.max_file_bytes;
    const absl::StatusOr<CheckpointReport> report = ReportCheckpoint(prefix, options);
    console.EndProgress();
    if (!report.ok()) {
      console.Problem(model_.Explained(report.status()));
      return kExitFailed;
    }
    const ReportTextOptions text;
    constexpr size_t kAll = 1'000'000'000;
    console.Write(json_ ? RenderCheckpointJson(*report)
                        : RenderCheckpointText(*report, all_ ? kAll : static_cast<size_t>(text.max_rows),
                                               all_ ? kAll : static_cast<size_t>(text.max_line), console.out()));
    if (report->errors.ok()) return kExitOk;
    console.Problem(model_.Explained(report->errors));
    return kExitFailed;
  }

  absl::Status Begin() {
    for (const std::string& path : {svg_, html_}) SLUICE_RETURN_IF_ERROR(CheckOutputFile(path));
    return model_.LoadPlugins();
  }

  // Warns of `errors` in `what`: the first causes, and how to see all.
  void WarnOf(Console& console, const absl::Status& errors, absl::string_view what) const {
    constexpr size_t kMaxCauses = 8;
    if (console.quiet()) return;
    console.Warn(what);
    const std::vector<ErrorGroup> causes = GroupErrors(AllErrors(errors));
    for (size_t i = 0; i < std::min(causes.size(), kMaxCauses); ++i) {
      console.Details(PaintedErrorText(FormatErrorGroup(causes[i]), console.err()));
    }
    if (causes.size() <= kMaxCauses) return;
    console.Note(
        absl::StrCat("… and ", causes.size() - kMaxCauses, " more; `sluice check ", model_.path(), "` lists them"));
  }

  absl::Status Draw(Console& console, const LoadedGraph& model) const {
    if (svg_.empty() && html_.empty()) return absl::OkStatus();
    console.Progress("drawing …");
    const DrawnGraph drawn = ExpandForDrawing(model);
    const Graph& graph = drawn.graph;
    const auto output_text = [&drawn, &graph](NodeId id) -> std::string {
      if (graph.num_outputs(id) == 0) return "";
      const PartialShape shape = drawn.shapes.has_value() ? drawn.shapes->shape({id, 0}) : PartialShape();
      const std::string dtype = DTypeText(graph.output_type(id, 0));
      return shape.has_rank() ? absl::StrCat(dtype, " ", shape.ToString()) : dtype;
    };
    const std::string title = DrawingTitle(model.source);
    if (!svg_.empty()) {
      SvgOptions options;
      options.title = title;
      options.closed = drawn.closed;
      if (boxes_ > 0) options.box_budget = boxes_;
      SLUICE_RETURN_IF_ERROR(WriteFile(svg_, DrawSvg(graph, options, output_text)));
      console.Note(absl::StrCat("wrote ", svg_));
    }
    if (!html_.empty()) {
      HtmlOptions options;
      options.title = title;
      options.closed = drawn.closed;
      if (boxes_ > 0) options.box_budget = boxes_;
      SLUICE_RETURN_IF_ERROR(WriteFile(html_, DrawHtml(graph, options, output_text)));
      console.Note(absl::StrCat("wrote ", html_));
    }
    return absl::OkStatus();
  }

  ModelArgument model_;
  bool json_ = false;
  bool all_ = false;
  bool values_ = false;
  int depth_ = 2;
  int boxes_ = 0;  // The drawing's own default.
  std::string svg_, html_;
  std::vector<const CLI::Option*> of_graphs_;  // Options that do not apply to a checkpoint.
};

}  // namespace

std::unique_ptr<Command> MakeShowCommand() { return std::make_unique<ShowCommand>(); }

}  // namespace sluice
