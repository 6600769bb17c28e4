#ifndef SLUICE_GRAPH_OPS_OP_TABLE_H_
#define SLUICE_GRAPH_OPS_OP_TABLE_H_

// The ops that TensorFlow 2.19 registers (internal ones included, those of its own tests left out), and our own.

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_registry.h"

namespace sluice {

// A table of ops as text: one line an op, lines in ascending byte order of the names. A line is the name and then
// fields, each behind a tab and told apart by the first character:
//
//   <spec   an input        @spec   an attr; specs as in graph/ir/op_schema_builder.h
//   >spec   an output       !flags  s stateful, c commutative, a aggregate, u allows uninitialized input,
//   ~N why  deprecated at N         d communicates with other devices
//
// Looking an op up is a binary search over the text: nothing is built, nothing is parsed but the one line.
// What this project knows of ops beside their registration stands in a second text of the same order, whose lines have
// words behind tabs: the gradient and then traits, as graph/ir/op_traits.h spells them. An op without a line has none.
//
// Borrows the texts, which must outlive it. Thread-safe, immutable.
class OpTextTable : public OpTable {
 public:
  explicit OpTextTable(absl::string_view text, absl::string_view traits = {}) : text_(text), traits_(traits) {}

  absl::StatusOr<OpSchema> Find(absl::string_view name) const override;
  void ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const override;

 private:
  const absl::string_view text_;
  const absl::string_view traits_;
};

// The ops that exist everywhere: TensorFlow's, and those of this project that TensorFlow does not know. One
// object for the whole process; nothing can be added to it.
const OpRegistry& BuiltinOps();

// BuiltinOps() to which a host program can add its own.
std::shared_ptr<OpRegistry> NewOpRegistry();

}  // namespace sluice

#endif  // SLUICE_GRAPH_OPS_OP_TABLE_H_
