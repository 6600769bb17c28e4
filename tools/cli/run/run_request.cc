#include "tools/cli/run/run_request.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/report/endpoint_guess.h"
#include "tools/cli/report/model_report.h"
#include "tools/cli/run/feed_value.h"

namespace sluice {
namespace {

constexpr absl::string_view kDefaultSignature = "serving_default";

// The signature whose keys may stand for tensors; null: there is none.
absl::StatusOr<const ModelSignature*> FindSignature(const MetaGraphInfo& meta, const std::string& key) {
  if (key.empty()) return meta.FindSignature(kDefaultSignature);
  const ModelSignature* const signature = meta.FindSignature(key);
  if (signature != nullptr) return signature;
  std::vector<std::string> keys;
  for (const ModelSignature& candidate : meta.signatures) keys.push_back(candidate.key);
  return Error(ErrorCode::kSavedModelSignatureUnknown)
      .Found(keys.empty() ? "none" : absl::StrJoin(keys, " and "))
      .Expected(absl::StrCat("'", key, "'"))
      .Text(absl::StrCat("no signature '", key, "'"));
}

// Turns names of users into endpoints of the graph.
class Names {
 public:
  Names(const LoadedGraph& model, const ModelSignature* signature, bool is_asked_for)
      : graph_(model.graph), signature_(signature), is_asked_for_(is_asked_for) {}

  std::string Input(const std::string& name) const {
    return signature_ == nullptr ? name : Endpoint(name, signature_->inputs);
  }
  std::string Fetch(const std::string& name) const {
    return signature_ == nullptr ? name : Endpoint(name, signature_->outputs);
  }

 private:
  std::string Endpoint(const std::string& name, const std::vector<SignatureTensor>& tensors) const {
    if (!is_asked_for_ && graph_.FindOutput(name).ok()) return name;
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const SignatureTensor& tensor) { return tensor.key == name; });
    return found == tensors.end() || found->name.empty() ? name : found->name;
  }

  const Graph& graph_;
  const ModelSignature* const signature_;
  const bool is_asked_for_;
};

// The outputs of the model that nobody named: of its signature, or those at the end of the graph.
void AddModelOutputs(const LoadedGraph& model, const ModelSignature* signature, ResolvedRun* run) {
  run->is_guess = true;
  if (signature != nullptr) {
    for (const SignatureTensor& tensor : signature->outputs) {
      if (tensor.name.empty()) continue;
      run->spec.fetches.push_back(tensor.name);
      run->labels.push_back(tensor.key);
    }
    return;
  }
  for (const Output& output : GuessOutputs(model.graph)) {
    const DType dtype = BaseType(model.graph.output_type(output.node, output.index));
    if (dtype == DType::kResource || dtype == DType::kVariant) continue;
    if (model.control_flow.has_frames && model.control_flow.frame(output.node) != 0) continue;
    run->spec.fetches.push_back(model.graph.OutputName(output));
    run->labels.push_back(run->spec.fetches.back());
  }
}

absl::Status AddFeed(const LoadedGraph& model, const Names& names, const std::string& feed, const LoadLimits& limits,
                     ResolvedRun* run) {
  const size_t equals = feed.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error(ErrorCode::kValueSyntax).Text(absl::StrCat("feed '", feed, "' is not of the form NAME=VALUE"));
  }
  const std::string name = feed.substr(0, equals);
  const std::string endpoint = names.Input(name);
  run->spec.feeds.push_back(endpoint);
  const absl::StatusOr<Output> output = model.graph.FindOutput(endpoint);
  if (!output.ok() || output->is_control()) {  // An error to come; it does not need the value.
    run->inputs.emplace_back();
    return absl::OkStatus();
  }
  const DType dtype = BaseType(model.graph.output_type(output->node, output->index));
  absl::StatusOr<Tensor> value = ReadFeedValue(absl::string_view(feed).substr(equals + 1), dtype, limits);
  if (!value.ok()) {
    std::optional<ErrorInfo> info = ErrorInfoOf(value.status());
    if (!info.has_value()) return value.status();
    info->text = absl::StrCat("feed '", name, "': ", info->text);
    return MakeError(*info);
  }
  run->inputs.push_back(*std::move(value));
  return absl::OkStatus();
}

