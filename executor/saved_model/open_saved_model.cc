#include "executor/saved_model/open_saved_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/saved_model.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/tensor_id.h"

namespace sluice {
namespace {

// The tensor that is called `key`; empty if there is none.
std::string NameOf(const std::vector<SignatureTensor>& tensors, absl::string_view key) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [key](const SignatureTensor& tensor) { return tensor.key == key; });
  return found == tensors.end() ? std::string() : found->name;
}

bool IsSameTensor(absl::string_view a, absl::string_view b) {
  const TensorId one = ParseTensorId(a), other = ParseTensorId(b);
  return one.node == other.node && one.index == other.index;
}

}  // namespace

absl::StatusOr<NamedTensors> OpenModel::Call(absl::string_view signature, const NamedTensors& arguments,
                                             const CallOptions& options) const {
  const ModelSignature* const called = loaded->meta.FindSignature(signature);
  if (called == nullptr) {
    return Error(ErrorCode::kSavedModelSignatureUnknown)
        .Text(absl::StrCat("the model has no signature '", PrintableName(signature), "'"));
  }
  NamedTensors feeds;
  for (const auto& [key, value] : arguments) {
    std::string name = NameOf(called->inputs, key);
    if (name.empty()) {
      return Error(ErrorCode::kFeedUnknown)
          .Text(absl::StrCat("signature '", PrintableName(signature), "' has no argument '", PrintableName(key), "'"));
    }
    feeds.emplace_back(std::move(name), value);
  }
  NamedTensors results;
  std::vector<std::string> fetches;
  std::vector<size_t> places;  // Of what is fetched, among the results.
  for (const SignatureTensor& result : called->outputs) {
    if (result.name.empty()) continue;  // A result of several tensors: callers fetch these from the session by name.
    const auto fed = std::find_if(feeds.begin(), feeds.end(),
                                  [&result](const auto& feed) { return IsSameTensor(feed.first, result.name); });
    results.emplace_back(result.key, fed == feeds.end() ? Tensor() : fed->second);  // An argument may be a result.
    if (fed != feeds.end()) continue;
    places.push_back(results.size() - 1);
    fetches.push_back(result.name);
  }
  if (fetches.empty() && !results.empty()) return results;
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session->Run(feeds, fetches, {}, options));
  for (size_t i = 0; i < places.size(); ++i) results[places[i]].second = std::move(values[i]);
  return results;
}

absl::StatusOr<OpenModel> OpenSavedModel(const std::string& directory, const OpenModelOptions& options) {
  LoadOptions load = options.load;
  load.check_signatures = false;  // Session::Run reports what is wrong with those that are called.
  SLUICE_ASSIGN_OR_RETURN(SavedModel model, LoadSavedModel(directory, std::move(load)));
  OpenModel open;
  open.loaded = std::make_shared<const LoadedGraph>(std::move(model.loaded));
  SessionOptions session = options.session;
  session.files.Read(directory);
  SLUICE_ASSIGN_OR_RETURN(open.session,
                          Session::Create(session, std::shared_ptr<const Graph>(open.loaded, &open.loaded->graph)));
  SLUICE_RETURN_IF_ERROR(InitialiseModel(*open.session, *open.loaded, options.call));
  return open;
}

}  // namespace sluice
