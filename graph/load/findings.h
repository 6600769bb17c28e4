#ifndef SLUICE_GRAPH_LOAD_FINDINGS_H_
#define SLUICE_GRAPH_LOAD_FINDINGS_H_

#include "absl/status/status.h"
#include "graph/base/error.h"
#include "graph/ir/graph.h"

namespace sluice {

// Note [What TensorFlow imports]
// Real files have parts that are wrong and that nobody runs: a function whose types disagree and that nothing calls, a
// constant whose tensor is of another type than its attr says, a signature left from another version of the model, the
// arguments of a function in a dump of its body. TensorFlow imports such graphs and fails when a step needs the part;
// what it refuses at once is little: nodes whose ops or types are wrong, cycles, functions that are called and not
// there. So the load keeps two lists. What is on the first fails it. What is on the second (LoadedGraph::deferred) is
// for those who ask: every check of a step finds it again, since a step is made of nodes, bodies and frames that are
// checked whoever made the graph. Limits stay on the first list: they are ours, and are there to stop early.

// Puts what checks of `graph`, which was imported, have found (OK, or one error or several) on one of the lists.
void SortFindings(const Graph& graph, const absl::Status& found, ErrorCollector* refused, ErrorCollector* deferred);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_FINDINGS_H_
