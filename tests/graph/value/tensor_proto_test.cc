#include "graph/value/tensor_proto.h"

#include <complex>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tensor_content.h"
#include "graph/value/tstring.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A TensorProto of `dtype` and `dims`; `fill` adds the rest.
template <typename Fill>
std::string Proto(int64_t dtype, std::vector<int64_t> dims, Fill fill) {
  std::string out;
  WireWriter writer(&out);
  if (dtype != 0) writer.Int(1, dtype);
  const size_t shape = writer.BeginMessage(2);
  for (const int64_t size : dims) {
    const size_t dim = writer.BeginMessage(2);
    writer.Int(1, size);
    writer.EndMessage(dim);
  }
  writer.EndMessage(shape);
  fill(writer);
  return out;
}

std::string Proto(int64_t dtype, std::vector<int64_t> dims = {}) {
  return Proto(dtype, std::move(dims), [](WireWriter&) {});
}

constexpr int kFloat = 1, kInt8 = 6, kString = 7, kComplex64 = 8, kBool = 10, kHalf = 19, kResource = 20;

TEST(TensorProtoTest, ContentOfTensorFlowIsRead) {
  const std::string bytes = absl::HexStringToBytes("0801120412020803220c0000803f00002040000040c0");
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes));
  EXPECT_EQ(tensor.ToString(), "float32 [3] {1, 2.5, -3}");
}

TEST(TensorProtoTest, ElementsAreFoundWhereTheyStand) {
  const auto proto = [](int number, const std::string& content) {
    return Proto(number, {2}, [&](WireWriter& w) { w.Bytes(4, content); });
  };
  const std::string bytes = proto(kFloat, std::string(8, '\2')), text = proto(kString, std::string(2, '\0'));
  const std::string values = Proto(kFloat, {2});
  ASSERT_OK_AND_ASSIGN(const TensorContent plain, FindTensorContent(bytes));
  EXPECT_EQ(plain.dtype, DType::kFloat);
  EXPECT_EQ(plain.shape, Shape::Of({2}));
  EXPECT_EQ(plain.bytes, std::string(8, '\2'));
  EXPECT_TRUE(plain.bytes.data() > bytes.data() && plain.bytes.data() < bytes.data() + bytes.size());
  ASSERT_OK_AND_ASSIGN(const TensorContent strings, FindTensorContent(text));
  EXPECT_EQ(strings.bytes, "") << "lengths are not elements";
  ASSERT_OK_AND_ASSIGN(const TensorContent zeros, FindTensorContent(values));
  EXPECT_EQ(zeros.bytes, "");
  EXPECT_EQ(zeros.shape, Shape::Of({2}));
}

TEST(TensorProtoTest, StringsOfTensorFlowAreRead) {
  const std::string bytes = absl::HexStringToBytes(
      "08071204120208034201614200421d6120737472696e67206c6f6e676572207468616e203232206279746573");
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes));
  EXPECT_EQ(tensor.ToString(), "string [3] {'a', '', 'a string longer than 22 bytes'}");
}

TEST(TensorProtoTest, ScalarsOfTensorFlowAreRead) {
  ASSERT_OK_AND_ASSIGN(const Tensor c, DecodeTensorProto(absl::HexStringToBytes("080812004a080000803f00000040")));
  ASSERT_OK_AND_ASSIGN(const Tensor h, DecodeTensorProto(absl::HexStringToBytes("081312006a02807c")));
  ASSERT_OK_AND_ASSIGN(const Tensor b, DecodeTensorProto(absl::HexStringToBytes("080e1204120208016a02c07f")));
  EXPECT_EQ(c.ToString(), "complex64 [] {(1,2)}");
  EXPECT_EQ(h.ToString(), "float16 [] {1.5}");
  EXPECT_EQ(b.ToString(), "bfloat16 [1] {1.5}");
}

TEST(TensorProtoTest, ShortFieldsArePaddedWithTheLastValue) {
  const std::string bytes = Proto(kFloat, {5}, [](WireWriter& w) {
    w.Float(5, 1);  // Not packed.
    w.Float(5, 2);
  });
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes));
  EXPECT_EQ(tensor.ToString(), "float32 [5] {1, 2, 2, 2, 2}");
  const std::string strings = Proto(kString, {3}, [](WireWriter& w) {
    w.Bytes(8, "a");
    w.Bytes(8, "bc");
  });
  ASSERT_OK_AND_ASSIGN(const Tensor text, DecodeTensorProto(strings));
  EXPECT_EQ(text.ToString(), "string [3] {'a', 'bc', 'bc'}");
}

