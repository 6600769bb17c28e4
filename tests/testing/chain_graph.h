#ifndef SLUICE_TESTS_TESTING_CHAIN_GRAPH_H_
#define SLUICE_TESTS_TESTING_CHAIN_GRAPH_H_

#include <cstdint>
#include <string>

namespace sluice {

// A GraphDef of `nodes` nodes: scalar float Consts and AddV2s in turn, each AddV2 adding the Const before it to the
// AddV2 before that. The same graph as tools/bench/import_vs_tensorflow.py makes.
std::string ChainGraphBytes(int64_t nodes);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_CHAIN_GRAPH_H_
