#include "executor/saved_model/open_saved_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/saved_model.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// The tensor that is called `key`; empty: there is none.
std::string NameOf(const std::vector<SignatureTensor>& tensors, absl::string_view key) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [key](const SignatureTensor& tensor) { return tensor.key == key; });
  return found == tensors.end() ? std::string() : found->name;
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
  std::vector<std::string> keys, fetches;
  for (const SignatureTensor& result : called->outputs) {
    if (result.name.empty()) continue;  // Of several tensors: for those who ask the session for them.
    keys.push_back(result.key);
    fetches.push_back(result.name);
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session->Run(feeds, fetches, {}, options));
  NamedTensors results;
  for (size_t i = 0; i < keys.size(); ++i) results.emplace_back(std::move(keys[i]), std::move(values[i]));
  return results;
}

absl::StatusOr<OpenModel> OpenSavedModel(const std::string& directory, const OpenModelOptions& options) {
  LoadOptions load = options.load;
  load.check_signatures = false;  // Session::Run says what is wrong with one that is called.
  SLUICE_ASSIGN_OR_RETURN(SavedModel model, LoadSavedModel(directory, std::move(load)));
  OpenModel open;
  open.loaded = std::make_shared<const LoadedGraph>(std::move(model.loaded));
  SLUICE_ASSIGN_OR_RETURN(
      open.session, Session::Create(options.session, std::shared_ptr<const Graph>(open.loaded, &open.loaded->graph)));
  SLUICE_RETURN_IF_ERROR(InitialiseModel(*open.session, *open.loaded, options.call));
  return open;
}

}  // namespace sluice
