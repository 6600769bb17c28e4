#ifndef SLUICE_GRAPH_IR_FUNCTION_LIBRARY_H_
#define SLUICE_GRAPH_IR_FUNCTION_LIBRARY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/ir/node_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/source_file.h"

namespace sluice {

// One function as it stands in a file. Immutable; views point into `owner`'s bytes.
struct FunctionDefinition {
  OpSchema schema;                 // Its signature: calls of the function are nodes with this op.
  absl::string_view bytes;         // The whole FunctionDef message, unknown fields included.
  std::vector<NodeDefView> nodes;  // Body. Input names as in functions: "arg", "node:out:0", "^node".
  std::vector<std::pair<absl::string_view, absl::string_view>> ret;          // Output argument -> value.
  std::vector<std::pair<absl::string_view, absl::string_view>> control_ret;  // Control output -> node.
  std::vector<NamedAttr> attrs;  // Of the function itself ("_noinline", ...).
  std::shared_ptr<const void> owner;
  std::shared_ptr<const SourceFile> file;  // The file that contains `bytes`; null for a function made here.

  // An error about `node` of the body, or (null) about the function as a whole, with its place in the file.
  absl::Status Locate(const NodeDefView* node, const absl::Status& status) const;
  const std::string& name() const { return schema.name; }
  const NamedAttr* FindAttr(absl::string_view name) const;
  // Whether a bool attr is there and true.
  bool IsMarked(absl::string_view attr) const;
};

// Reads one FunctionDef. Checks the wire format and the signature; bodies are checked by CheckFunctions
// (graph/functions/check.h), which can see the ops. `base_offset` is where `bytes` starts in `file`.
absl::StatusOr<std::shared_ptr<const FunctionDefinition>> ParseFunctionDef(
    std::shared_ptr<const void> owner, absl::string_view bytes, int64_t base_offset, const LoadLimits& limits,
    std::shared_ptr<const SourceFile> file = nullptr);

// The functions of a graph, by name, and which function is the gradient of which.
// A value type; definitions are shared between copies. Iterates in order of name. Not thread-safe for changes.
class FunctionLibrary {
 public:
  // Null when there is none.
  std::shared_ptr<const FunctionDefinition> Find(absl::string_view name) const;
  const OpSchema* FindSchema(absl::string_view name) const;
  bool Contains(absl::string_view name) const { return FindSchema(name) != nullptr; }
  size_t size() const { return functions_.size(); }
  bool empty() const { return functions_.empty() && gradients_.empty(); }
  std::vector<std::string> Names() const;
  // The same names in the order in which the functions were added: that of the file.
  std::vector<std::string> NamesAsAdded() const;

  // The same function again is accepted; another one of the same name is kFunctionDuplicate.
  absl::Status Add(std::shared_ptr<const FunctionDefinition> function);
  // Removes it from the library; nodes that call it keep their schema.
  void Remove(absl::string_view name);
  // Removes all functions for whose name `keep` is false, and the gradient entries that name them.
  void RemoveUnless(absl::FunctionRef<bool(absl::string_view name)> keep);
  // `prefix` or "prefix_1", ...: a name that no function has.
  std::string UniqueName(absl::string_view prefix) const;

  // The gradient function stated for `name`, or empty.
  absl::string_view FindGradient(absl::string_view name) const;
  absl::Status AddGradient(absl::string_view function, absl::string_view gradient);
  const std::map<std::string, std::string, std::less<>>& gradients() const { return gradients_; }

 private:
  std::map<std::string, std::shared_ptr<const FunctionDefinition>, std::less<>> functions_;
  // All that were ever added, in order: keeps the schemas of removed ones, which nodes may still point to.
  std::vector<std::shared_ptr<const FunctionDefinition>> added_;
  std::map<std::string, std::string, std::less<>> gradients_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_FUNCTION_LIBRARY_H_
