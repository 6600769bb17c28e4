#ifndef SLUICE_TESTS_TESTING_FUNCTION_DEFS_H_
#define SLUICE_TESTS_TESTING_FUNCTION_DEFS_H_

// Functions from short texts, and some that tests need again and again.
//
//   FunctionText("Affine").Arg("x: T").Result("y: T", "sum:z:0").Attr("T: {float, double}")
//       .Node("sum = AddV2(x, x, ^first) @ /device:CPU:0", {{"T", AttrValue::Placeholder("T")}})
//       .AddTo(graph);

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/functions/function_def_builder.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_schema_builder.h"

namespace sluice {

// A FunctionDef in the making. The texts of arguments, results and attrs are those of OpSchemaBuilder; a node is
// "name = Op(input, ...)", perhaps with " @ device". Mistakes in a text end the test program.
class FunctionText {
 public:
  using Attrs = FunctionDefBuilder::Attrs;

  explicit FunctionText(absl::string_view name) : schema_(name) {}

  FunctionText& Arg(absl::string_view spec);
  // A result, and the value in the body that it is; an empty value leaves `ret` without an entry.
  FunctionText& Result(absl::string_view spec, absl::string_view value);
  FunctionText& Attr(absl::string_view spec);
  FunctionText& Node(absl::string_view text, Attrs attrs = {});
  FunctionText& ControlResult(absl::string_view name, absl::string_view node);
  FunctionText& FunctionAttr(absl::string_view name, AttrValue value);
  FunctionText& Stateful();

  absl::StatusOr<std::shared_ptr<const FunctionDefinition>> Build() const;
  // Adds it to the library of `graph`.
  void AddTo(Graph& graph) const;

 private:
  struct NodeText {
    std::string name, op, device;
    std::vector<std::string> inputs;
    Attrs attrs;
  };

  OpSchemaBuilder schema_;
  std::vector<std::pair<std::string, std::string>> ret_, control_ret_;
  Attrs function_attrs_;
  std::vector<NodeText> nodes_;
};

// The value of attr `T` in the bodies of functions with such an attr: "$T".
inline AttrValue T() { return AttrValue::Placeholder("T"); }

// y = x * 2, for float and int32: a constant of type T by Cast.
FunctionText XTimesTwo();
// y = XTimesTwo(XTimesTwo(x)): two direct calls.
FunctionText XTimesFour();
// y = x * x + 1 in float, and the effect-free helpers of conditionals and loops over one float:
FunctionText SquarePlusOne();
FunctionText LessThanTen();  // r: bool
FunctionText Forever();      // r: bool, always true
FunctionText AddOne();
FunctionText Negate();
// y = While(x) in float, over functions by name such as the above.
FunctionText Loop(absl::string_view name, const std::string& cond, const std::string& body);
// Adds 1 to the float variable behind `h`; result r = 7; control result "done". Stateful.
FunctionText Bump();

// A node that calls `function` through PartitionedCall (or `op`), types given.
Output Call(GraphBuilder& builder, absl::string_view name, absl::string_view function, std::vector<Output> inputs,
            std::vector<DType> results, FunctionDefBuilder::Attrs function_attrs = {},
            absl::string_view op = "PartitionedCall");

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_FUNCTION_DEFS_H_
