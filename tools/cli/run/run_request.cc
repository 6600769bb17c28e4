#include "tools/cli/run/run_request.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/consumers.h"
#include "graph/passes/fed_shape.h"
#include "tools/cli/report/endpoint_guess.h"
#include "tools/cli/report/model_report.h"
#include "tools/cli/run/feed_value.h"
#include "tools/cli/run/model_names.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

constexpr size_t kMaxNamed = 5;

void AppendPrintable(std::string* out, const std::string& name) { *out += PrintableName(name); }

// Turns a request into names and values for one graph. Lives for one ResolveRun.
class Resolver {
 public:
  Resolver(const LoadedGraph& model, const ModelNames& names, const LoadLimits& limits)
      : model_(model), names_(names), limits_(limits) {}

  absl::StatusOr<ResolvedRun> Resolve(const RunRequest& request) {
    for (const std::string& feed : request.feeds) AddFeed(feed);
    for (const std::string& fetch : request.fetches) AddFetch(fetch);
    run_.spec.targets = request.targets;
    run_.spec.fed_is_answer = true;
    if (request.fetches.empty() && request.targets.empty()) AddModelOutputs();
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    return std::move(run_);
  }

 private:
  bool HasNode(const std::string& endpoint) const {
    return model_.graph.Contains(model_.graph.Find(ParseTensorId(endpoint).node));
  }

  void AddFeed(const std::string& feed) {
    const size_t equals = feed.find('=');
    if (equals == std::string::npos || equals == 0) {
      return errors_.Add(Error(ErrorCode::kValueSyntax)
                             .Help("write --feed NAME=VALUE")
                             .Text(absl::StrCat("feed '", PrintableName(feed), "' is not of the form NAME=VALUE")));
    }
    const std::string name = feed.substr(0, equals);
    const std::string endpoint = names_.InputEndpoint(name);
    if (!HasNode(endpoint)) return errors_.Add(names_.Unknown(ErrorCode::kFeedUnknown, "feed", name));
    run_.spec.feeds.push_back(endpoint);
    run_.inputs.emplace_back();
    const absl::StatusOr<Output> output = model_.graph.FindOutput(endpoint);
    if (!output.ok() || output->is_control()) return;  // Preparing the run reports it; the value is not needed.
    absl::StatusOr<Tensor> value = ReadValue(name, *output, absl::string_view(feed).substr(equals + 1));
    if (!value.ok()) return errors_.Add(value.status());
    run_.inputs.back() = *std::move(value);
  }

  absl::StatusOr<Tensor> ReadValue(const std::string& name, const Output& output, absl::string_view text) const {
    const DType dtype = BaseType(model_.graph.output_type(output.node, output.index));
    absl::StatusOr<Tensor> value = ReadFeedValue(text, dtype, limits_, OutputShape(model_, output));
    const bool is_read = value.ok();
    const absl::Status status =
        is_read ? CheckFedValue(model_.graph, output, value->dtype(), value->shape()) : value.status();
    std::optional<ErrorInfo> info = ErrorInfoOf(status);
    if (status.ok() || !info.has_value()) return status.ok() ? std::move(value) : status;
    absl::string_view problem = info->text;
    const std::string in_graph = absl::StrCat("feed '", PrintableName(model_.graph.OutputName(output)), "'");
    if (is_read) absl::ConsumePrefix(&problem, in_graph);
    info->text = absl::StrCat("feed '", PrintableName(name), is_read ? "'" : "': ", problem);
    if (info->code == ErrorCode::kValueSyntax && info->suggestion.empty())
      info->suggestion = std::string(kFeedValueHint);
    return MakeError(*info);
  }

  void AddFetch(const std::string& fetch) {
    const std::string endpoint = names_.OutputEndpoint(fetch);
    if (!HasNode(endpoint)) return errors_.Add(names_.Unknown(ErrorCode::kFetchUnknown, "fetch", fetch));
    run_.spec.fetches.push_back(endpoint);
    run_.labels.push_back(fetch);
  }

