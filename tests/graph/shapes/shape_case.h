#ifndef SLUICE_TESTS_GRAPH_SHAPES_SHAPE_CASE_H_
#define SLUICE_TESTS_GRAPH_SHAPES_SHAPE_CASE_H_

// One node, its inputs and the shapes that inference must find: the rows of table-driven tests.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/builder.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

// What goes in and what must come out.
struct ShapeCase {
  std::string op;
  // Each is a type letter (f float, i int32, l int64, b bool, s string, c complex64; f when there is none) and then a
  // shape "[2,?]", "?" for an unknown rank, or a constant "=3", "={1,2}", "={{1,2},{3,4}}" (of int32, int64 or float).
  std::vector<std::string> inputs;
  GraphBuilder::Attrs attrs;
  // Shapes of the outputs, with a blank between; or "error" and a part of the message.
  std::string expected;
};

// What inference finds for the node of `shape_case`, in the form of ShapeCase::expected.
std::string InferCase(const ShapeCase& shape_case);

// Adds the input that `text` describes.
Output AddInput(GraphBuilder& builder, absl::string_view text);

// Runs all cases, one expectation each.
void ExpectShapes(const std::vector<ShapeCase>& cases);

}  // namespace sluice

#endif  // SLUICE_TESTS_GRAPH_SHAPES_SHAPE_CASE_H_
