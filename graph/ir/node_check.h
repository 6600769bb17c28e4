#ifndef SLUICE_GRAPH_IR_NODE_CHECK_H_
#define SLUICE_GRAPH_IR_NODE_CHECK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/limits.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/signature.h"

namespace sluice {

// Whether only rewrites may make nodes of `op`: they need a caller that passes arguments (_Arg, _Retval, ...).
bool IsCallFrameOp(absl::string_view op);

// Checks the attrs of nodes against their ops and finds their signatures, remembering per op what was fine before:
// of a million nodes of a few kinds each costs a few comparisons.
// Borrows the ops, their schemas and the signatures; keeps nothing of the attrs it is shown. Not thread-safe.
class NodeChecker {
 public:
  // Knows the ops. Borrowed.
  class Ops {
   public:
    virtual ~Ops() = default;
    virtual const OpSchema* FindOp(absl::string_view op) const = 0;
    virtual std::vector<std::string> NearOps(absl::string_view op) const = 0;
  };

  // The remembered facts of one op.
  class OpEntry;

  NodeChecker(const Ops& ops, SignatureCache& signatures, const LoadLimits& limits);
  NodeChecker(const NodeChecker&) = delete;
  NodeChecker& operator=(const NodeChecker&) = delete;
  ~NodeChecker();

  // The entry of `op`, or null when there is no such op. Valid as long as the checker.
  OpEntry* Find(absl::string_view op);
  // kOpUnknown with the nearest names.
  absl::Status UnknownOp(absl::string_view node, absl::string_view op) const;

  // Checks kinds and values of `attrs`, that required ones are there, the op's age against `producer`, and for Const
  // that value and dtype agree; gives the signature. The caller adds node and op to errors. With `value_error`, an
  // error in the tensor of a Const goes there and the check continues, since it does not concern the types of edges.
  absl::StatusOr<const Signature*> Check(OpEntry& entry, absl::Span<const NamedAttr> attrs, int32_t producer,
                                         absl::Status* value_error = nullptr);

  static const OpSchema& SchemaOf(const OpEntry& entry);

 private:
  const Ops& ops_;
  SignatureCache& signatures_;
  const LoadLimits limits_;
  std::unordered_map<std::string, std::unique_ptr<OpEntry>> entries_;
  // Entries found lately, by a hash of the op's name that is quick and bad.
  std::array<OpEntry*, 64> recent_ = {};
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_NODE_CHECK_H_
