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
  kNone,      // They do not.
  kKernel,    // By a kernel, for some of the dtypes that the op allows or for all.
  kOrder,     // The executor itself carries them out: NoOp and control flow.
  kExpanded,  // They become other nodes before a graph runs: calls of functions and gradients of them, If, Case, While.
};

OpSupport SupportOf(const KernelRegistry& registry, absl::string_view op);

// One row of a kernel table, or one that was added, as far as people ask for it.
struct KernelFact {
  std::string device;
  std::string origin;  // Who has added it; empty for Sluice's own.
  // Type attrs that decide, with the dtypes that there are kernels for, of those that the op allows.
  struct Attr {
    std::string name;
    std::vector<DType> types;
  };
  std::vector<Attr> attrs;
};

// All rows of the op: those that were added, then those of the tables, each in their order. Empty where SupportOf is
// not kKernel.
std::vector<KernelFact> KernelsOf(const KernelRegistry& registry, const OpSchema& op);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_OPS_OP_SUPPORT_H_
