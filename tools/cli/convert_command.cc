#include "tools/cli/convert_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/freeze.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/ir/export.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/meta_graph.h"
#include "graph/load/text_export.h"
#include "graph/passes/endpoint_resolver.h"
#include "graph/passes/prune.h"
#include "graph/placement/reachable_functions.h"
#include "graph/placement/unknown_colocation.h"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/convert/conversion_loss.h"
#include "tools/cli/file_ending.h"
#include "tools/cli/model_argument.h"
#include "tools/cli/output_file.h"
#include "tools/cli/run/model_names.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

bool IsTextName(const std::string& path) {
  const absl::string_view ending = FileEnding(path);
  return ending == ".pbtxt" || ending == ".prototxt" || ending == ".txt";
}

bool IsBinaryName(const std::string& path) {
  const absl::string_view ending = FileEnding(path);
  return ending.empty() || ending == ".pb" || ending == ".graphdef";
}

// Whether the library has gradients registered for single nodes.
bool HasOwnGradients(const FunctionLibrary& library) {
  const auto& gradients = library.gradients();
  return std::any_of(gradients.begin(), gradients.end(),
                     [](const auto& gradient) { return IsRegisteredGradientKey(gradient.first); });
}

// Removes attrs that equal the op's default; returns their number.
absl::StatusOr<int64_t> StripDefaults(Graph* graph) {
  int64_t stripped = 0;
  for (const NodeId id : graph->Nodes()) {
    std::vector<std::string> superfluous;
    for (const NamedAttr& attr : graph->attrs(id)) {
      const AttrSpec* spec = graph->op(id).FindAttr(attr.name);
      if (spec == nullptr || !spec->has_default) continue;
      if (AttrView::Equal(attr.value, AttrView(spec->default_value))) superfluous.emplace_back(attr.name);
    }
    for (const std::string& name : superfluous) SLUICE_RETURN_IF_ERROR(graph->RemoveAttr(id, name));
    stripped += static_cast<int64_t>(superfluous.size());
  }
  return stripped;
}

