#include "tests/graph/shapes/shape_case.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

DType TypeOf(char letter) {
  switch (letter) {
    case 'i':
      return DType::kInt32;
    case 'l':
      return DType::kInt64;
    case 'b':
      return DType::kBool;
    case 's':
      return DType::kString;
    case 'c':
      return DType::kComplex64;
    default:
      return DType::kFloat;
  }
}

std::vector<int64_t> Numbers(absl::string_view text) {
  std::vector<int64_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("[]{},"), absl::SkipEmpty())) {
    int64_t number = -1;
    EXPECT_TRUE(part == "?" || absl::SimpleAtoi(part, &number)) << text;
    numbers.push_back(number);
  }
  return numbers;
}

PartialShape ParseShape(absl::string_view text) {
  return text == "?" ? PartialShape() : *PartialShape::Make(Numbers(text));
}

// "3" a scalar, "{1,2}" a vector, "{{1,2},{3,4}}" a matrix.
Shape ConstShapeOf(absl::string_view text, int64_t count) {
  if (!absl::StartsWith(text, "{")) return Shape();
  if (!absl::StartsWith(text, "{{")) return Shape::Of({count});
  const std::vector<absl::string_view> rows = absl::StrSplit(text, "},");
  const int64_t num_rows = static_cast<int64_t>(rows.size());
  return Shape::Of({num_rows, count / num_rows});
}

template <typename T>
Tensor MakeTensor(absl::string_view text) {
  const std::vector<int64_t> numbers = Numbers(text);
  std::vector<T> values;
  for (const int64_t number : numbers) values.push_back(static_cast<T>(number));
  return Tensor::Of<T>(ConstShapeOf(text, static_cast<int64_t>(values.size())), values);
}

}  // namespace

Output AddInput(GraphBuilder& builder, absl::string_view text) {
  const bool typed = !text.empty() && text[0] >= 'a' && text[0] <= 'z';
  const DType type = TypeOf(typed ? text[0] : 'f');
  if (typed) text.remove_prefix(1);
  if (!absl::ConsumePrefix(&text, "=")) return builder.Placeholder("", type, ParseShape(text));
  if (type == DType::kInt32) return builder.Const("", MakeTensor<int32_t>(text));
  if (type == DType::kInt64) return builder.Const("", MakeTensor<int64_t>(text));
  return builder.Const("", MakeTensor<float>(text));
}

std::string InferCase(const ShapeCase& shape_case) {
  GraphBuilder builder(NewOpRegistry());
  std::vector<Output> inputs;
  for (const std::string& text : shape_case.inputs) inputs.push_back(AddInput(builder, text));
  const Output node = builder.Op(shape_case.op, "node", inputs, shape_case.attrs);
  const absl::StatusOr<Graph> graph = builder.Build();
  if (!graph.ok()) return absl::StrCat("no graph: ", graph.status().message());
  const absl::StatusOr<ShapeMap> map = InferShapes(*graph);
  if (!map.ok()) return std::string(map.status().message());
  if (!map->problems().empty()) return absl::StrCat("error ", map->problems()[0].status.message());
  std::vector<std::string> shapes;
  for (int i = 0; i < graph->num_outputs(node.node); ++i) shapes.push_back(map->shape({node.node, i}).ToString());
  return absl::StrJoin(shapes, " ");
}

void ExpectShapes(const std::vector<ShapeCase>& cases) {
  for (const ShapeCase& shape_case : cases) {
    const std::string found = InferCase(shape_case);
    const std::string where = absl::StrCat(shape_case.op, "(", absl::StrJoin(shape_case.inputs, ", "), ")");
    absl::string_view part = shape_case.expected;
    if (absl::ConsumePrefix(&part, "error ")) {
      EXPECT_TRUE(absl::StartsWith(found, "error ") && absl::StrContains(found, part))
          << where << ": found " << found << ", expected an error with '" << part << "'";
    } else {
      EXPECT_EQ(found, shape_case.expected) << where;
    }
  }
}

}  // namespace sluice
