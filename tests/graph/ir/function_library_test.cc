#include "graph/ir/function_library.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::FunctionBytes;
using graph_bytes::kFloat;
using graph_bytes::MessageBytes;
using graph_bytes::UnaryNode;
using testing::ElementsAre;

absl::StatusOr<std::shared_ptr<const FunctionDefinition>> Parse(const std::string& bytes,
                                                                const LoadLimits& limits = LoadLimits()) {
  auto owner = std::make_shared<const std::string>(bytes);
  const absl::string_view view = *owner;
  return ParseFunctionDef(std::move(owner), view, /*base_offset=*/1000, limits);
}

FunctionBytes Sample(const std::string& name = "F", const std::string& op = "Relu") {
  FunctionBytes function;
  function.name = name;
  function.args = {{"x", kFloat}};
  function.results = {{"y", kFloat}};
  function.nodes = {UnaryNode("n", op, {"x", "^x"})};
  function.ret = {{"y", "n:activations:0"}};
  return function;
}

TEST(ParseFunctionDefTest, PartsAreThere) {
  FunctionBytes sample = Sample();
  sample.control_ret = {{"done", "n"}};
  MessageBytes message = sample.Message();
  message.Entry(5, "_noinline", graph_bytes::BoolAttr(true));
  ASSERT_OK_AND_ASSIGN(const auto function, Parse(message.str()));
  EXPECT_EQ(function->name(), "F");
  ASSERT_EQ(function->nodes.size(), 1u);
  EXPECT_EQ(function->nodes[0].op, "Relu");
  EXPECT_THAT(function->nodes[0].inputs, ElementsAre("x", "^x"));
  EXPECT_THAT(function->ret, ElementsAre(testing::Pair("y", "n:activations:0")));
  EXPECT_THAT(function->control_ret, ElementsAre(testing::Pair("done", "n")));
  ASSERT_NE(function->FindAttr("_noinline"), nullptr);
  EXPECT_EQ(function->FindAttr("other"), nullptr);
  EXPECT_EQ(function->bytes, message.str());
}

TEST(ParseFunctionDefTest, LastOfEqualMapKeysCounts) {
  FunctionBytes sample = Sample();
  sample.ret = {{"y", "first:0"}, {"a", "x"}, {"y", "last:0"}};
  ASSERT_OK_AND_ASSIGN(const auto function, Parse(sample.Message().str()));
  EXPECT_THAT(function->ret, ElementsAre(testing::Pair("a", "x"), testing::Pair("y", "last:0")));
}

// As protobuf reads it: the text form of the same file would hold one signature with the arguments of both.
TEST(ParseFunctionDefTest, SignaturesThatComeTwiceAreMerged) {
  const std::string once = Sample().Message().str();
  MessageBytes more_args;
  more_args.Sub(2, MessageBytes().Bytes(1, "z").Int(3, kFloat));
  MessageBytes merged;
  merged.Raw(once).Sub(1, more_args);
  ASSERT_OK_AND_ASSIGN(const auto function, Parse(merged.str()));
  ASSERT_EQ(function->schema.inputs.size(), 2u);
  EXPECT_EQ(function->schema.inputs[1].name, "z");
  EXPECT_EQ(function->name(), "F");
  MessageBytes twice;
  twice.Raw(once).Raw(once);
  EXPECT_THAT(Parse(twice.str()).status(), IsError(ErrorCode::kFunctionSignature, "declared twice"));
}

TEST(ParseFunctionDefTest, AttrsOfASignatureAreLimited) {
  const auto with_attrs = [](int count) {
    MessageBytes signature;
    signature.Bytes(1, "F");
    for (int i = 0; i < count; ++i) {
      signature.Sub(4, MessageBytes().Bytes(1, "a" + std::to_string(i)).Bytes(2, "int"));
    }
    MessageBytes message;
    return message.Sub(1, signature).str();
  };
  const int limit = static_cast<int>(LoadLimits().max_attrs_per_node);
  EXPECT_OK(Parse(with_attrs(limit)));
  EXPECT_THAT(Parse(with_attrs(limit + 1)).status(), IsError(ErrorCode::kLimitAttrs, "attrs"));
}

TEST(ParseFunctionDefTest, TruncationSaysWhere) {
  const std::string bytes = Sample().Message().str();
  const absl::Status status = Parse(bytes.substr(0, bytes.size() - 1)).status();
  ASSERT_FALSE(status.ok());
  EXPECT_GE(ErrorInfoOf(status)->byte_begin, 1000);
}

