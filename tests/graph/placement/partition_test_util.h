#ifndef SLUICE_TESTS_GRAPH_PLACEMENT_PARTITION_TEST_UTIL_H_
#define SLUICE_TESTS_GRAPH_PLACEMENT_PARTITION_TEST_UTIL_H_

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/placement/partition.h"

namespace sluice {

// "/job:a/replica:0/task:0/device:CPU:0" for "CPU:0".
std::string TestDevice(const std::string& local, int task = 0);

// Puts each node on the CPU whose number is that of its name's first letter: "a..." on CPU:0, "b..." on CPU:1, ...
void PlaceByFirstLetter(Graph& graph);

// The partition at `location` (a local device name); an empty graph if there is none.
const Graph& PartOf(const std::vector<Partition>& parts, const std::string& local);

// What is wrong with `parts` as a cut of `graph`, or "": every Send has one Recv on the device it names, with the same
// dtype; nothing is open; frames are sound and every node is in the frame it was in; and with each pair taken out
// again, every node has the inputs and control inputs that it had. Nodes of control loops are left out.
std::string CheckPartitions(const Graph& graph, const std::vector<Partition>& parts);

}  // namespace sluice

#endif  // SLUICE_TESTS_GRAPH_PLACEMENT_PARTITION_TEST_UTIL_H_