TEST(TensorProtoTest, NoValuesMeanZeros) {
  for (int number = 1; number <= 23; ++number) {
    ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(Proto(number, {3, 2})));
    EXPECT_EQ(tensor.bytes(), std::string(6 * DTypeSize(tensor.dtype()), '\0')) << number;
    ASSERT_OK_AND_ASSIGN(const TensorProtoInfo info, InspectTensorProto(Proto(number, {3, 2})));
    EXPECT_TRUE(info.is_splat);
    EXPECT_EQ(info.shape, Shape::Of({3, 2}));
  }
}

TEST(TensorProtoTest, SurplusValuesAreIgnored) {
  const std::string bytes = Proto(kFloat, {2}, [](WireWriter& w) { w.Bytes(5, std::string(20, '\1')); });
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes));
  EXPECT_EQ(tensor.bytes(), std::string(8, '\1'));
  const std::string strings = Proto(kString, {}, [](WireWriter& w) {
    w.Bytes(8, "a");
    w.Bytes(8, "b");
  });
  ASSERT_OK_AND_ASSIGN(const Tensor text, DecodeTensorProto(strings));
  EXPECT_EQ(text.ToString(), "string [] {'a'}");
}

TEST(TensorProtoTest, HalfAComplexNumberIsNone) {
  const auto make = [](std::vector<float> parts) {
    return Proto(kComplex64, {2}, [&](WireWriter& w) {
      for (const float part : parts) w.Float(9, part);
    });
  };
  ASSERT_OK_AND_ASSIGN(const Tensor odd, DecodeTensorProto(make({1, 2, 3})));
  ASSERT_OK_AND_ASSIGN(const Tensor single, DecodeTensorProto(make({1})));
  EXPECT_EQ(odd.ToString(), "complex64 [2] {(1,2), (1,2)}");
  EXPECT_EQ(single.ToString(), "complex64 [2] {(0,0), (0,0)}");
}

TEST(TensorProtoTest, SmallIntegersComeFromIntVal) {
  const std::string bytes = Proto(kInt8, {2}, [](WireWriter& w) {
    w.Int(7, 200);
    w.Int(7, -300);
  });
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes));
  EXPECT_EQ(tensor.ToString(), "int8 [2] {-56, -44}");
  const std::string half = Proto(kHalf, {2}, [](WireWriter& w) { w.Int(7, 0x3c00); });
  ASSERT_OK_AND_ASSIGN(const Tensor not_half, DecodeTensorProto(half));
  EXPECT_EQ(not_half.ToString(), "float16 [2] {0, 0}");
}

TEST(TensorProtoTest, BoolsAreZeroOrOne) {
  const std::string values = Proto(kBool, {3}, [](WireWriter& w) {
    w.Int(11, 7);
    w.Int(11, 0);
    w.Int(11, -1);
  });
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(values));
  EXPECT_EQ(tensor.bytes(), std::string("\1\0\1", 3));
  const std::string content = Proto(kBool, {2}, [](WireWriter& w) { w.Bytes(4, "\1\7"); });
  EXPECT_THAT(InspectTensorProto(content), IsError(ErrorCode::kTensorContent, "byte 7"));
}

TEST(TensorProtoTest, ContentWinsOverValues) {
  const std::string bytes = Proto(kFloat, {1}, [](WireWriter& w) {
    w.Float(5, 9);
    w.Bytes(4, absl::string_view("\0\0\x80\x3f", 4));
  });
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(bytes));
  EXPECT_EQ(tensor.ToString(), "float32 [1] {1}");
}

