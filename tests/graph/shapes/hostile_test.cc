// Every op with random attrs and inputs, mostly absurd: inference ends, says sound shapes, and breaks nothing.

#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"

namespace sluice {
namespace {

// Graphs tried for each op; SLUICE_TRIALS sets another number.
uint32_t TrialsPerOp() {
  const char* text = std::getenv("SLUICE_TRIALS");
  return text == nullptr ? 60 : static_cast<uint32_t>(std::atoi(text));
}

// Makes one random node after the other, each in a graph of its own with what feeds it.
class HostileNode {
 public:
  HostileNode(const OpSchema& op, uint32_t seed)
      : op_(op), random_(seed), ops_(std::shared_ptr<const void>(), &BuiltinOps()), graph_(ops_) {}

  // False when the node is not even allowed.
  bool Build() {
    NodeSpec spec;
    spec.name = "node";
    spec.op = op_.name;
    for (const AttrSpec& attr : op_.attrs) {
      if (attr.has_default && Below(3) == 0) continue;
      spec.attrs.emplace_back(attr.name, Value(attr));
    }
    const auto find = [&](absl::string_view name, AttrView* value) {
      for (const auto& attr : spec.attrs) {
        if (attr.first == name) return *value = attr.second.view(), true;
      }
      const AttrSpec* attr = op_.FindAttr(name);
      return attr != nullptr && attr->has_default && (*value = AttrView(attr->default_value), true);
    };
    const absl::StatusOr<Signature> signature = ComputeSignature(op_, find, 64);
    if (!signature.ok()) return false;
    for (size_t i = 0; i < signature->inputs.size(); ++i) {
      spec.inputs.push_back(Source(signature->inputs[i], "in" + std::to_string(i)));
      if (!spec.inputs.back().is_set()) return false;
    }
    return graph_.AddNode(spec).ok();
  }

  const Graph& graph() const { return graph_; }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  int64_t Number() {
    static constexpr int64_t kNumbers[] = {0,
                                           1,
                                           2,
                                           3,
                                           4,
                                           5,
                                           -1,
                                           -2,
                                           -7,
                                           254,
                                           65536,
                                           2147483647,
                                           -2147483648LL,
                                           int64_t{1} << 40,
                                           int64_t{1} << 62,
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min()};
    return Below(2) == 0 ? static_cast<int64_t>(Below(4)) : kNumbers[Below(std::size(kNumbers))];
  }

  std::vector<int64_t> Numbers() {
    std::vector<int64_t> numbers(Below(6));
    for (int64_t& number : numbers) number = Number();
    return numbers;
  }

  PartialShape AnyShape() {
    if (Below(5) == 0) return PartialShape();
    std::vector<int64_t> dims(Below(6));
    if (Below(30) == 0) dims.resize(254);
    for (int64_t& dim : dims) dim = Below(4) == 0 ? Number() : static_cast<int64_t>(Below(5)) - 1;
    const absl::StatusOr<PartialShape> shape = PartialShape::Make(dims);
    return shape.ok() ? *shape : PartialShape::Of({-1, 3});
  }

  DType AnyType(const AttrSpec& attr) {
    if (!attr.allowed_types.empty()) return attr.allowed_types[Below(attr.allowed_types.size())];
    static constexpr DType kTypes[] = {DType::kFloat, DType::kInt32, DType::kInt64,   DType::kString,
                                       DType::kBool,  DType::kHalf,  DType::kVariant, DType::kResource};
    return kTypes[Below(std::size(kTypes))];
  }

  std::string AnyText(const AttrSpec& attr) {
    if (!attr.allowed_strings.empty()) return attr.allowed_strings[Below(attr.allowed_strings.size())];
    static constexpr const char* kTexts[] = {"",   "a", "ij,jk->ik", "...i,...i->...", "i->ii",
                                             "->", ",", "ab,->ba",   "NHWC",           "\xff"};
    return kTexts[Below(std::size(kTexts))];
  }

  AttrValue Value(const AttrSpec& attr) {
    switch (attr.type) {
      case AttrType::kString:
        return AttrValue(AnyText(attr));
      case AttrType::kInt:
        return AttrValue(Number());
      case AttrType::kFloat:
        return AttrValue(static_cast<float>(Number()));
      case AttrType::kBool:
        return AttrValue(Below(2) == 0);
      case AttrType::kType:
        return AttrValue(AnyType(attr));
      case AttrType::kShape:
        return AttrValue(AnyShape());
      case AttrType::kTensor:
        return AttrValue(Tensor::Scalar(static_cast<int32_t>(Below(9))));
      case AttrType::kFunc:
        return AttrValue::Func("f");
      case AttrType::kListInt:
        return AttrValue(Numbers());
      case AttrType::kListString:
        return AttrValue(std::vector<std::string>(Below(3), AnyText(attr)));
      case AttrType::kListFloat:
        return AttrValue(std::vector<float>(Below(4), 0.5f));
      case AttrType::kListBool:
        return AttrValue(std::vector<bool>(Below(3), true));
      case AttrType::kListType: {
        std::vector<DType> types(Below(4));
        for (DType& type : types) type = AnyType(attr);
        return AttrValue(types);
      }
      case AttrType::kListShape: {
        std::vector<PartialShape> shapes(Below(4));
        for (PartialShape& shape : shapes) shape = AnyShape();
        return AttrValue(shapes);
      }
      default:
        return AttrValue::EmptyList();
    }
  }

