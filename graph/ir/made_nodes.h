#ifndef SLUICE_GRAPH_IR_MADE_NODES_H_
#define SLUICE_GRAPH_IR_MADE_NODES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"

namespace sluice {

// Note [Made nodes]
// Rewrites make nodes that no user wrote: feeds and fetches, the Switch and Merge of a lowered If, the Identity that
// holds an argument of an inlined call. Errors must not speak of them. Such a node therefore carries an attr that says
// what the user wrote there: an op and the name of a node, and, where the node's output 0 is what the user knows as one
// output of that node, its slot. Messages use it in two ways:
//   - an error of a made node is said of the node that the mark names ("fetch 'y'", "If 'cond'");
//   - an input that a made node gives is called by the user's tensor. Without a slot the node only passes something on,
//     and its own input is asked.
// A node that does the work of several of the user's (see Note [Fused layers] in graph/passes/layer_fusion.h) has the
// name of the first, and attrs that state the first one's op and the last one's output: its errors name the first node,
// at its place in the file, and errors of its readers name the last.

// The user's node that a made node stands for. A value type.
struct MadeFor {
  static constexpr int32_t kPassesOn = -1;

  std::string op;    // "If"; also "feed", "fetch" and "transfer", which are not ops.
  std::string name;  // Of the user's node, or of its tensor.
  int32_t slot = kPassesOn;
};

// The attr for a NodeSpec of a node that is made for `made_for`.
std::pair<std::string, AttrValue> MadeForAttr(const MadeFor& made_for);

// The user's node that `id` stands for: by its mark, else the node itself.
MadeFor MadeForOf(const Graph& graph, NodeId id);

// The attr for a node that is made beside `id`, which may be a made node itself.
std::pair<std::string, AttrValue> MadeForAttr(const Graph& graph, NodeId id, int32_t slot = MadeFor::kPassesOn);

// The attrs for a node that does the work of nodes `first` to `last`; other nodes read output 0 of `last`.
std::vector<std::pair<std::string, AttrValue>> FusedMarks(const Graph& graph, NodeId first, NodeId last);

// The user's name for `output`: graph.OutputName(output) unless a made node gives it.
std::string UserOutputName(const Graph& graph, const Output& output);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_MADE_NODES_H_