TEST(TensorProtoTest, StringContentIsLengthsAndBytes) {
  const auto make = [](absl::string_view content) {
    return Proto(kString, {2}, [&](WireWriter& w) { w.Bytes(4, content); });
  };
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(make("\1\2abc")));
  EXPECT_EQ(tensor.ToString(), "string [2] {'a', 'bc'}");
  for (const absl::string_view bad : {"\x7f\x7f"
                                      "ab",
                                      "\1\3abc", "\1\1abc", "\1", "\xff\xff\xff\xff\xff", "\1\x80"}) {
    EXPECT_THAT(InspectTensorProto(make(bad)), IsError(ErrorCode::kTensorContent)) << bad;
    EXPECT_THAT(DecodeTensorProto(make(bad)), IsError(ErrorCode::kTensorContent)) << bad;
  }
}

// T01, T02.
TEST(TensorProtoTest, WrongDTypesAreRefusedByName) {
  EXPECT_THAT(InspectTensorProto(Proto(0, {0})), IsError(ErrorCode::kTensorDType, "no dtype"));
  EXPECT_THAT(InspectTensorProto(Proto(9999)), IsError(ErrorCode::kTensorDType, "9999"));
  EXPECT_THAT(InspectTensorProto(Proto(-1)), IsError(ErrorCode::kTensorDType, "-1"));
  EXPECT_THAT(InspectTensorProto(Proto(101)), IsError(ErrorCode::kTensorDType, "float32&"));
  EXPECT_THAT(InspectTensorProto(Proto(24)), IsError(ErrorCode::kTensorDType, "float8_e5m2"));
  EXPECT_THAT(InspectTensorProto(Proto(29)), IsError(ErrorCode::kTensorDType, "int4"));
  EXPECT_THAT(DecodeTensorProto(Proto(30)), StatusIs(absl::StatusCode::kInvalidArgument, "uint4"));
}

// T03, T04.
TEST(TensorProtoTest, ImpossibleShapesAreRefused) {
  const int64_t big = int64_t{1} << 31;
  for (const std::vector<int64_t>& dims :
       std::vector<std::vector<int64_t>>{{-1}, {2, -5}, {big, big, big}, {0, int64_t{1} << 62, int64_t{1} << 62}}) {
    EXPECT_THAT(InspectTensorProto(Proto(kFloat, dims)), IsError(ErrorCode::kTensorShape));
  }
  EXPECT_THAT(InspectTensorProto(Proto(kFloat, std::vector<int64_t>(255, 1))), IsError(ErrorCode::kTensorShape, "254"));
  EXPECT_THAT(InspectTensorProto(Proto(kFloat, std::vector<int64_t>(100000, 1))), IsError(ErrorCode::kTensorShape));
  EXPECT_OK(InspectTensorProto(Proto(kFloat, std::vector<int64_t>(254, 1))));
  const std::string unknown = absl::HexStringToBytes("080112021801");
  EXPECT_THAT(InspectTensorProto(unknown), IsError(ErrorCode::kTensorShape, "unknown rank"));
}

// T05.
TEST(TensorProtoTest, ContentOfAnotherSizeNamesBothSizes) {
  const auto make = [](int64_t size, size_t bytes) {
    return Proto(kFloat, {size}, [&](WireWriter& w) { w.Bytes(4, std::string(bytes, 'x')); });
  };
  for (const size_t bytes : {3, 17}) {
    EXPECT_THAT(InspectTensorProto(make(4, bytes)), IsError(ErrorCode::kTensorContent, absl::StrCat(bytes, " bytes")));
    EXPECT_THAT(DecodeTensorProto(make(4, bytes)), IsError(ErrorCode::kTensorContent, "16 bytes"));
  }
  EXPECT_THAT(InspectTensorProto(make(0, 1)), IsError(ErrorCode::kTensorContent, "0 bytes"));
}

// T06.
TEST(TensorProtoTest, HugeConstantsAreRefusedBeforeMemoryIsTaken) {
  const std::string splat = Proto(kFloat, {1000000000000}, [](WireWriter& w) { w.Float(5, 1); });
  const int64_t live = HostAllocatorLiveBytes();
  EXPECT_THAT(InspectTensorProto(splat), IsError(ErrorCode::kTensorTooLarge, "4000000000000 bytes"));
  EXPECT_THAT(DecodeTensorProto(splat), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeTensorProto(Proto(18, {int64_t{1} << 61})), IsError(ErrorCode::kTensorTooLarge));
  const std::string strings = Proto(kString, {10000}, [](WireWriter& w) { w.Bytes(8, std::string(1000000, 'x')); });
  EXPECT_THAT(DecodeTensorProto(strings), IsError(ErrorCode::kTensorTooLarge));  // 10 GB of padding.
  EXPECT_EQ(HostAllocatorLiveBytes(), live);
  LoadLimits limits;
  limits.max_tensor_bytes = 100;
  EXPECT_OK(InspectTensorProto(Proto(kFloat, {25}), limits));
  EXPECT_THAT(InspectTensorProto(Proto(kFloat, {26}), limits), IsError(ErrorCode::kTensorTooLarge, "104"));
}

