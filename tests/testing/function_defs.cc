#include "tests/testing/function_defs.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"

namespace sluice {

FunctionText& FunctionText::Arg(absl::string_view spec) {
  schema_.Input(spec);
  return *this;
}

FunctionText& FunctionText::Result(absl::string_view spec, absl::string_view value) {
  schema_.Output(spec);
  const absl::string_view name = absl::StripAsciiWhitespace(spec.substr(0, spec.find(':')));
  if (!value.empty()) ret_.emplace_back(std::string(name), std::string(value));
  return *this;
}

FunctionText& FunctionText::Attr(absl::string_view spec) {
  schema_.Attr(spec);
  return *this;
}

FunctionText& FunctionText::Node(absl::string_view text, Attrs attrs) {
  NodeText node;
  node.attrs = std::move(attrs);
  const size_t device = text.find(" @ ");
  if (device != absl::string_view::npos) {
    node.device = std::string(text.substr(device + 3));
    text = text.substr(0, device);
  }
  const size_t equals = text.find(" = ");
  const size_t open = text.find('(');
  SLUICE_CHECK(equals != absl::string_view::npos && open != absl::string_view::npos && text.back() == ')') << text;
  node.name = std::string(text.substr(0, equals));
  node.op = std::string(text.substr(equals + 3, open - equals - 3));
  for (absl::string_view input : absl::StrSplit(text.substr(open + 1, text.size() - open - 2), ',')) {
    input = absl::StripAsciiWhitespace(input);
    if (!input.empty()) node.inputs.emplace_back(input);
  }
  nodes_.push_back(std::move(node));
  return *this;
}

FunctionText& FunctionText::ControlResult(absl::string_view name, absl::string_view node) {
  control_ret_.emplace_back(std::string(name), std::string(node));
  return *this;
}

FunctionText& FunctionText::FunctionAttr(absl::string_view name, AttrValue value) {
  function_attrs_.emplace_back(std::string(name), std::move(value));
  return *this;
}

FunctionText& FunctionText::Stateful() {
  schema_.Stateful();
  return *this;
}

absl::StatusOr<std::shared_ptr<const FunctionDefinition>> FunctionText::Build() const {
  OpSchemaBuilder schema_builder = schema_;
  absl::StatusOr<OpSchema> schema = schema_builder.Build();
  if (!schema.ok()) return schema.status();
  FunctionDefBuilder builder(*std::move(schema));
  for (const NodeText& node : nodes_) builder.AddNode(node.name, node.op, node.inputs, node.attrs, node.device);
  for (const auto& ret : ret_) builder.AddRet(ret.first, ret.second);
  for (const auto& ret : control_ret_) builder.AddControlRet(ret.first, ret.second);
  for (const auto& attr : function_attrs_) builder.AddAttr(attr.first, attr.second);
  return builder.Build();
}

void FunctionText::AddTo(Graph& graph) const {
  absl::StatusOr<std::shared_ptr<const FunctionDefinition>> function = Build();
  SLUICE_CHECK(function.ok()) << function.status().ToString();
  const absl::Status added = graph.library().Add(*std::move(function));
  SLUICE_CHECK(added.ok()) << added.ToString();
}

FunctionText XTimesTwo() {
  FunctionText text("XTimesTwo");
  text.Arg("x: T").Result("y: T", "y:z:0").Attr("T: {float, int32}");
  text.Node("two = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(2)}});
  text.Node("scale = Cast(two:output:0)", {{"SrcT", DType::kInt32}, {"DstT", T()}});
  return text.Node("y = Mul(x, scale:y:0)", {{"T", T()}});
}

FunctionText XTimesFour() {
  FunctionText text("XTimesFour");
  text.Arg("x: T").Result("y: T", "y:y:0").Attr("T: {float, int32}");
  return text.Node("x2 = XTimesTwo(x)", {{"T", T()}}).Node("y = XTimesTwo(x2:y:0)", {{"T", T()}});
}

FunctionText SquarePlusOne() {
  FunctionText text("SquarePlusOne");
  text.Arg("x: float").Result("y: float", "y:z:0");
  text.Node("square = Square(x)", {{"T", DType::kFloat}});
  text.Node("one = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar<float>(1)}});
  return text.Node("y = AddV2(square:y:0, one:output:0)", {{"T", DType::kFloat}});
}

FunctionText LessThanTen() {
  FunctionText text("LessThanTen");
  text.Arg("x: float").Result("r: bool", "less:z:0");
  text.Node("ten = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar<float>(10)}});
  return text.Node("less = Less(x, ten:output:0)", {{"T", DType::kFloat}});
}

FunctionText Forever() {
  FunctionText text("Forever");
  text.Arg("x: float").Result("r: bool", "r:output:0");
  return text.Node("r = Const()", {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}});
}

FunctionText AddOne() {
  FunctionText text("AddOne");
  text.Arg("x: float").Result("y: float", "sum:z:0");
  text.Node("one = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar<float>(1)}});
  return text.Node("sum = AddV2(x, one:output:0)", {{"T", DType::kFloat}});
}

FunctionText Negate() {
  FunctionText text("Negate");
  return text.Arg("x: float").Result("y: float", "neg:y:0").Node("neg = Neg(x)", {{"T", DType::kFloat}});
}

FunctionText Loop(absl::string_view name, const std::string& cond, const std::string& body) {
  FunctionText text(name);
  text.Arg("x: float").Result("y: float", "loop:output:0");
  return text.Node("loop = While(x)", {{"T", std::vector<DType>{DType::kFloat}},
                                       {"cond", AttrValue::Func(cond, {})},
                                       {"body", AttrValue::Func(body, {})}});
}

FunctionText Bump() {
  FunctionText text("Bump");
  text.Arg("h: resource").Result("r: float", "seven:output:0").Stateful();
  text.Node("one = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar<float>(1)}});
  text.Node("seven = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar<float>(7)}});
  text.Node("add = AssignAddVariableOp(h, one:output:0)", {{"dtype", DType::kFloat}});
  return text.ControlResult("done", "add");
}

Output Call(GraphBuilder& builder, absl::string_view name, absl::string_view function, std::vector<Output> inputs,
            std::vector<DType> results, FunctionDefBuilder::Attrs function_attrs, absl::string_view op) {
  std::vector<DType> types;
  for (const Output& input : inputs) types.push_back(builder.graph().output_type(input.node, input.index));
  return builder.Op(op, name, std::move(inputs),
                    {{"Tin", types}, {"Tout", results}, {"f", AttrValue::Func(function, function_attrs)}});
}

}  // namespace sluice