  // Adds the model's outputs if the user named none: those of its signature, or at the end of the graph.
  void AddModelOutputs() {
    run_.is_guess = true;
    if (names_.signature() != nullptr) {
      for (const SignatureTensor& tensor : names_.signature()->outputs) {
        if (tensor.name.empty()) continue;
        run_.spec.fetches.push_back(tensor.name);
        run_.labels.push_back(tensor.key);
      }
    } else {
      for (const Output& output : GuessEndpoints(model_.graph, model_.control_flow).outputs) {
        run_.spec.fetches.push_back(model_.graph.OutputName(output));
        run_.labels.push_back(run_.spec.fetches.back());
      }
    }
    if (run_.spec.fetches.empty()) errors_.Add(NothingToRun());
  }

  // Says what could be run: nodes with effects, and unused tensors.
  absl::Status NothingToRun() const {
    std::vector<std::string> tensors, targets;
    const Consumers consumers(model_.graph);
    for (const NodeId id : model_.graph.Nodes()) {
      const bool is_leaf = model_.graph.num_outputs(id) > 0 && consumers.of(id).empty();
      if (is_leaf && model_.control_flow.frame(id) == 0) tensors.emplace_back(model_.graph.name(id));
    }
    for (const NodeId id : GuessTargets(model_.graph)) targets.emplace_back(model_.graph.name(id));
    if (tensors.size() > kMaxNamed) tensors.resize(kMaxNamed);
    if (targets.size() > kMaxNamed) targets.resize(kMaxNamed);
    std::vector<std::string> ways;
    if (!tensors.empty())
      ways.push_back(absl::StrCat("name tensors: --fetch ", absl::StrJoin(tensors, ", --fetch ", &AppendPrintable)));
    if (!targets.empty()) {
      ways.push_back(absl::StrCat("name nodes to run for their effect: --target ",
                                  absl::StrJoin(targets, ", --target ", &AppendPrintable)));
    }
    if (ways.empty()) ways.push_back("`sluice show` lists what is in the model");
    const bool has_signature = names_.signature() != nullptr;
    return Error(ErrorCode::kNothingToRun)
        .Help(absl::StrJoin(ways, "; or "))
        .Text(absl::StrCat(
            "there is nothing to run: ",
            has_signature ? absl::StrCat("the signature '", PrintableName(names_.signature()->key), "' has no outputs")
                          : "no node of the graph looks like an output"));
  }

  const LoadedGraph& model_;
  const ModelNames& names_;
  const LoadLimits& limits_;
  ResolvedRun run_;
  ErrorCollector errors_;
};

}  // namespace

void RunRequest::Declare(CLI::App& app) {
  app.add_option("--feed", feeds, "a value for a tensor, as said above; once for each")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE")
      ->group("What to run");
  app.add_option("--fetch", fetches, "tensors to compute; without, the model's outputs as `sluice show` lists them")
      ->delimiter(',')
      ->transform(WithoutBlanks())
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group("What to run");
  app.add_option("--target", targets, "nodes to run for their effect")
      ->delimiter(',')
      ->transform(WithoutBlanks())
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group("What to run");
  app.add_option("--signature", signature, "whose arguments and results the names are [serving_default, if there]")
      ->option_text("KEY")
      ->group("What to run");
}

absl::StatusOr<ResolvedRun> ResolveRun(const LoadedGraph& model, const RunRequest& request, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, request.signature));
  const bool is_used = !request.signature.empty() || (request.fetches.empty() && request.targets.empty());
  if (names.signature() != nullptr && is_used) {
    const absl::Status sound = CheckSignature(model.graph, *names.signature());
    if (!sound.ok()) return WithFile(sound, model.source);
  }
  return Resolver(model, names, limits).Resolve(request);
}

}  // namespace sluice