// What a caller of `signature` (may be null) calls output 0 of `node`: the argument's key, or the node's own name.
std::string ArgumentName(const ModelSignature* signature, const std::string& node) {
  if (signature == nullptr) return node;
  for (const SignatureTensor& tensor : signature->inputs) {
    if (tensor.name == node || tensor.name == absl::StrCat(node, ":0")) return tensor.key;
  }
  return node;
}

// Whether a variable without a value is what `status` is about.
bool IsWithoutValue(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() && (info->code == ErrorCode::kUninitialized || info->code == ErrorCode::kResourceMissing);
}

// The node that gives variables their values, as programs of TensorFlow call it; empty: there is none.
std::string NameOfInit(const Graph& graph) {
  for (const NodeId id : GuessTargets(graph)) {
    const absl::string_view name = graph.name(id);
    if (absl::StartsWith(name.substr(name.rfind('/') + 1), "init")) return std::string(name);
  }
  return "";
}

}  // namespace

void RunRequest::Declare(CLI::App& app) {
  app.add_option("--feed", feeds, "a value for a tensor, as said above; once for each")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE")
      ->group("What to run");
  app.add_option("--fetch", fetches, "tensors to compute; without, the model's outputs as `sluice show` lists them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group("What to run");
  app.add_option("--target", targets, "nodes to run for their effect")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group("What to run");
  app.add_option("--signature", signature, "whose arguments and results the names are [serving_default, if there]")
      ->option_text("KEY")
      ->group("What to run");
}

absl::StatusOr<ResolvedRun> ResolveRun(const LoadedGraph& model, const RunRequest& request, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const ModelSignature* const signature, FindSignature(model.meta, request.signature));
  const Names names(model, signature, !request.signature.empty());
  ResolvedRun run;
  for (const std::string& feed : request.feeds) {
    SLUICE_RETURN_IF_ERROR(AddFeed(model, names, feed, limits, &run));
  }
  for (const std::string& fetch : request.fetches) {
    run.spec.fetches.push_back(names.Fetch(fetch));
    run.labels.push_back(fetch);
  }
  run.spec.targets = request.targets;
  if (request.fetches.empty() && request.targets.empty()) AddModelOutputs(model, signature, &run);
  return run;
}

std::vector<std::string> WayOutLines(const LoadedGraph& model, const RunRequest& request,
                                     absl::Span<const std::string> init, const absl::Status& status) {
  if (IsWithoutValue(status)) {
    const std::string node = init.empty() ? NameOfInit(model.graph) : "";
    if (node.empty()) return {};
    return {"give variables their values first, for example:", absl::StrCat("  --init ", node)};
  }
  std::vector<std::string> lines;
  const absl::StatusOr<const ModelSignature*> signature = FindSignature(model.meta, request.signature);
  for (const absl::Status& error : AllErrors(status)) {
    const std::optional<ErrorInfo> info = ErrorInfoOf(error);
    if (!info.has_value() || info->code != ErrorCode::kFeedMissing) continue;
    const NodeId id = model.graph.Find(info->node);
    if (!model.graph.Contains(id)) continue;
    const DType dtype = BaseType(model.graph.output_type(id, 0));
    const PartialShape shape = OutputShape(model, {id, 0});
    const std::string name = signature.ok() ? ArgumentName(*signature, info->node) : info->node;
    if (lines.empty()) lines.push_back("feed it, for example:");
    lines.push_back(absl::StrCat("  --feed ", name, "=", ExampleFeedValue(dtype, shape), "    (", DTypeName(dtype), " ",
                                 shape.ToString(), ")"));
  }
  return lines;
}

}  // namespace sluice
