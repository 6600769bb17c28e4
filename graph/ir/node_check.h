#ifndef SLUICE_GRAPH_IR_NODE_CHECK_H_
#define SLUICE_GRAPH_IR_NODE_CHECK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
// Borrows everything; lives for one load. Not thread-safe.
class NodeChecker {
 public:
  // Who knows the ops. Borrowed.
  class Ops {
   public:
    virtual ~Ops() = default;
    virtual const OpSchema* FindOp(absl::string_view op) const = 0;
    virtual std::vector<std::string> NearOps(absl::string_view op) const = 0;
  };

  // What is known of one op.
  struct OpEntry {
    const OpSchema* schema = nullptr;
    std::vector<absl::string_view> accepted;  // By attr: the bytes that were last found right (null data: none).
    std::vector<int32_t> type_attrs;          // Attrs that the signature hangs on, by index.
    struct Memo {
      std::vector<absl::string_view> values;  // Of type_attrs; null data where the default holds.
      const Signature* signature;
    };
    std::vector<Memo> memos;  // The latest few.
    size_t next_memo = 0;
    bool is_const = false;
  };

  NodeChecker(const Ops& ops, SignatureCache& signatures, const LoadLimits& limits)
      : ops_(ops), signatures_(signatures), limits_(limits) {}

  // The entry of `op`, or null when there is no such op.
  OpEntry* Find(absl::string_view op);
  // kOpUnknown with the nearest names.
  absl::Status UnknownOp(absl::string_view node, absl::string_view op) const;

  // Checks kinds and values of `attrs`, that required ones are there, the op's age against `producer`, and for Const
  // that value and dtype agree; gives the signature. The caller adds node and op to errors.
  absl::StatusOr<const Signature*> Check(OpEntry& entry, absl::Span<const NamedAttr> attrs, int32_t producer);

 private:
  absl::Status CheckAttrs(OpEntry& entry, absl::Span<const NamedAttr> attrs);
  absl::Status CheckRequired(const OpEntry& entry, absl::Span<const NamedAttr> attrs) const;
  absl::Status CheckPresent(const OpEntry& entry, int32_t index, absl::Span<const NamedAttr> attrs) const;
  absl::Status CheckConst(absl::Span<const NamedAttr> attrs) const;
  absl::StatusOr<const Signature*> FindSignature(OpEntry& entry, absl::Span<const NamedAttr> attrs);

  const Ops& ops_;
  SignatureCache& signatures_;
  const LoadLimits& limits_;
  absl::flat_hash_map<std::string, std::unique_ptr<OpEntry>> entries_;
  OpEntry* last_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_NODE_CHECK_H_
