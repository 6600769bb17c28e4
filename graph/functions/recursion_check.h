#ifndef SLUICE_GRAPH_FUNCTIONS_RECURSION_CHECK_H_
#define SLUICE_GRAPH_FUNCTIONS_RECURSION_CHECK_H_

#include "graph/base/error.h"
#include "graph/ir/function_library.h"

namespace sluice {

// Looks for functions that lead back to themselves: through direct calls, through functions named by attrs of nodes in
// their bodies (calls, branches, loops, nested attrs too), and through declared gradients of functions that
// SymbolicGradient nodes differentiate. Adds kFunctionRecursion with the chain of names ("P -> Q -> P") for each cycle
// that is found. By name alone, whether a function is called or not: nothing is instantiated. Linear, not recursive.
void CheckRecursion(const FunctionLibrary& library, ErrorCollector* errors);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_RECURSION_CHECK_H_
