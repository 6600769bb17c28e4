#include "tools/cli/conform/conform_runner.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/saved_model/saved_model.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/attr_minimums.h"
#include "graph/load/load_graph.h"
#include "graph/passes/feed_fetch.h"
#include "graph/shapes/inference.h"

namespace sluice {
namespace {

absl::StatusOr<LoadedGraph> LoadCase(const ConformCase& test) {
  LoadOptions options;
  options.place_on_one_cpu = true;
  options.infer_shapes = false;  // Only what a step needs must make sense: see PrepareStep.
  const std::filesystem::path folder(test.folder);
  if (test.saved_model.empty()) return LoadGraphFile((folder / test.graph).string(), options);
  options.tags = test.tags;
  SLUICE_ASSIGN_OR_RETURN(SavedModel model, LoadSavedModel((folder / test.saved_model).string(), options));
  return std::move(model.loaded);
}

// Counts of ops by name, as `inspect` holds them.
std::map<std::string, int64_t> OpCounts(const Graph& graph) {
  std::map<std::string, int64_t> counts;
  for (NodeId id : graph.Nodes()) ++counts[std::string(graph.op_name(id))];
  return counts;
}

std::map<std::string, int64_t> FunctionOpCounts(const Graph& graph) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : graph.library().Names()) {
    for (const NodeDefView& node : graph.library().Find(name)->nodes) ++counts[std::string(node.op)];
  }
  return counts;
}

// What the graph does not have as `wanted` says; empty when all is as it should be.
std::string InspectDifference(const Graph& graph, const nlohmann::json& wanted) {
  const auto differs = [&](const char* key, const nlohmann::json& found) {
    return wanted.contains(key) && wanted.at(key) != found;
  };
  if (differs("nodes", graph.num_nodes())) return absl::StrCat("the graph has ", graph.num_nodes(), " nodes");
  if (differs("functions", graph.library().size())) {
    return absl::StrCat("the graph has ", graph.library().size(), " functions");
  }
  if (differs("op_types", OpCounts(graph))) return "the counts of ops differ";
  if (differs("function_op_types", FunctionOpCounts(graph))) return "the counts of ops in functions differ";
  return "";
}

// Names of the case as endpoints of the graph: with a signature, its arguments and results stand for their tensors.
std::string Endpoint(const std::string& name, const std::vector<SignatureTensor>* tensors) {
  if (tensors == nullptr || absl::StrContains(name, ":")) return name;
  const auto found =
      std::find_if(tensors->begin(), tensors->end(), [&](const SignatureTensor& tensor) { return tensor.key == name; });
  return found == tensors->end() ? name : found->name;
}

// Everything up to the first kernel: feeds, fetches, targets, and whether there are kernels for what is left.
absl::Status PrepareStep(const ConformCase& test, const ConformStep& step, const LoadedGraph& loaded,
                         const KernelCatalog& catalog, std::set<std::string>* unsupported_ops) {
  if (test.has_gradients || test.has_train) {
    return absl::UnimplementedError("gradients are not built yet");
  }
  const ModelSignature* const signature = test.signature.empty() ? nullptr : loaded.meta.FindSignature(test.signature);
  FeedFetchSpec spec;
  for (const auto& feed : step.feeds) {
    spec.feeds.push_back(Endpoint(feed.first, signature == nullptr ? nullptr : &signature->inputs));
  }
  for (const ConformFetch& fetch : step.fetches) {
    spec.fetches.push_back(Endpoint(fetch.tensor, signature == nullptr ? nullptr : &signature->outputs));
  }
  spec.targets = step.targets;
  SLUICE_ASSIGN_OR_RETURN(const FeedFetchGraph needed, ApplyFeedsAndFetches(loaded.graph, spec, FeedFetchOptions()));
  SLUICE_RETURN_IF_ERROR(CheckAttrMinimums(needed.graph));
  SLUICE_ASSIGN_OR_RETURN(const ShapeMap shapes, InferShapes(needed.graph));
  SLUICE_RETURN_IF_ERROR(shapes.FirstCertainProblem());
  std::set<std::string> missing;
  for (NodeId id : needed.graph.Nodes()) {
    if (!catalog.HasKernel(needed.graph, id, "CPU")) missing.insert(std::string(needed.graph.op_name(id)));
  }
  unsupported_ops->insert(missing.begin(), missing.end());
  if (!missing.empty()) return absl::UnimplementedError(absl::StrCat("no kernel for ", absl::StrJoin(missing, ", ")));
  return absl::UnimplementedError("there is no executor in this version");
}

// Whether `status` is the error that the step expects; `why` says what is not right.
bool IsExpected(const ExpectedError& expected, const absl::Status& status, std::string* why) {
  if (status.ok()) {
    *why = absl::StrCat("succeeded, expected ", expected.code);
    return false;
  }
  const std::string text = absl::AsciiStrToLower(FormatError(status));
  if (absl::StatusCodeToString(status.code()) != expected.code) {
    *why = absl::StrCat("expected ", expected.code, ", got ", FormatError(status, /*one_line=*/true));
    return false;
  }
  for (const std::string& word : expected.contains) {
    if (absl::StrContains(text, absl::AsciiStrToLower(word))) continue;
    *why = absl::StrCat("the message lacks '", word, "': ", FormatError(status, /*one_line=*/true));
    return false;
  }
  return true;
}

// `load` is the status of loading, `run` that of the step; the first that is not OK is the step's answer.
StepResult Judge(const ConformStep& step, const absl::Status& load, const absl::Status& run) {
  const absl::Status& answer = load.ok() ? run : load;
  StepResult result;
  result.step = step.name;
  result.code = absl::StatusCodeToString(answer.code());
  if (!step.error) {
    result.passed = answer.ok();
    if (!result.passed) result.why = FormatError(answer, /*one_line=*/true);
    return result;
  }
  result.expects_error = true;
  result.when = step.error->when;
  if (step.error->when == ExpectedError::When::kLoad && load.ok()) {
    result.why = absl::StrCat("loaded, expected ", step.error->code, " from the load");
  } else if (step.error->when == ExpectedError::When::kRun && !load.ok()) {
    result.why = absl::StrCat("failed at the load: ", FormatError(load, /*one_line=*/true));
  } else {
    result.passed = IsExpected(*step.error, answer, &result.why);
  }
  return result;
}

}  // namespace

CaseResult RunConformCase(const ConformCase& test, const KernelCatalog& catalog) {
  CaseResult result;
  result.name = test.name;
  result.suite = test.suite;
  const absl::StatusOr<LoadedGraph> loaded = LoadCase(test);
  if (!test.inspect.is_null() || test.steps.empty()) {
    StepResult inspect;
    inspect.step = "inspect";
    inspect.code = absl::StatusCodeToString(loaded.status().code());
    inspect.why =
        loaded.ok() ? InspectDifference(loaded->graph, test.inspect) : FormatError(loaded.status(), /*one_line=*/true);
    inspect.passed = inspect.why.empty();
    result.steps.push_back(std::move(inspect));
  }
  for (const ConformStep& step : test.steps) {
    const absl::Status run =
        loaded.ok() ? PrepareStep(test, step, *loaded, catalog, &result.unsupported_ops) : absl::OkStatus();
    result.steps.push_back(Judge(step, loaded.status(), run));
  }
  return result;
}

}  // namespace sluice
