#ifndef SLUICE_EXECUTOR_SAVED_MODEL_OBJECT_GRAPH_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_OBJECT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"

namespace sluice {

// Finds the values of a TensorFlow 2 model's variables. Such a model describes its objects twice: the SavedModel
// (message SavedObjectGraph) says which are variables and which of them functions have captured, the checkpoint beside
// it (message TrackableObjectGraph, a tensor of its own) says which key each value has. Numbers of objects are those of
// the SavedModel. As in tf.saved_model.load, two objects match if the names of children on the way from the root,
// object 0, are the same.
//
// Both messages may hold anything: circles, numbers of objects that are not there, damage. All is linear in their size,
// and entries that make no sense are ignored. Views into the messages. Immutable.
class ObjectGraph {
 public:
  static constexpr int32_t kNone = -1;
  // The checkpoint's name for the value of a variable.
  static constexpr absl::string_view kValueAttribute = "VARIABLE_VALUE";
  // The tensor of a checkpoint that holds the message TrackableObjectGraph.
  static constexpr absl::string_view kStoredKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

  ObjectGraph(absl::string_view saved, absl::string_view stored);

  // The objects that the concrete function has captured: its last arguments, in order. Empty for unknown functions.
  absl::Span<const int32_t> CapturesOf(absl::string_view function) const;
  // The variable called `name`; kNone unless there is exactly one.
  int32_t VariableCalled(absl::string_view name) const;
  // The key under which the checkpoint holds the value of `object`; empty if it names none.
  absl::string_view KeyOf(int32_t object) const;

 private:
  void ReadSaved(absl::string_view saved);
  // Matches the objects of the checkpoint with those of the SavedModel.
  void Match(absl::string_view stored);

  std::vector<absl::string_view> objects_;  // Messages SavedObject.
  std::vector<absl::string_view> keys_;     // By object.
  HashMap<absl::string_view, int32_t> variables_;
  HashMap<absl::string_view, std::vector<int32_t>> captures_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_OBJECT_GRAPH_H_