// T09.
TEST(TensorProtoTest, HandlesAreReadAndChecked) {
  const auto make = [](int64_t dtype, int copies) {
    return Proto(kResource, {}, [=](WireWriter& w) {
      for (int i = 0; i < copies; ++i) {
        const size_t handle = w.BeginMessage(14);
        w.Bytes(3, "weights");
        const size_t element = w.BeginMessage(6);
        w.Int(1, dtype);
        w.EndMessage(element);
        w.EndMessage(handle);
      }
    });
  };
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, DecodeTensorProto(make(kFloat, 1)));
  EXPECT_EQ(tensor.flat<ResourceHandle>()[0].data().name, "weights");
  EXPECT_EQ(tensor.flat<ResourceHandle>()[0].data().dtypes_and_shapes[0].dtype, DType::kFloat);
  EXPECT_THAT(InspectTensorProto(make(kFloat, 2)), IsError(ErrorCode::kTensorValue, "2 handles"));
  EXPECT_THAT(InspectTensorProto(make(9999, 1)), IsError(ErrorCode::kTensorDType));
  ASSERT_OK_AND_ASSIGN(const std::string written, EncodeTensorProto(tensor));
  ASSERT_OK_AND_ASSIGN(const Tensor again, DecodeTensorProto(written));
  EXPECT_EQ(again.ToString(), tensor.ToString());
}

// Fills `tensor` with bytes that are the same for the same seed.
Tensor RandomTensor(DType dtype, const Shape& shape, bool equal, uint32_t seed) {
  std::mt19937 random(seed);
  Tensor tensor = *Tensor::Make(dtype, shape);
  if (dtype == DType::kString) {
    for (TString& text : tensor.flat<TString>()) text = std::string(random() % 40, static_cast<char>(random()));
    return tensor;
  }
  char* const data = static_cast<char*>(tensor.mutable_raw_data());
  const size_t size = DTypeSize(dtype);
  for (size_t i = 0; i < tensor.total_bytes(); ++i) {
    data[i] = equal && i >= size ? data[i - size] : static_cast<char>(dtype == DType::kBool ? random() % 2 : random());
  }
  return tensor;
}

TEST(TensorProtoTest, EveryDTypeSurvivesTheRoundTrip) {
  for (int number = 1; number <= 23; ++number) {
    const DType dtype = DTypeFromNumber(number);
    if (!IsTrivial(dtype) && dtype != DType::kString) continue;
    for (const Shape& shape : {Shape(), Shape::Of({3, 5}), Shape::Of({0, 2}), Shape::Of({1, 1, 1, 1, 2})}) {
      for (const bool equal : {false, true}) {
        const Tensor tensor = RandomTensor(dtype, shape, equal, static_cast<uint32_t>(number));
        ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeTensorProto(tensor));
        ASSERT_OK_AND_ASSIGN(const Tensor again, DecodeTensorProto(bytes));
        EXPECT_EQ(again.shape(), tensor.shape());
        EXPECT_EQ(again.ToString(100), tensor.ToString(100));
        if (dtype != DType::kString) {
          EXPECT_EQ(again.bytes(), tensor.bytes());
        }
      }
    }
  }
}

