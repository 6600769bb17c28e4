#ifndef SLUICE_EXECUTOR_SAVED_MODEL_OPEN_SAVED_MODEL_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_OPEN_SAVED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"

namespace sluice {

struct OpenModelOptions {
  LoadOptions load;        // Tags, limits.
  SessionOptions session;  // Threads, kernels.
  CallOptions call;        // Deadline and cancellation of restoring and of the init op.
};

// A SavedModel that is ready to run: variables restored, tables filled from assets.
//
//   SLUICE_ASSIGN_OR_RETURN(OpenModel model, OpenSavedModel("export/1"));
//   SLUICE_ASSIGN_OR_RETURN(NamedTensors scores, model.Call("serving_default", {{"features", x}}));
//
// Movable. Thread-safe as its session is.
struct OpenModel {
  std::shared_ptr<const LoadedGraph> loaded;
  std::unique_ptr<Session> session;

  // Calls a signature with arguments, and returns all results, by the signature's names. kSavedModelSignatureUnknown;
  // kFeedUnknown for an argument that it does not have; the errors of Session::Run.
  absl::StatusOr<NamedTensors> Call(absl::string_view signature, const NamedTensors& arguments,
                                    const CallOptions& options = {}) const;
};

// Opens the SavedModel in `directory`: the graph, a session, its variables and its init op. Its ops may read what is
// below `directory`; other files are granted by options.session.files. The errors of LoadSavedModel, Session::Create
// and InitialiseModel.
absl::StatusOr<OpenModel> OpenSavedModel(const std::string& directory, const OpenModelOptions& options = {});

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_OPEN_SAVED_MODEL_H_
