#ifndef SLUICE_GRAPH_IR_SIGNATURE_H_
#define SLUICE_GRAPH_IR_SIGNATURE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/base/limits.h"
#include "graph/base/mutex.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"

namespace sluice {

// The arguments of an op, with its type, number and list attrs bound. Immutable, shared by all nodes alike.
struct Signature {
  std::vector<DType> inputs;  // References as RefType.
  std::vector<DType> outputs;
  // First input (output) of each argument of the schema, plus the end: argument i is [start[i], start[i+1]).
  std::vector<int32_t> input_starts;
  std::vector<int32_t> output_starts;
};

// Finds an attr by name: the node's own, else the schema's default; false when there is neither.
using AttrFinder = absl::FunctionRef<bool(absl::string_view name, AttrView* value)>;

// The signature of `op` under `attrs`. kAttrMissing, kAttrKind, kAttrValue (number attrs below 0, above `max_args`,
// types that are not dtypes) otherwise; the caller adds node and op.
absl::StatusOr<Signature> ComputeSignature(const OpSchema& op, AttrFinder attrs, int64_t max_args);

// Checks one attr against its spec: kind, minimum, allowed values, valid dtypes, sound shapes and tensors of lists too.
// kAttrKind / kAttrValue naming the attr; the caller adds node and op.
// Minima are left to others with `check_minimum` false (see runnable_check.h).
absl::Status CheckAttr(const AttrSpec& spec, AttrView value, const LoadLimits& limits, bool check_minimum = true);

// Signatures by what determines them: the op's arguments and the encoded attrs these name. Ops with equal arguments
// share them; pointers stay valid as long as the cache, whatever becomes of the schemas.
// Thread-safe. Shared by a graph and its copies.
class SignatureCache {
 public:
  // As ComputeSignature, remembered. kLimitInputs when all signatures together get too large.
  absl::StatusOr<const Signature*> Get(const OpSchema& op, AttrFinder attrs, int64_t max_args);

 private:
  Mutex mu_;
  int64_t num_types_ ABSL_GUARDED_BY(mu_) = 0;
  // Not Abseil's table, which breaks when there is no memory to grow.
  std::map<std::string, std::unique_ptr<const Signature>> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_SIGNATURE_H_
