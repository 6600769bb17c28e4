#ifndef SLUICE_TESTS_TESTING_GRAPH_TEXT_H_
#define SLUICE_TESTS_TESTING_GRAPH_TEXT_H_

// Graphs as short texts, for comparing what a rewrite made with what it should have made.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/graph.h"

namespace sluice {

// "a b c": the names of the nodes, sorted.
inline std::string NodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (NodeId id : graph.Nodes()) names.emplace_back(graph.name(id));
  std::sort(names.begin(), names.end());
  return absl::StrJoin(names, " ");
}

// "add(x, y:1, ^init)": one node with its inputs as they stand in the graph; "?" for an open input.
inline std::string NodeText(const Graph& graph, absl::string_view name) {
  const NodeId id = graph.Find(name);
  if (!graph.Contains(id)) return absl::StrCat("no node ", name);
  std::vector<std::string> inputs;
  for (const Output& input : graph.all_inputs(id)) {
    inputs.push_back(input.is_set() ? graph.OutputName(input) : "?");
  }
  return absl::StrCat(name, "(", absl::StrJoin(inputs, ", "), ")");
}

// The names of the nodes of one op, sorted.
inline std::vector<std::string> NodesOfOp(const Graph& graph, absl::string_view op) {
  std::vector<std::string> names;
  for (NodeId id : graph.Nodes()) {
    if (graph.Is(id, op)) names.emplace_back(graph.name(id));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_GRAPH_TEXT_H_