// `sluice convert`: one model in, one file out. Lives for one run, on one thread.
class ConvertCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app, "IN");
    app.add_option("OUT", out_, "a GraphDef: binary (.pb), or text if it ends in .pbtxt; - for standard output")
        ->required()
        ->option_text("(required)");
    app.add_option("--fetch", fetches_,
                   "keep only what these tensors, nodes or results of a signature need, and the functions they call")
        ->option_text("NAME,...")
        ->delimiter(',')
        ->transform(WithoutBlanks())
        ->group("Graph");
    app.add_option(
           "--signature", signature_,
           "the signature whose results --fetch names [serving_default, if there]; without --fetch: all of them")
        ->option_text("KEY")
        ->group("Graph");
    freeze_.Declare(app, "without --fetch: all results of the signature");
    app.add_flag("--drop-variables", drop_variables_,
                 "write the graph of a SavedModel even if it cannot run without the values of its variables or the "
                 "contents of its lookup tables")
        ->group("Graph");
    app.add_flag("--strip-defaults", strip_defaults_, "leave out attrs that have their default value")->group("Graph");
    app.add_flag("--strip-devices", strip_devices_, "leave out the devices of nodes")->group("Graph");
    auto* text = app.add_flag("--text", as_text_, "write text, whatever the name")->group("Output");
    app.add_flag("--binary", as_binary_, "write binary, whatever the name")->group("Output")->excludes(text);
    app.add_flag("--json", json_, "one JSON document: what was written, and what was left out")->group("Output");
  }

  int Run(Console& console) override {
    if (!as_text_ && !as_binary_ && out_ != "-" && !IsTextName(out_) && !IsBinaryName(out_)) {
      console.Complain(absl::StrCat("sluice convert: what is written is a GraphDef, which '", PrintableName(out_),
                                    "' does not look like: name a .pb (binary) or a .pbtxt (text) file, or say "
                                    "--binary or --text"));
      return kExitUsage;
    }
    if (out_ == "-" && json_) {
      console.Complain("sluice convert: --json and the graph cannot both go to standard output: name a file for OUT");
      return kExitUsage;
    }
    if (out_ == "-" && !as_text_ && console.out_is_terminal()) {
      console.Complain(
          "sluice convert: a binary graph is not written to a terminal: name a file for OUT, or say --text");
      return kExitUsage;
    }
    const absl::Status status = Convert(console);
    if (!status.ok()) console.Problem(model_.Explained(status));
    for (const std::string& line : advice_) console.Complain(line);
    return status.ok() ? kExitOk : kExitFailed;
  }

 private:
  absl::Status Convert(Console& console) {
    SLUICE_RETURN_IF_ERROR(CheckOutputFile(out_));
    SLUICE_RETURN_IF_ERROR(model_.LoadPlugins());
    LoadOptions options = model_.Options();
    options.infer_shapes = false;
    options.check_meta_graph = false;  // Only the graph is written.
    options.keep_unsound = true;
    SLUICE_ASSIGN_OR_RETURN(LoadedGraph model, model_.Load(console, options));
    SLUICE_RETURN_IF_ERROR(CheckUnsound(console, model));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> fetches, Fetches(model));
    std::vector<std::string> losses = ConversionLosses(model);
    const bool had_gradients = HasOwnGradients(model.graph.library());
    if (freeze_.is_given) SLUICE_RETURN_IF_ERROR(Freeze(console, fetches, &model));
    SLUICE_RETURN_IF_ERROR(Rewrite(console, fetches, &model.graph));
    const MissingState missing = FindMissingState(model);
    if (!drop_variables_) SLUICE_RETURN_IF_ERROR(CheckRunsWithout(missing));
    const std::vector<std::string> state = StateLosses(missing);
    losses.insert(losses.begin(), state.begin(), state.end());
    if (had_gradients && !HasOwnGradients(model.graph.library())) {
      losses.emplace_back(
          "the gradients that nodes have of their own (tf.custom_gradient): `sluice grad --freeze` of "
          "the model itself puts both in");
    }
    for (const std::string& loss : losses) console.Warn(absl::StrCat("left out: ", loss));
    std::string bytes = ExportGraph(model.graph);
    const bool text = as_text_ || (!as_binary_ && IsTextName(out_));
    if (text) {
      SLUICE_ASSIGN_OR_RETURN(GraphText graph_text, GraphDefToText(bytes));
      if (graph_text.dropped_bytes > 0) {
        console.Warn(absl::StrCat(BytesText(graph_text.dropped_bytes),
                                  " of fields that this version does not know have no text form and are left out"));
      }
      bytes = std::move(graph_text.text);
    }
    if (out_ == "-") {
      text ? console.Write(bytes) : console.WriteBytes(bytes);
      return console.Flush();
    }
    SLUICE_RETURN_IF_ERROR(WriteFile(out_, bytes));
    console.Note(absl::StrCat("wrote ", out_, ": ", CountOf(static_cast<int64_t>(model.graph.num_nodes()), "node"),
                              ", ", BytesText(static_cast<int64_t>(bytes.size())), text ? " of text" : ""));
    if (json_) {
      console.Write(JsonDocument({{"model", model_.path()},
                                  {"wrote", out_},
                                  {"form", text ? "text" : "binary"},
                                  {"nodes", model.graph.num_nodes()},
                                  {"bytes", bytes.size()},
                                  {"left_out", losses},
                                  {"warnings", model.warnings}}));
    }
    return absl::OkStatus();
  }

  // Nodes of unknown ops can be written as they were read; other errors mean that something was lost.
  absl::Status CheckUnsound(Console& console, const LoadedGraph& model) const {
    const std::vector<absl::Status> errors = AllErrors(model.unsound);
    const auto is_lossless = [](const absl::Status& error) {
      return error.ok() || ErrorInfoOf(error).value_or(ErrorInfo()).code == ErrorCode::kOpUnknown;
    };
    const bool is_known = CountErrors(model.unsound) <= static_cast<int64_t>(errors.size());
    if (freeze_.is_given || !is_known || !std::all_of(errors.begin(), errors.end(), is_lossless)) return model.unsound;
    if (model.unsound.ok()) return absl::OkStatus();
    console.Warn("the graph has ops that are not known here; their nodes are kept as they are:");
    for (const ErrorGroup& group : GroupErrors(errors)) {
      console.Details(PaintedErrorText(FormatErrorGroup(group), console.err()));
    }
    return absl::OkStatus();
  }

  // The endpoints that --fetch and --signature mean; none: the whole graph.
  absl::StatusOr<std::vector<std::string>> Fetches(const LoadedGraph& model) {
    SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, signature_));
    std::vector<std::string> endpoints;
    ErrorCollector errors;
    for (const std::string& fetch : fetches_) {
      endpoints.push_back(names.OutputEndpoint(fetch));
      const NodeId node = model.graph.Find(ParseTensorId(endpoints.back()).node);
      errors.Add(model.graph.Contains(node) ? CheckNodeOrTensor(model.graph, "fetch", endpoints.back())
                                            : names.Unknown(ErrorCode::kFetchUnknown, "fetch", fetch));
    }
    if (absl::Status wrong = errors.Finish(); !wrong.ok()) {
      advice_ = names.OutputAdvice();
      return wrong;
    }
    const bool all = !signature_.empty() || (freeze_.is_given && names.signature() != nullptr);
    if (!fetches_.empty() || !all) return endpoints;
    SLUICE_RETURN_IF_ERROR(CheckSignature(model.graph, *names.signature()));
    for (const SignatureTensor& result : names.signature()->outputs) {
      if (!result.name.empty()) endpoints.push_back(result.name);
      endpoints.insert(endpoints.end(), result.components.begin(), result.components.end());
    }
    return endpoints;
  }

  absl::Status Freeze(Console& console, const std::vector<std::string>& fetches, LoadedGraph* model) const {
    if (fetches.empty()) {
      return Error(ErrorCode::kCannotRun)
          .Text("--freeze needs to know what the graph is to compute, and the model has no signature that says it")
          .Help("name it with --fetch or --signature");
    }
    SessionOptions session;
    session.kernels = &model_.kernels();
    session.limits = model_.Options().limits;
    session.allow_soft_placement = true;
    session.allow_other_task = true;
    absl::StatusOr<FrozenGraph> frozen = FreezeModel(*model, fetches, session, freeze_.restore);
    if (!frozen.ok()) {
      return WithChangedFacts(frozen.status(), [this](ErrorInfo& info) {
        if (info.code != ErrorCode::kUninitialized || !freeze_.restore.empty() || !info.suggestion.empty()) return;
        info.suggestion = "--restore PREFIX takes the values from a checkpoint";
      });
    }
    model->graph = std::move(frozen->graph);
    console.Note(absl::StrCat("froze ", CountOf(frozen->variables, "variable"), ": ", BytesText(frozen->bytes)));
    return absl::OkStatus();
  }

  absl::Status Rewrite(Console& console, const std::vector<std::string>& fetches, Graph* graph) const {
    if (!fetches.empty()) {
      const auto before = static_cast<int64_t>(graph->num_nodes());
      SLUICE_ASSIGN_OR_RETURN(*graph, PruneToNames(*graph, fetches));
      KeepReachableFunctions(*graph);
      SLUICE_RETURN_IF_ERROR(TieUnknownColocations(*graph));
      const auto after = static_cast<int64_t>(graph->num_nodes());
      // A frozen graph has other nodes than the model.
      if (!freeze_.is_given) console.Note(absl::StrCat("kept ", CountText(after), " of ", CountOf(before, "node")));
    }
    if (strip_devices_) {
      for (const NodeId id : graph->Nodes()) graph->SetDevice(id, "");
    }
    if (strip_defaults_) {
      SLUICE_ASSIGN_OR_RETURN(const int64_t stripped, StripDefaults(graph));
      console.Note(absl::StrCat("left out ", CountOf(stripped, "attr")));
    }
    return absl::OkStatus();
  }

  ModelArgument model_;
  std::string out_;
  std::vector<std::string> fetches_;
  std::string signature_;
  FreezeOption freeze_;
  bool drop_variables_ = false;
  bool strip_defaults_ = false;
  bool strip_devices_ = false;
  bool as_text_ = false;
  bool as_binary_ = false;
  bool json_ = false;
  std::vector<std::string> advice_;  // Lines below the error.
};

}  // namespace

std::unique_ptr<Command> MakeConvertCommand() { return std::make_unique<ConvertCommand>(); }

}  // namespace sluice
