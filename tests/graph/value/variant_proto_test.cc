// Variants in TensorProtos: codecs, nesting, unknown types.

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/variant.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A list of tensors, named as TensorFlow's.
class List final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "tensorflow::TensorList";
  List(std::string metadata, std::vector<Tensor> tensors)
      : VariantObject(kTypeName), metadata_(std::move(metadata)), tensors_(std::move(tensors)) {}
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override {
    *metadata = metadata_;
    *tensors = tensors_;
    return absl::OkStatus();
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::string metadata_;
  std::vector<Tensor> tensors_;
};

absl::StatusOr<Variant> DecodeList(absl::string_view metadata, absl::Span<Tensor> tensors) {
  return Variant(MakeCounted<List>(std::string(metadata), std::vector<Tensor>(tensors.begin(), tensors.end())));
}

constexpr VariantCodec kCodecs[] = {{List::kTypeName, &DecodeList}};

DecodeTensorOptions WithLists() {
  DecodeTensorOptions options;
  options.variant_codecs = kCodecs;
  return options;
}

// A scalar variant tensor that holds a list of `tensors`.
Tensor ListOf(std::vector<Tensor> tensors) {
  Tensor tensor = *Tensor::Make(DType::kVariant, Shape());
  tensor.flat<Variant>()[0] = Variant(MakeCounted<List>("", std::move(tensors)));
  return tensor;
}

const List* ListIn(const Tensor& tensor) { return tensor.flat<Variant>()[0].Get<List>(); }

TEST(VariantProtoTest, AListOfTensorFlowIsRead) {
  const std::string bytes = absl::HexStringToBytes(
      "081512002253520a1674656e736f72666c6f773a3a54656e736f724c69737412100001ffffffffffffffffff01120208021a1208011204"
      "120208022a080000803f000000401a1208011204120208022a080000404000008040");
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes, WithLists()));
  ASSERT_NE(ListIn(tensor), nullptr);
  ASSERT_EQ(ListIn(tensor)->tensors().size(), 2u);
  EXPECT_EQ(ListIn(tensor)->tensors()[1].ToString(), "float32 [2] {3, 4}");
}

TEST(VariantProtoTest, ListsSurviveTheRoundTrip) {
  const int64_t live = VariantObject::LiveCount();
  {
    const Tensor inner = ListOf({Tensor::Scalar(1.0f), Tensor::String("text")});
    const Tensor outer = ListOf({inner, Tensor::Vector<int32_t>({1, 2, 3, 4, 5, 6}), ListOf({}), inner});
    ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeTensorProto(outer));
    ASSERT_OK_AND_ASSIGN(const Tensor again, DecodeTensorProto(bytes, WithLists()));
    const std::vector<Tensor>& tensors = ListIn(again)->tensors();
    ASSERT_EQ(tensors.size(), 4u);
    EXPECT_EQ(tensors[1].ToString(), "int32 [6] {1, 2, 3, 4, 5, 6}");
    EXPECT_EQ(ListIn(tensors[2])->tensors().size(), 0u);
    EXPECT_EQ(ListIn(tensors[3])->tensors()[1].ToString(), "string [] {'text'}");
    EXPECT_OK(InspectTensorProto(bytes));
  }
  EXPECT_EQ(VariantObject::LiveCount(), live);
}

TEST(VariantProtoTest, UnknownTypesAreNamed) {
  const std::string bytes = absl::HexStringToBytes("081512007a110a0c6e6f20737563682074797065120178");
  EXPECT_OK(InspectTensorProto(bytes));
  EXPECT_THAT(DecodeTensorProto(bytes, WithLists()), IsError(ErrorCode::kTensorKind, "no such type"));
  EXPECT_THAT(DecodeTensorProto(bytes), StatusIs(absl::StatusCode::kInvalidArgument, "no such type"));
}

TEST(VariantProtoTest, NoValueSurvivesTheRoundTrip) {
  Tensor tensor = *Tensor::Make(DType::kVariant, Shape::Of({2}));
  tensor.flat<Variant>()[1] = Variant(MakeCounted<List>("m", std::vector<Tensor>()));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeTensorProto(tensor));
  ASSERT_OK_AND_ASSIGN(const Tensor again, DecodeTensorProto(bytes, WithLists()));
  EXPECT_FALSE(again.flat<Variant>()[0].has_value());
  EXPECT_TRUE(again.flat<Variant>()[1].has_value());
}

// A variant tensor inside a variant tensor and so on; T10.
std::string Nested(int depth) {
  std::string bytes;
  for (int i = 0; i < depth; ++i) {
    std::string tensor;
    WireWriter writer(&tensor);
    writer.Int(1, static_cast<int>(DType::kVariant));
    writer.Bytes(2, "");
    const size_t variant = writer.BeginMessage(15);
    writer.Bytes(1, List::kTypeName);
    if (!bytes.empty()) writer.Bytes(3, bytes);
    writer.EndMessage(variant);
    bytes = tensor;
  }
  return bytes;
}

TEST(VariantProtoTest, DeepNestingIsRefused) {
  EXPECT_OK(InspectTensorProto(Nested(50)));
  EXPECT_OK(DecodeTensorProto(Nested(50), WithLists()));
  for (const int depth : {51, 1000}) {
    EXPECT_THAT(InspectTensorProto(Nested(depth)), IsError(ErrorCode::kLimitDepth));
    EXPECT_THAT(DecodeTensorProto(Nested(depth), WithLists()), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  Tensor deep = Tensor::Scalar(1.0f);
  for (int i = 0; i < 100; ++i) deep = ListOf({deep});
  EXPECT_THAT(EncodeTensorProto(deep), IsError(ErrorCode::kLimitDepth));
}

TEST(VariantProtoTest, NestedTensorsCountAgainstTheLimit) {
  const Tensor half = Tensor::Of<float>(Shape::Of({1 << 20}), std::vector<float>(1 << 20, 1));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeTensorProto(ListOf({half, half})));
  LoadLimits limits;
  limits.max_tensor_bytes = 6 << 20;
  EXPECT_THAT(InspectTensorProto(bytes, limits), IsError(ErrorCode::kTensorTooLarge));
  limits.max_tensor_bytes = 9 << 20;
  EXPECT_OK(InspectTensorProto(bytes, limits));
}

TEST(VariantProtoTest, TruncationAndNoiseNeverCrash) {
  std::mt19937 random(3);
  const std::string bytes = *EncodeTensorProto(ListOf({ListOf({Tensor::String("abc")}), Tensor::Scalar(true)}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    EXPECT_TRUE(InspectTensorProto(cut).ok() || !DecodeTensorProto(cut, WithLists()).ok());
  }
  for (int round = 0; round < 5000; ++round) {
    std::string noisy = bytes;
    noisy[random() % noisy.size()] = static_cast<char>(random());
    const auto info = InspectTensorProto(noisy);
    if (info.ok() && info->memory_bytes > 1 << 20) continue;
    EXPECT_TRUE(info.ok() || !DecodeTensorProto(noisy, WithLists()).ok());
  }
}

}  // namespace
}  // namespace sluice
