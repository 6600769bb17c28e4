#ifndef SLUICE_GRAPH_LOAD_FINDINGS_H_
#define SLUICE_GRAPH_LOAD_FINDINGS_H_

#include "absl/status/status.h"
#include "graph/base/error.h"
#include "graph/ir/graph.h"

namespace sluice {

// Note [What TensorFlow imports]
// Real files have wrong parts that no step runs: a function whose types disagree and that nothing calls, a constant
// whose tensor is of another type than its attr says, a signature left from another version of the model, the arguments
// of a function in a dump of its body. TensorFlow imports such graphs and fails when a step needs the part; what it
// refuses at once is little: nodes whose ops or types are wrong, cycles, functions that are called and not there. So
// the load keeps two lists. Findings on the first list fail it. The second list (LoadedGraph::deferred) is
// informational: every step checks the nodes, bodies and frames that it uses again. Findings about our own limits are
// always on the first list, since limits are there to stop early.

// Puts what checks of `graph`, which was imported, have found (OK, or one error or several) on one of the lists.
void SortFindings(const Graph& graph, const absl::Status& found, ErrorCollector* refused, ErrorCollector* deferred);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_FINDINGS_H_
