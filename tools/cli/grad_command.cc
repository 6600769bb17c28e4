#include "tools/cli/grad_command.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/saved_model/freeze.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/export.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/custom_gradients.h"
#include "graph/placement/reachable_functions.h"
#include "graph/placement/unknown_colocation.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/convert/conversion_loss.h"
#include "tools/cli/file_ending.h"
#include "tools/cli/model_argument.h"
#include "tools/cli/output_file.h"
#include "tools/cli/report/variable_aliases.h"
#include "tools/cli/run/model_names.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

// `sluice grad`: one model in, the model with its gradients out. Lives for one run, on one thread.
class GradCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app);
    const auto tensors = [&app](const char* name, std::vector<std::string>& names, const char* what) {
      return app.add_option(name, names, what)->option_text("NAME,...")->delimiter(',')->transform(WithoutBlanks());
    };
    tensors("--y", ys_, "what to differentiate: tensors, nodes or results of the signature; their gradients add up")
        ->required()
        ->option_text("NAME,... (required)");
    tensors("--x", xs_, "with respect to what: tensors, nodes or arguments of the signature")
        ->required()
        ->option_text("NAME,... (required)");
    app.add_option("-o,--out", out_, "the GraphDef to write (.pb); - for standard output")
        ->required()
        ->option_text("OUT (required)")
        ->check(EndsIn({".pb", ".graphdef"}, "a binary GraphDef"));
    tensors("--grad-y", grad_ys_, "tensors that the gradients of the ys begin with, one for each y [ones]")
        ->group("Gradients");
    tensors("--stop", stop_, "tensors to take for constants")->group("Gradients");
    app.add_option("--name", name_, "what the names of new nodes begin with; the gradients are NAME/0, NAME/1, ...")
        ->option_text("NAME [gradients]")
        ->group("Gradients");
    freeze_.Declare(app, "keeps what the ys, xs and gradients need");
    app.add_flag("--zeros", zeros_, "zeros for an x that no y depends on, instead of nothing")->group("Gradients");
    app.add_flag("--colocate", colocate_, "tie each new node to the place of the node it belongs to")
        ->group("Gradients");
    app.add_option("--signature", signature_, "whose keys the names are [serving_default, if there]")
        ->option_text("KEY")
        ->group("Gradients");
    app.add_flag("--json", json_, "one JSON document that names the gradient of each x, or with the errors")
        ->group("Output");
  }

  int Run(Console& console) override {
    if (out_ == "-" && (json_ || console.out_is_terminal())) {
      console.Complain(absl::StrCat("sluice grad: ",
                                    json_ ? "--json and the graph cannot both go to standard output"
                                          : "a binary graph is not written to a terminal",
                                    ": name a file for --out"));
      return kExitUsage;
    }
    const absl::Status status = Differentiate(console);
    if (!status.ok()) console.Problem(model_.Explained(status));
    for (const std::string& line : advice_) console.Complain(line);
    return status.ok() ? kExitOk : kExitFailed;
  }

 private:
  absl::Status Differentiate(Console& console) {
    SLUICE_RETURN_IF_ERROR(CheckOutputFile(out_));
    SLUICE_RETURN_IF_ERROR(model_.LoadPlugins());
    LoadOptions options = model_.Options();
    options.infer_shapes = false;
    options.check_meta_graph = false;  // Only the graph is written.
    SLUICE_ASSIGN_OR_RETURN(LoadedGraph model, model_.Load(console, options));
    SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, signature_));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> ys, Find(model.graph, names, "y", ys_));
    MeanVariables(model, console);
    SLUICE_ASSIGN_OR_RETURN(std::vector<Output> xs, Find(model.graph, names, "x", xs_));
    GradientOptions gradients;
    SLUICE_ASSIGN_OR_RETURN(gradients.grad_ys, Find(model.graph, names, "grad-y", grad_ys_));
    SLUICE_ASSIGN_OR_RETURN(gradients.stop, Find(model.graph, names, "stop", stop_));
    gradients.name = name_;
    gradients.limits = options.limits;
    gradients.colocate = colocate_;
    SLUICE_ASSIGN_OR_RETURN(gradients.custom, FindCustomGradients(model, nullptr, options.limits));
    if (zeros_) gradients.unconnected = GradientOptions::Unconnected::kZero;
    SLUICE_ASSIGN_OR_RETURN(const GradientResult found, AddGradients(model.graph, ys, xs, gradients));
    SLUICE_ASSIGN_OR_RETURN(xs, Find(model.graph, names, "x", xs_));  // Calls have other ids now.
    SLUICE_RETURN_IF_ERROR(CheckConnected(found));
    std::vector<std::string> of_x, gradients_made;  // By x, empty for those that no y depends on; the others alone.
    for (size_t i = 0; i < xs.size(); ++i) {
      const std::string name = absl::StrCat(found.name, "/", i);
      const bool is_connected = found.xs[i].is_set();
      of_x.push_back(is_connected ? name : "");
      if (!is_connected) continue;
      SLUICE_RETURN_IF_ERROR(NameGradient(model.graph, xs[i], found.xs[i], found.name, name).status());
      gradients_made.push_back(name);
    }
    if (freeze_.is_given) SLUICE_RETURN_IF_ERROR(Freeze(console, names, gradients_made, &model));
    SLUICE_RETURN_IF_ERROR(TieUnknownColocations(model.graph));
    for (const std::string& loss : StateLosses(FindMissingState(model))) {
      console.Warn(absl::StrCat("left out: ", loss, freeze_.is_given ? "" : "; --freeze puts values of variables in"));
    }
    const std::string bytes = ExportGraph(model.graph);
    if (out_ == "-") {
      console.WriteBytes(bytes);
      return console.Flush();
    }
    SLUICE_RETURN_IF_ERROR(WriteFile(out_, bytes));
    Report(console, of_x, static_cast<int64_t>(model.graph.num_nodes()), found.num_added);
    console.Note(absl::StrCat("wrote ", out_, ": ", CountOf(static_cast<int64_t>(model.graph.num_nodes()), "node"),
                              ", ", CountText(found.num_added), " of them for gradients"));
    return console.Flush();
  }

  // A file without any gradient would be useless: kCannotRun if no y depends on any x.
  absl::Status CheckConnected(const GradientResult& found) const {
    const bool has_any = std::any_of(found.xs.begin(), found.xs.end(), [](const Gradient& dx) { return dx.is_set(); });
    if (has_any) return absl::OkStatus();
    const auto named = [](const std::vector<std::string>& names) {
      std::vector<std::string> printable;
      for (const std::string& name : names) printable.push_back(absl::StrCat("'", PrintableName(name), "'"));
      return absl::StrJoin(printable, ", ");
    };
    return Error(ErrorCode::kCannotRun)
        .Help("name an x that the y is computed from, or add --zeros for gradients of zeros")
        .Text(absl::StrCat("there are no gradients to write: ", named(ys_), ys_.size() == 1 ? " does" : " do",
                           " not depend on ", named(xs_), " by a way that has gradients"));
  }

  void Report(Console& console, const std::vector<std::string>& of_x, int64_t num_nodes, int64_t num_added) const {
    nlohmann::ordered_json gradients = nlohmann::ordered_json::array();
    for (size_t i = 0; i < of_x.size(); ++i) {
      const bool is_connected = !of_x[i].empty();
      gradients.push_back({{"x", xs_[i]}, {"gradient", nullptr}});
      if (is_connected) gradients.back()["gradient"] = of_x[i];
      if (json_) continue;
      console.Write(
          absl::StrCat(PrintableName(xs_[i]), "  ", is_connected ? PrintableName(of_x[i]) : "not connected", "\n"));
    }
    if (!json_) return;
    const nlohmann::ordered_json document = {
        {"command", "grad"},  {"model", model_.path()},   {"out", out_},
        {"nodes", num_nodes}, {"nodes_added", num_added}, {"gradients", gradients}};
    console.Write(JsonDocument(document));
  }

  // Exports of Keras 3 list each variable several times: the one that the signatures read is meant.
  void MeanVariables(const LoadedGraph& model, Console& console) {
    const VariableAliases aliases = FindVariableAliases(model);
    for (std::string& x : xs_) {
      const auto meant = aliases.meant.find(model.graph.Find(ParseTensorId(x).node));
      if (meant == aliases.meant.end()) continue;
      const std::string name(model.graph.name(meant->second));
      console.Note(absl::StrCat("'", PrintableName(x), "' is a second handle of '", PrintableName(name),
                                "', which the signatures read: the gradient is that of '", PrintableName(name), "'"));
      x = name;
    }
  }

  // Finds the outputs that users call `wanted`; reports all missing ones at once.
  absl::StatusOr<std::vector<Output>> Find(const Graph& graph, const ModelNames& names, const char* role,
                                           const std::vector<std::string>& wanted) {
    std::vector<Output> outputs;
    ErrorCollector errors;
    for (const std::string& name : wanted) {
      const std::string endpoint = Endpoint(names, name);
      if (!graph.Contains(graph.Find(ParseTensorId(endpoint).node))) {
        errors.Add(names.Unknown(ErrorCode::kFetchUnknown, role, name));
        continue;
      }
      absl::StatusOr<Output> output = graph.FindOutput(endpoint);
      output.ok() ? outputs.push_back(*output) : errors.Add(output.status());
    }
    if (absl::Status wrong = errors.Finish(); !wrong.ok()) {
      advice_ = absl::string_view(role) == "x" ? names.InputAdvice() : names.OutputAdvice();
      return wrong;
    }
    return outputs;
  }

  // Reduces the model's graph to the ys, the xs and the gradients called `made`, without variables.
  absl::Status Freeze(Console& console, const ModelNames& names, std::vector<std::string> made,
                      LoadedGraph* model) const {
    for (const std::string& name : ys_) made.push_back(Endpoint(names, name));
    for (const std::string& name : xs_) made.push_back(Endpoint(names, name));
    SessionOptions session;
    session.kernels = &model_.kernels();
    session.limits = model_.Options().limits;
    session.allow_soft_placement = true;
    session.allow_other_task = true;
    SLUICE_ASSIGN_OR_RETURN(FrozenGraph frozen, FreezeModel(*model, made, session, freeze_.restore));
    model->graph = std::move(frozen.graph);
    KeepReachableFunctions(model->graph);
    console.Note(absl::StrCat("froze ", CountOf(frozen.variables, "variable"), ": ", BytesText(frozen.bytes)));
    return absl::OkStatus();
  }

  // Returns the users' name for `name`.
  static std::string Endpoint(const ModelNames& names, const std::string& name) {
    const std::string as_input = names.InputEndpoint(name);
    return as_input != name ? as_input : names.OutputEndpoint(name);
  }

  ModelArgument model_;
  std::vector<std::string> ys_, xs_, grad_ys_, stop_;
  std::string out_;
  std::string name_ = "gradients";
  std::string signature_;
  FreezeOption freeze_;
  bool zeros_ = false;
  bool colocate_ = false;
  bool json_ = false;
  std::vector<std::string> advice_;  // Lines below the error.
};

}  // namespace

std::unique_ptr<Command> MakeGradCommand() { return std::make_unique<GradCommand>(); }

}  // namespace sluice
