#include "tools/cli/run/run_advice.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executor/saved_model/model_state.h"
#include "graph/base/error.h"
#include "graph/load/format.h"
#include "tools/cli/check/way_out.h"
#include "tools/cli/console/console.h"
#include "tools/cli/report/endpoint_guess.h"
#include "tools/cli/report/example_value.h"
#include "tools/cli/report/model_report.h"
#include "tools/cli/run/initial_values.h"
#include "tools/cli/run/model_names.h"

namespace sluice {
namespace {

using Lines = std::vector<std::string>;

// Finds the node that gives variables their initial values by the names that TensorFlow programs use; else empty.
std::string NameOfInit(const Graph& graph) {
  for (const NodeId id : GuessTargets(graph)) {
    const absl::string_view name = graph.name(id);
    if (absl::StartsWith(name.substr(name.rfind('/') + 1), "init")) return std::string(name);
  }
  return "";
}

// For a variable without a value, which `reader` reads. Never suggests an init that would give a trained model initial
// values: its answers would be wrong.
Lines AboutVariables(const LoadedGraph& model, const ModelSessionOptions& options, const std::string& reader) {
  const InitialValues initial(model);
  const std::string own = initial.InitOf(reader);
  if (!TrainedValuesPrefix(model).empty()) {
    if (own.empty() || initial.SetBy(own)) return {};
    return {"no checkpoint holds this variable; what gives it its value:", "  --init " + own};
  }
  if (!options.init.empty()) {
    return own.empty() ? Lines() : Lines{"what --init ran gives this variable no value; this does:", "  --init " + own};
  }
  Lines lines;
  if (IsSavedModel(model.format) && model.source != "-" && HasSaver(model)) {
    lines.push_back(absl::StrCat("there is no checkpoint in '", PrintableName(ModelDirectory(model)),
                                 "/variables': the trained values are missing"));
  }
  const std::string init = NameOfInit(model.graph);
  if (init.empty()) return lines;
  lines.push_back("give variables their initial (untrained) values first, for example:");
  lines.push_back("  --init " + init);
  return lines;
}

Lines AboutMissingFeeds(const LoadedGraph& model, const ModelNames& names, const std::vector<ErrorInfo>& errors) {
  Lines lines;
  for (const ErrorInfo& error : errors) {
    const NodeId id = model.graph.Find(error.node);
    if (error.code != ErrorCode::kFeedMissing || !model.graph.Contains(id)) continue;
    const DType dtype = BaseType(model.graph.output_type(id, 0));
    const PartialShape shape = OutputShape(model, {id, 0});
    if (lines.empty()) lines.push_back("feed it, for example:");
    lines.push_back(absl::StrCat("  --feed ", PrintableName(names.InputName(error.node)), "=",
                                 ExampleFeedValue(dtype, shape), "    (", DTypeName(dtype), " ", shape.ToString(),
                                 ")"));
  }
  return lines;
}

// One line for each op without a kernel that has a way out.
Lines AboutMissingKernels(const LoadedGraph& model, const std::vector<ErrorInfo>& errors) {
  Lines lines;
  absl::flat_hash_set<std::string> ops;
  for (const ErrorInfo& error : errors) {
    const NodeId id = model.graph.Find(error.node);
    if (error.code != ErrorCode::kNoKernel || !model.graph.Contains(id)) continue;
    const std::string way = WayOut(model.graph, id);
    if (!way.empty() && ops.insert(error.op).second) lines.push_back(absl::StrCat(error.op, ": ", way));
  }
  if (!errors.empty() && errors[0].code == ErrorCode::kNoKernel) {
    lines.push_back("`sluice check` lists everything in the model that does not run here");
  }
  return lines;
}

bool IsAboutFeeds(ErrorCode code) {
  return code == ErrorCode::kFeedUnknown || code == ErrorCode::kFeedSlot || code == ErrorCode::kFeedType ||
         code == ErrorCode::kFeedShape || code == ErrorCode::kValueSyntax;
}

bool IsAboutFetches(ErrorCode code) {
  return code == ErrorCode::kFetchUnknown || code == ErrorCode::kFetchSlot || code == ErrorCode::kFetchNoOutput;
}

}  // namespace

Lines AdviceLines(const LoadedGraph& model, const RunRequest& request, const ModelSessionOptions& options,
                  const absl::Status& status) {
  std::vector<ErrorInfo> errors;
  for (const absl::Status& error : AllErrors(status)) {
    if (std::optional<ErrorInfo> info = ErrorInfoOf(error)) errors.push_back(*std::move(info));
  }
  if (errors.empty()) return {};
  const ErrorInfo& first = errors[0];
  if (first.code == ErrorCode::kUninitialized || first.code == ErrorCode::kResourceMissing) {
    return AboutVariables(model, options, first.node);
  }
  if (first.code == ErrorCode::kNoKernel) return AboutMissingKernels(model, errors);
  const absl::StatusOr<ModelNames> names = ModelNames::Create(model, request.signature);
  if (!names.ok()) return {};
  Lines lines = AboutMissingFeeds(model, *names, errors);
  for (const ErrorInfo& error : errors) {
    if (lines.empty() && IsAboutFeeds(error.code)) lines = names->InputAdvice();
    if (lines.empty() && IsAboutFetches(error.code)) lines = names->OutputAdvice();
  }
  return lines;
}

int ExitStatusOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() && info->code == ErrorCode::kValueSyntax ? kExitUsage : kExitFailed;
}

}  // namespace sluice
