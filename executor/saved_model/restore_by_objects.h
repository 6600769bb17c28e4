#ifndef SLUICE_EXECUTOR_SAVED_MODEL_RESTORE_BY_OBJECTS_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_RESTORE_BY_OBJECTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"

namespace sluice {

// Note [Variables without a restore]
// A SavedModel of TensorFlow 2 has nodes that restore it, and tf.saved_model.load does not use them: it makes variables
// out of the description of the objects and fills them by the object graph of the checkpoint. So there are models in
// which the two differ. A Keras 3 model saved by tf.saved_model.save has each variable twice in its graph
// ("dense/kernel" and "Variable_3"): signatures read the first, the restore fills the second.
//   1. Variables that the restore op does not reach are those to be filled; mostly there are none, and nothing is read.
//   2. Which object of the model one of them is: what the concrete function that a node calls has captured, which are
//      the last inputs of the node; else the only variable of its name. Names alone would not do, since objects may
//      share one.
//   3. The object's key in the checkpoint: ObjectGraph.
//   4. If the restore has given another variable the tensor of that key, its value is shared: a value stands in
//      memory once and is read from the file once. Else it is read, by nodes that are added to the session.
// A variable without an object, or whose object has no key, stays without a value; reading it is an error.

// Fills the variables that `restore_op`, which has run, has left without a value, from the checkpoint at `prefix`. Does
// nothing for models that TensorFlow 2 did not write in its binary form. kCheckpointEntry if the checkpoint's tensor
// has another dtype or shape than the variable; kCheckpointName if it is missing; the errors of reading and running.
absl::Status RestoreByObjects(Session& session, const LoadedGraph& model, absl::string_view restore_op,
                              const std::string& prefix, const CallOptions& options);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_RESTORE_BY_OBJECTS_H_
