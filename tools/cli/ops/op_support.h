#ifndef SLUICE_TOOLS_CLI_OPS_OP_SUPPORT_H_
#define SLUICE_TOOLS_CLI_OPS_OP_SUPPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/op_schema.h"
#include "graph/value/dtype.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// How nodes of an op run.
enum class OpSupport : uint8_t {
  kNone,      // Not at all.
  kKernel,    // By a kernel, for some of the dtypes that the op allows or for all.
  kOrder,     // By the executor itself: NoOp and control flow.
  kExpanded,  // Replaced by other nodes before a graph runs: calls of functions and gradients of them, If, Case, While.
};

OpSupport SupportOf(const KernelRegistry& registry, absl::string_view op);

// The facts of one kernel row, of a table or added, that users may want.
struct KernelFact {
  std::string device;
  std::string origin;  // The plug-in that added it; empty for Sluice's own.
  // The deciding type attrs, with those of the op's dtypes that have kernels.
  struct Attr {
    std::string name;
    std::vector<DType> types;
  };
  std::vector<Attr> attrs;
};

// Returns all rows of the op: added ones, then those of the tables, each in their order. Empty unless SupportOf is
// kKernel.
std::vector<KernelFact> KernelsOf(const KernelRegistry& registry, const OpSchema& op);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_OPS_OP_SUPPORT_H_
