#ifndef SLUICE_TOOLS_CLI_REPORT_SCOPE_TREE_H_
#define SLUICE_TOOLS_CLI_REPORT_SCOPE_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace sluice {

// One name scope: the part of node names before a '/'. Scopes that hold one scope and nothing else are joined with it
// ("a/b"), so that every scope in the tree branches or holds nodes.
struct NameScope {
  std::string name;  // Without the parent's part.
  std::string path;  // "a/b/c"; empty for the root.
  int32_t parent = -1;
  std::vector<int32_t> scopes;  // In order of first node.
  std::vector<NodeId> nodes;    // Directly inside, ascending.
  int64_t num_nodes = 0;        // In all, scopes inside included.
  int64_t constant_bytes = 0;   // Of all Consts inside.
};

// The name scopes of a graph; entry 0 is the root. Names deeper than `max_depth` components count as one component
// from there on. Linear in the bytes of all names.
std::vector<NameScope> BuildScopeTree(const Graph& graph, int max_depth = 64);

// Bytes of a Const's value as a tensor in memory (encoded bytes for strings and the like); 0 for other nodes.
int64_t ConstantBytes(const Graph& graph, NodeId id);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_SCOPE_TREE_H_
