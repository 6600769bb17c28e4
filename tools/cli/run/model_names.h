#ifndef SLUICE_TOOLS_CLI_RUN_MODEL_NAMES_H_
#define SLUICE_TOOLS_CLI_RUN_MODEL_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/error_code.h"
#include "graph/load/load_graph.h"

namespace sluice {

// The users' names for tensors of a model: the keys of one signature, and the names of the graph. A view of the model,
// which must outlive it.
class ModelNames {
 public:
  // Uses the keys of the signature `key`; if empty, those of serving_default, if there is one, for names that no node
  // has. kSavedModelSignatureUnknown.
  static absl::StatusOr<ModelNames> Create(const LoadedGraph& model, const std::string& key);

  // Null: there are no keys.
  const ModelSignature* signature() const { return signature_; }

  // Returns the graph's endpoint for `name` as a feed or a fetch; `name` itself if unknown.
  std::string InputEndpoint(const std::string& name) const;
  std::string OutputEndpoint(const std::string& name) const;

  // Makes the error `code` about the `role` ("feed") called `name`, which is neither a key nor a node; with the nearest
  // names.
  absl::Status Unknown(ErrorCode code, absl::string_view role, const std::string& name) const;

  // Returns the caller's name for output 0 of `node`, an input: its key, or the node's own name.
  std::string InputName(const std::string& node) const;

  // The inputs and the outputs of the model as lines for people: "  features  float32 [?,64]  image:0". At most
  // kMaxLines of them, then how many more there are.
  std::vector<std::string> InputLines() const;
  std::vector<std::string> OutputLines() const;
  // The same below a title, to follow an error about a name; empty if the model has none.
  std::vector<std::string> InputAdvice() const;
  std::vector<std::string> OutputAdvice() const;

 private:
  static constexpr size_t kMaxLines = 20;

  ModelNames(const LoadedGraph& model, const ModelSignature* signature, bool is_asked_for)
      : model_(&model), signature_(signature), is_asked_for_(is_asked_for) {}

  std::string Endpoint(const std::string& name, const std::vector<SignatureTensor>& tensors) const;
  std::vector<std::string> Lines(const std::vector<SignatureTensor>* keys, const std::vector<Output>& outputs) const;

  const LoadedGraph* model_;
  const ModelSignature* signature_;
  bool is_asked_for_;  // By --signature.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_MODEL_NAMES_H_