TEST(TensorProtoTest, SplatsAreWrittenOnce) {
  const Tensor ones = Tensor::Of<float>(Shape::Of({1000}), std::vector<float>(1000, 1));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeTensorProto(ones));
  EXPECT_LT(bytes.size(), 20u);
  ASSERT_OK_AND_ASSIGN(const TensorProtoInfo info, InspectTensorProto(bytes));
  EXPECT_TRUE(info.is_splat);
  EXPECT_EQ(info.memory_bytes, 4000);
  EncodeTensorOptions options;
  options.compress_splats = false;
  ASSERT_OK_AND_ASSIGN(const std::string full, EncodeTensorProto(ones, options));
  EXPECT_GT(full.size(), 4000u);
  const Tensor minus_zeros = Tensor::Vector<float>(std::vector<float>(9, -0.0f));
  ASSERT_OK_AND_ASSIGN(const std::string minus, EncodeTensorProto(minus_zeros));
  ASSERT_OK_AND_ASSIGN(const Tensor again, DecodeTensorProto(minus));
  EXPECT_EQ(again.bytes(), minus_zeros.bytes());
}

TEST(TensorProtoTest, LargeContentIsSharedWithItsOwner) {
  const Tensor tensor = RandomTensor(DType::kUInt8, Shape::Of({5000}), false, 1);
  auto owner = std::make_shared<const std::string>(*EncodeTensorProto(tensor));
  DecodeTensorOptions options;
  options.owner = owner;
  ASSERT_OK_AND_ASSIGN(Tensor shared, DecodeTensorProto(*owner, options));
  const char* const data = static_cast<const char*>(shared.raw_data());
  EXPECT_TRUE(data > owner->data() && data < owner->data() + owner->size());
  EXPECT_FALSE(shared.IsUniquelyOwned());
  EXPECT_EQ(shared.bytes(), tensor.bytes());
  options.owner = nullptr;
  EXPECT_EQ(owner.use_count(), 2);
  shared = Tensor();
  EXPECT_EQ(owner.use_count(), 1);
  ASSERT_OK_AND_ASSIGN(const Tensor copied, DecodeTensorProto(*owner, options));
  EXPECT_TRUE(copied.IsUniquelyOwned());
}

TEST(TensorProtoTest, MisalignedContentIsCopied) {
  const Tensor tensor = RandomTensor(DType::kDouble, Shape::Of({500}), false, 1);
  const std::string encoded = *EncodeTensorProto(tensor);
  for (size_t shift = 0; shift < 8; ++shift) {
    auto owner = std::make_shared<const std::string>(std::string(shift, ' ') + encoded);
    DecodeTensorOptions options;
    options.owner = owner;
    ASSERT_OK_AND_ASSIGN(const Tensor decoded, DecodeTensorProto(absl::string_view(*owner).substr(shift), options));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(decoded.raw_data()) % 8, 0u);
    EXPECT_EQ(decoded.bytes(), tensor.bytes());
  }
}

TEST(TensorProtoTest, ATensorWithoutAValueIsAnError) {
  EXPECT_THAT(EncodeTensorProto(Tensor()).status(), IsError(ErrorCode::kWrongUse, "without a value"));
}

TEST(TensorProtoTest, TruncationAndNoiseNeverCrash) {
  std::mt19937 random(11);
  for (int number = 1; number <= 23; ++number) {
    const DType dtype = DTypeFromNumber(number);
    if (!IsTrivial(dtype) && dtype != DType::kString) continue;
    const std::string bytes = *EncodeTensorProto(RandomTensor(dtype, Shape::Of({3, 5}), false, 5));
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto info = InspectTensorProto(bytes.substr(0, size));
      EXPECT_EQ(info.ok(), DecodeTensorProto(bytes.substr(0, size)).ok());
    }
    for (int round = 0; round < 300; ++round) {
      std::string noisy = bytes;
      for (int i = 0; i < 3; ++i) noisy[random() % noisy.size()] = static_cast<char>(random());
      const auto info = InspectTensorProto(noisy);
      const auto tensor =
          info.ok() && info->memory_bytes > 1 << 20 ? absl::StatusOr<Tensor>(Tensor()) : DecodeTensorProto(noisy);
      EXPECT_EQ(info.ok(), tensor.ok()) << absl::BytesToHexString(noisy);
    }
  }
}

TEST(TensorProtoTest, DamagedBytesNameTheirPlace) {
  EXPECT_THAT(InspectTensorProto(absl::HexStringToBytes("08012a03000000")),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(InspectTensorProto(absl::HexStringToBytes("0801120a")), IsError(ErrorCode::kFileTruncated));
}

}  // namespace
}  // namespace sluice
