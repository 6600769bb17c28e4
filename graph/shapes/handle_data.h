#ifndef SLUICE_GRAPH_SHAPES_HANDLE_DATA_H_
#define SLUICE_GRAPH_SHAPES_HANDLE_DATA_H_

#include <vector>

#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// One of the tensors that a resource or a variant refers to. Its shape has no ids (Note [Ids of sizes] in dims.h): what
// is referred to changes while a step runs.
struct HandlePart {
  DType dtype = DType::kInvalid;  // kInvalid: not known.
  PartialShape shape;

  friend bool operator==(const HandlePart& a, const HandlePart& b) { return a.dtype == b.dtype && a.shape == b.shape; }
  friend bool operator!=(const HandlePart& a, const HandlePart& b) { return !(a == b); }
};

// What a handle refers to: the value of a variable, the components of a queue's elements, an element of a list.
using HandleData = std::vector<HandlePart>;

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_HANDLE_DATA_H_
