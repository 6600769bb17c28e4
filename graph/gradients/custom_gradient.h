#ifndef SLUICE_GRAPH_GRADIENTS_CUSTOM_GRADIENT_H_
#define SLUICE_GRAPH_GRADIENTS_CUSTOM_GRADIENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

// The gradient of nodes whose attr `_gradient_op_type` is `op_type`, as a function of one gradient for each output of
// such a node, then the captures. A value type.
struct CustomGradient {
  // A value of the forward graph that the function takes as an argument.
  struct Capture {
    std::string function;  // In whose body the tensor is, with the node; empty: in the graph.
    std::string tensor;    // "node:0", or an argument of the function.
  };

  std::string op_type;
  std::string function;
  // By input of the node: which result of the function is its gradient; -1: no gradient.
  std::vector<int32_t> results;
  std::vector<Capture> captures;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_CUSTOM_GRADIENT_H_
