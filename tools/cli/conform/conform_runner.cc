#include "tools/cli/conform/conform_runner.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/saved_model.h"
#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/custom_gradients.h"
#include "graph/load/load_graph.h"
#include "graph/passes/feed_fetch.h"
#include "graph/placement/memory_types.h"
#include "kernels/memory/tracking_allocator.h"
#include "tools/cli/conform/case_copy.h"
#include "tools/cli/conform/conform_gradients.h"
#include "tools/cli/conform/conform_values.h"

namespace sluice {
namespace {

absl::StatusOr<LoadedGraph> LoadCase(const ConformCase& test, const std::shared_ptr<const OpRegistry>& ops) {
  LoadOptions options;
  options.ops = ops;
  options.place_on_one_cpu = true;
  options.infer_shapes = false;  // Only the parts that a step needs must be sound: see PrepareStep.
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

// Says how the graph differs from `wanted`; empty if it does not.
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

// Whether a fed tensor is fetched and the step was recorded through TensorFlow's Session of Python, which answers it;
// the sessions of C++ and C refuse the step. Other steps keep the signature that those with errors have: state belongs
// to it.
bool AnswersWhatIsFed(const ConformStep& step, const NamedTensors& feeds, const std::vector<std::string>& fetches) {
  if (step.error.has_value()) return false;
  return std::any_of(feeds.begin(), feeds.end(), [&](const auto& feed) {
    const TensorId fed = ParseTensorId(feed.first);
    return std::any_of(fetches.begin(), fetches.end(), [&](const std::string& fetch) {
      const TensorId fetched = ParseTensorId(fetch);
      return fetched.node == fed.node && fetched.index == fed.index;
    });
  });
}

// The session of one case, made when the first step runs, and what its steps share.
class CaseRun {
 public:
  CaseRun(const ConformCase& test, const LoadedGraph& loaded, const KernelRegistry& kernels, CallPolicy calls)
      : test_(test), loaded_(loaded), kernels_(kernels), calls_(calls), values_(test.folder) {}

  // Runs the step and compares what it fetched. An error is the step's answer; `*why` says what differs.
  absl::Status Run(const ConformStep& step, std::set<std::string>* unsupported_ops, std::string* why) {
    SLUICE_RETURN_IF_ERROR(Open());
    const ModelSignature* const signature =
        test_.signature.empty() ? nullptr : loaded_.meta.FindSignature(test_.signature);
    NamedTensors feeds;
    for (const auto& [name, file] : step.feeds) {
      SLUICE_ASSIGN_OR_RETURN(Tensor value, values_.Read(file));
      feeds.emplace_back(Endpoint(name, signature == nullptr ? nullptr : &signature->inputs), std::move(value));
    }
    std::vector<std::string> fetches;
    std::vector<const ConformFetch*> fetched;
    for (const ConformFetch& fetch : step.fetches) {
      const auto gradient = gradients_.find(fetch.tensor);
      const bool is_connected = gradient == gradients_.end() || !gradient->second.empty();
      if (is_connected == (fetch.file == "none")) {
        *why = absl::StrCat(fetch.tensor, is_connected ? " is connected" : " is not connected");
        return absl::OkStatus();
      }
      if (!is_connected) continue;
      fetched.push_back(&fetch);
      fetches.push_back(gradient != gradients_.end()
                            ? gradient->second
                            : Endpoint(fetch.tensor, signature == nullptr ? nullptr : &signature->outputs));
    }
    if (fetches.empty() && !step.fetches.empty()) return absl::OkStatus();  // None is connected.
    CallOptions call;
    call.fed_is_answer = AnswersWhatIsFed(step, feeds, fetches);
    std::vector<Tensor> answers;
    for (int i = 0; i < std::max(step.repeat, 1); ++i) {
      absl::StatusOr<std::vector<Tensor>> run = session_->Run(feeds, fetches, step.targets, call);
      if (!run.ok()) {
        NoteUnsupported(step, feeds, fetches, unsupported_ops);
        return run.status();
      }
      answers = *std::move(run);
    }
    for (size_t i = 0; i < answers.size() && why->empty(); ++i) {
      *why = Difference(*fetched[i], answers[i]);
      if (!why->empty()) *why = absl::StrCat(fetched[i]->tensor, " ", *why);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Open() {
    if (session_ != nullptr) return absl::OkStatus();
    SessionOptions options;
    options.num_threads = 1;
    options.kernels = &kernels_;
    options.function_calls = calls_;
    options.allocator = &allocator_;
    options.files.Read(test_.folder);
    if (WorksInItsFolder(test_)) options.files.Write(test_.folder);  // A copy.
    if (!test_.gradients.empty() || !test_.training.empty()) {
      differentiated_ = std::make_unique<Graph>(loaded_.graph);
      SLUICE_RETURN_IF_ERROR(AddCaseTraining(*differentiated_, test_.training));
      SLUICE_ASSIGN_OR_RETURN(const std::vector<CustomGradient> custom, FindCustomGradients(loaded_));
      SLUICE_ASSIGN_OR_RETURN(gradients_, AddCaseGradients(*differentiated_, test_.gradients, custom));
    }
    SLUICE_ASSIGN_OR_RETURN(session_, Session::Create(options, graph()));
    return test_.saved_model.empty() ? absl::OkStatus() : InitialiseModel(*session_, loaded_);
  }

  std::string Difference(const ConformFetch& fetch, const Tensor& answer) {
    if (fetch.file.empty()) return "";
    if (absl::EndsWith(fetch.file, ".json")) {
      const absl::StatusOr<std::string> text =
          ReadFile((std::filesystem::path(test_.folder) / fetch.file).string(), 1 << 20);
      return text.ok() ? DescriptionDifference(answer, *text) : FormatError(text.status(), /*one_line=*/true);
    }
    const absl::StatusOr<Tensor> want = values_.Read(fetch.file);
    if (!want.ok()) return FormatError(want.status(), /*one_line=*/true);
    return TensorDifference(answer, *want, test_.rtol, test_.atol);
  }

  // Notes the ops of the step that have no kernel.
  void NoteUnsupported(const ConformStep& step, const NamedTensors& feeds, const std::vector<std::string>& fetches,
                       std::set<std::string>* unsupported_ops) const {
    FeedFetchSpec spec;
    for (const auto& feed : feeds) spec.feeds.push_back(feed.first);
    spec.fetches = fetches;
    spec.targets = step.targets;
    const absl::StatusOr<FeedFetchGraph> needed = ApplyFeedsAndFetches(graph(), spec, FeedFetchOptions());
    if (!needed.ok()) return;
    for (NodeId id : needed->graph.Nodes()) {
      if (kernels_.HasKernel(needed->graph, id, "CPU") || CallsFunctions(needed->graph, id)) continue;
      unsupported_ops->insert(std::string(needed->graph.op_name(id)));
    }
  }

  const Graph& graph() const { return differentiated_ != nullptr ? *differentiated_ : loaded_.graph; }

  const ConformCase& test_;
  const LoadedGraph& loaded_;
  const KernelRegistry& kernels_;
  const CallPolicy calls_;
  ConformValues values_;
  std::unique_ptr<Graph> differentiated_;  // Null without gradients and training.
  GradientNames gradients_;
  // Bounds the memory of a step; outlives the session and all answers.
  TrackingAllocator allocator_{HostAllocator(), int64_t{4} << 30};
  std::unique_ptr<Session> session_;
};

// Whether `status` is the error that the step expects; `why` says how it differs.
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

// `load` is the status of loading, `run` that of the step; the first that is not OK is the step's answer. `why` says
// what is wrong with its values.
StepResult Judge(const ConformStep& step, const absl::Status& load, const absl::Status& run, const std::string& why) {
  const absl::Status& answer = load.ok() ? run : load;
  StepResult result;
  result.step = step.name;
  result.code = absl::StatusCodeToString(answer.code());
  if (!step.error) {
    result.why = answer.ok() ? why : FormatError(answer, /*one_line=*/true);
    result.passed = result.why.empty();
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

CaseResult RunConformCase(const ConformCase& test, const KernelRegistry& kernels,
                          const std::shared_ptr<const OpRegistry>& ops, CallPolicy calls) {
  CaseResult result;
  result.name = test.name;
  result.suite = test.suite;
  const absl::StatusOr<LoadedGraph> loaded = LoadCase(test, ops);
  if (!test.inspect.is_null() || test.steps.empty()) {
    StepResult inspect;
    inspect.step = "inspect";
    inspect.code = absl::StatusCodeToString(loaded.status().code());
    inspect.why =
        loaded.ok() ? InspectDifference(loaded->graph, test.inspect) : FormatError(loaded.status(), /*one_line=*/true);
    inspect.passed = inspect.why.empty();
    result.steps.push_back(std::move(inspect));
  }
  std::unique_ptr<CaseRun> run;
  if (loaded.ok()) run = std::make_unique<CaseRun>(test, *loaded, kernels, calls);
  for (const ConformStep& step : test.steps) {
    std::string why;
    const absl::Status answer = loaded.ok() ? run->Run(step, &result.unsupported_ops, &why) : absl::OkStatus();
    result.steps.push_back(Judge(step, loaded.status(), answer, why));
  }
  return result;
}

}  // namespace sluice