TEST(ParseFunctionDefTest, TruncatedAtEveryByteNeverCrashes) {
  const std::string bytes = Sample().Message().str();
  for (size_t size = 0; size < bytes.size(); ++size) Parse(bytes.substr(0, size)).status().IgnoreError();
}

TEST(ParseFunctionDefTest, FunctionWithoutNameIsRefused) {
  EXPECT_THAT(Parse(Sample("").Message().str()), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ParseFunctionDefTest, TwoArgumentsOfOneNameAreRefused) {
  FunctionBytes sample = Sample();
  sample.args.push_back({"x", kFloat});
  const absl::Status status = Parse(sample.Message().str()).status();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionSignature, "function 'F': input 'x' is declared twice"));
  EXPECT_EQ(ErrorInfoOf(status)->function, "F");
}

TEST(ParseFunctionDefTest, AnEntryOfRetWithoutAKeySaysWhichItIs) {
  FunctionBytes sample = Sample();
  sample.ret.emplace_back("", "n:activations:0");
  const absl::Status status = Parse(sample.Message().str()).status();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionRet, "function 'F': an entry of ret has an empty key"));
  EXPECT_EQ(ErrorInfoOf(status)->found, "'' -> 'n:activations:0'");
  EXPECT_EQ(ErrorInfoOf(status)->expected, "the name of an output: y");
}

TEST(ParseFunctionDefTest, BodyOfTheOldFormIsRefused) {
  MessageBytes message = Sample().Message();
  message.Bytes(2, "");
  EXPECT_THAT(Parse(message.str()), IsError(ErrorCode::kFunctionBody));
}

TEST(ParseFunctionDefTest, LimitsAreKept) {
  LoadLimits limits;
  limits.max_name_bytes = 3;
  EXPECT_THAT(Parse(Sample("Long").Message().str(), limits), IsError(ErrorCode::kLimitName));
  limits = LoadLimits();
  limits.max_nodes = 0;
  EXPECT_THAT(Parse(Sample().Message().str(), limits), IsError(ErrorCode::kLimitNodes));
}

TEST(FunctionLibraryTest, FindsByNameAndListsInOrder) {
  FunctionLibrary library;
  ASSERT_OK(library.Add(*Parse(Sample("B").Message().str())));
  ASSERT_OK(library.Add(*Parse(Sample("A").Message().str())));
  EXPECT_THAT(library.Names(), ElementsAre("A", "B"));
  EXPECT_EQ(library.Find("A")->name(), "A");
  EXPECT_EQ(library.FindSchema("A"), &library.Find("A")->schema);
  EXPECT_EQ(library.Find("C"), nullptr);
  EXPECT_EQ(library.UniqueName("A"), "A_1");
  EXPECT_EQ(library.UniqueName("C"), "C");
}

TEST(FunctionLibraryTest, TheSameFunctionTwiceIsOneFunction) {
  FunctionLibrary library;
  FunctionBytes sample = Sample();
  sample.nodes.push_back(UnaryNode("m", "Elu", {"x"}));
  ASSERT_OK(library.Add(*Parse(sample.Message().str())));
  std::swap(sample.nodes[0], sample.nodes[1]);  // Another order of nodes makes no difference.
  EXPECT_THAT(library.Add(*Parse(sample.Message().str())), IsOk());
  EXPECT_EQ(library.size(), 1u);
}

TEST(FunctionLibraryTest, AnotherFunctionOfTheSameNameIsRefused) {
  FunctionLibrary library;
  ASSERT_OK(library.Add(*Parse(Sample().Message().str())));
  EXPECT_THAT(library.Add(*Parse(Sample("F", "Elu").Message().str())), IsError(ErrorCode::kFunctionDuplicate, "'F'"));
}

TEST(FunctionLibraryTest, SchemaOfARemovedFunctionStaysValid) {
  FunctionLibrary library;
  ASSERT_OK(library.Add(*Parse(Sample().Message().str())));
  const OpSchema* const schema = library.FindSchema("F");
  library.Remove("F");
  EXPECT_FALSE(library.Contains("F"));
  EXPECT_EQ(schema->name, "F");
}

TEST(FunctionLibraryTest, GradientsAreUnique) {
  FunctionLibrary library;
  ASSERT_OK(library.AddGradient("F", "G"));
  EXPECT_THAT(library.AddGradient("F", "G"), IsOk());
  EXPECT_THAT(library.AddGradient("F", "H"), IsError(ErrorCode::kFunctionGradient, "'H'"));
  EXPECT_EQ(library.FindGradient("F"), "G");
  EXPECT_EQ(library.FindGradient("G"), "");
}

}  // namespace
}  // namespace sluice