  // A placeholder, or for integers often a constant, as these decide shapes.
  Output Source(DType type, const std::string& name) {
    NodeSpec spec;
    spec.name = name;
    if (IsRef(type)) {
      spec.op = "VariableV2";
      spec.attrs = {{"dtype", BaseType(type)}, {"shape", AnyShape()}};
    } else if ((type == DType::kInt32 || type == DType::kInt64) && Below(4) != 0) {
      spec.op = "Const";
      spec.attrs = {{"dtype", type}, {"value", Constant(type)}};
    } else {
      spec.op = "Placeholder";
      spec.attrs = {{"dtype", type}, {"shape", AnyShape()}};
    }
    const absl::StatusOr<NodeId> id = graph_.AddNode(spec);
    return id.ok() ? Output{*id, 0} : Output{NodeId(-1), 0};
  }

  // Numbers as a scalar, a vector, or a matrix of pairs.
  AttrValue Constant(DType type) {
    std::vector<int64_t> values = Numbers();
    std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
    if (Below(4) == 0) values = {Number()}, dims = {};
    if (Below(4) == 0 && values.size() % 2 == 0 && !dims.empty()) dims = {dims[0] / 2, 2};
    graph_bytes::MessageBytes tensor = graph_bytes::TensorBytes(static_cast<int64_t>(type), dims);
    const bool is_narrow = type == DType::kInt32;
    for (const int64_t value : values) tensor.Int(is_narrow ? 7 : 10, is_narrow ? static_cast<int32_t>(value) : value);
    return AttrValue::FromBytes(graph_bytes::TensorAttr(tensor).str());
  }

  const OpSchema& op_;
  std::mt19937 random_;
  std::shared_ptr<const OpRegistry> ops_;
  Graph graph_;
};

// Sizes are -1 or more or ids, at most 254 of them, and their product fits.
void ExpectSound(const PartialShape& shape) {
  if (!shape.has_rank()) return;
  const absl::StatusOr<PartialShape> again = PartialShape::MakeWithIds(shape.dims());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, shape);
  if (shape.IsFullyDefined()) {
    EXPECT_EQ(shape.ToShape().rank(), shape.rank());
  }
}

void ExpectSound(const Graph& graph, const ShapeMap& shapes) {
  for (const NodeId id : graph.Nodes()) {
    for (int32_t i = 0; i < graph.num_outputs(id); ++i) {
      ExpectSound(shapes.shape(Output{id, i}));
      const HandleData* handle = shapes.handle(Output{id, i});
      if (handle == nullptr) continue;
      for (const HandlePart& part : *handle) {
        ExpectSound(part.shape);
        EXPECT_TRUE(part.shape.IsIdenticalTo(part.shape.WithoutIds()));
      }
    }
  }
  for (const ShapeProblem& problem : shapes.problems()) {
    const std::optional<ErrorInfo> info = ErrorInfoOf(problem.status);
    ASSERT_TRUE(info.has_value());
    EXPECT_FALSE(info->node.empty());
    EXPECT_NE(info->code, ErrorCode::kInternal) << problem.status;
  }
}

TEST(HostileShapesTest, EveryOpSurvivesAbsurdAttrsAndInputs) {
  std::vector<std::string> names;
  BuiltinOps().ForEachName([&](absl::string_view name) { names.emplace_back(name); });
  ASSERT_GT(names.size(), 1000u);
  size_t built = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const OpSchema& op = *BuiltinOps().Find(names[i]);
    for (uint32_t trial = 0; trial < TrialsPerOp(); ++trial) {
      HostileNode node(op, static_cast<uint32_t>(i) * 100'003 + trial);
      if (!node.Build()) continue;
      ++built;
      const absl::StatusOr<ShapeMap> shapes = InferShapes(node.graph());
      ASSERT_TRUE(shapes.ok()) << shapes.status();
      ExpectSound(node.graph(), *shapes);
      ASSERT_FALSE(HasFailure()) << names[i] << ", trial " << trial;
    }
  }
  std::cout << built << " nodes of " << names.size() << " ops, seeds from op number and trial\n";
  EXPECT_GT(built, names.size() * TrialsPerOp() / 4);
}

}  // namespace
}  // namespace sluice
