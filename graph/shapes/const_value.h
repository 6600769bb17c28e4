#ifndef SLUICE_GRAPH_SHAPES_CONST_VALUE_H_
#define SLUICE_GRAPH_SHAPES_CONST_VALUE_H_

// Reads the facts of a constant that shape inference needs straight from the encoded TensorProto in a node's attr: no
// tensor is made, and a gigabyte of weights costs as much as a scalar. Damaged values give "unknown"; the error is
// reported where the tensor is made.

#include <optional>
#include <vector>

#include "graph/ir/attr.h"
#include "graph/shapes/shape_value.h"
#include "graph/value/shape.h"

namespace sluice {

// The shape of the tensor in `attr`; of unknown rank if it does not state one.
PartialShape ConstShape(AttrView attr);

// The elements of an int32 or int64 scalar or vector of at most kMaxValueElements elements; nothing otherwise.
std::optional<ShapeValue> ConstIntegers(AttrView attr);

// The elements of an int32 or int64 tensor of any shape, of at most kMaxValueElements elements; empty otherwise.
std::vector<int64_t> ConstMatrix(AttrView attr);

// Marks, in a ShapeMap, the contents of a constant that is fed: unknown, and its attr must not be read.
inline ShapeValue FedConstant() { return ShapeValue{true, {}, {-1}}; }

// The value of a tensor with one element of type int32, int64, float or double; nothing otherwise.
std::optional<double> ConstNumber(AttrView attr);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_CONST_VALUE_H_
