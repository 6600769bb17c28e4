#include "tools/cli/numpy/npz.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// numpy.savez(f, a=numpy.float32([1, 2]), b=numpy.int32(3)): 64-bit sizes in the local headers.
std::string StoredByNumPy() {
  return absl::HexStringToBytes(
      "504b03042d0000000000000021009acaabe7ffffffffffffffff05001400612e6e7079010010008800000000000000880000000000000093"
      "4e554d5059010076007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065"
      "273a2028322c292c207d20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
      "20202020202020202020202020200a0000803f00000040504b03042d0000000000000021005bbad33bffffffffffffffff05001400622e6e"
      "70790100100084000000000000008400000000000000934e554d5059010076007b276465736372273a20273c6934272c2027666f72747261"
      "6e5f6f72646572273a2046616c73652c20277368617065273a2028292c207d20202020202020202020202020202020202020202020202020"
      "202020202020202020202020202020202020202020202020202020202020202020202020200a03000000504b01022d032d00000000000000"
      "21009acaabe78800000088000000050000000000000000000000800100000000612e6e7079504b01022d032d0000000000000021005bbad3"
      "3b84000000840000000500000000000000000000008001bf000000622e6e7079504b05060000000002000200660000007a0100000000");
}

// numpy.savez_compressed(f, a=numpy.float32([1, 2]), b=numpy.arange(3)).
std::string DeflatedByNumPy() {
  return absl::HexStringToBytes(
      "504b03042d0000000800000021009acaabe7ffffffffffffffff05001400612e6e70790100100088000000000000004c000000000000009b"
      "ec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a"
      "463a9a3a0ab50a14002e0686067b0606060700504b03042d000000080000002100f74012eaffffffffffffffff05001400622e6e70790100"
      "100098000000000000004c000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f54529498179f5f"
      "94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e06286084d24c501a00504b01022d032d0000000800000021009aca"
      "abe74c00000088000000050000000000000000000000800100000000612e6e7079504b01022d032d000000080000002100f74012ea4c0000"
      "0098000000050000000000000000000000800183000000622e6e7079504b0506000000000200020066000000060100000000");
}

// numpy.arange(2), written to a stream that cannot seek: sizes follow the data.
std::string StreamedByNumPy() {
  return absl::HexStringToBytes(
      "504b0304140008000800ab69755d00000000000000000000000005000000782e6e70799bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a0"
      "6e9369a1aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14002e06286084d200504b0708"
      "7e6afbc94900000090000000504b01021403140008000800ab69755d7e6afbc9490000009000000005000000000000000000000080010000"
      "0000782e6e7079504b05060000000001000100330000007c0000000000");
}

void Store32(std::string* bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) (*bytes)[at + i] = static_cast<char>(value >> (8 * i));
}

// Where the `index`th row of the directory begins.
size_t RowAt(const std::string& bytes, int index = 0) {
  size_t at = bytes.find("PK\1\2");
  while (index-- > 0) at = bytes.find("PK\1\2", at + 4);
  return at;
}

// All tensors of an archive, in its order.
absl::StatusOr<std::vector<NamedTensor>> ReadNpz(absl::string_view bytes, const LoadLimits& limits = LoadLimits()) {
  SLUICE_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(bytes, limits));
  std::vector<NamedTensor> tensors;
  for (const std::string& name : reader.names()) {
    SLUICE_ASSIGN_OR_RETURN(Tensor tensor, reader.Read(name));
    tensors.emplace_back(name, std::move(tensor));
  }
  return tensors;
}

TEST(NpzTest, ArchivesOfNumPyAreRead) {
  for (const std::string& bytes : {StoredByNumPy(), DeflatedByNumPy()}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> tensors, ReadNpz(bytes));
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(tensors[0].first, "a");
    EXPECT_EQ(tensors[0].second.ToString(), "float32 [2] {1, 2}");
    EXPECT_EQ(tensors[1].first, "b");
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> streamed, ReadNpz(StreamedByNumPy()));
  EXPECT_EQ(streamed[0].second.ToString(), "int64 [2] {0, 1}");
}

TEST(NpzTest, ArraysAreReadByName) {
  const std::string bytes = DeflatedByNumPy();
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(bytes));
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"a", "b"}));
  ASSERT_OK_AND_ASSIGN(const Tensor with_suffix, reader.Read("b.npy"));
  ASSERT_OK_AND_ASSIGN(const Tensor without, reader.Read("b"));
  EXPECT_EQ(with_suffix.ToString(), "int64 [3] {0, 1, 2}");
  EXPECT_EQ(without.ToString(), with_suffix.ToString());
  EXPECT_THAT(reader.Read("c"), IsError(ErrorCode::kNumpy, "no array 'c'"));
  EXPECT_THAT(reader.Read("c"), IsError(ErrorCode::kNumpy, absl::StrCat("'", reader.names()[0], "'")));
}

TEST(NpzTest, WhatIsWrittenIsReadAndAligned) {
  const std::vector<NamedTensor> tensors = {{"x", Tensor::Vector<double>(std::vector<double>(1000, 2.5))},
                                            {"a/b", Tensor::Scalar(true)},
                                            {"text", Tensor::Strings({"p", "qr"})}};
  ASSERT_OK_AND_ASSIGN(const std::string bytes, WriteNpz(tensors));
  // An owner whose memory is aligned as a mapped file's is.
  const Tensor memory = *Tensor::Make(DType::kUInt8, Shape::Of({static_cast<int64_t>(bytes.size())}));
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(const_cast<void*>(memory.raw_data())));
  auto owner = std::make_shared<const Tensor>(memory);
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(memory.bytes(), LoadLimits(), owner));
  for (const auto& [name, tensor] : tensors) {
    ASSERT_OK_AND_ASSIGN(const Tensor again, reader.Read(name));
    EXPECT_EQ(again.ToString(), tensor.ToString());
  }
  ASSERT_OK_AND_ASSIGN(const Tensor shared, reader.Read("x"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(shared.raw_data()) % 64, 0u);
  EXPECT_FALSE(shared.IsUniquelyOwned());
  EXPECT_TRUE(shared.raw_data() > memory.raw_data());
}

TEST(NpzTest, RepeatedNamesAndOddDTypesAreRefused) {
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_THAT(WriteNpz({{"a", one}, {"a", one}}), IsError(ErrorCode::kNumpy, "repeated"));
  EXPECT_THAT(WriteNpz({{"a", Tensor::Scalar(BFloat16(1))}}), IsError(ErrorCode::kNumpy, "array 'a'"));
  std::string twice = *WriteNpz({{"a", one}, {"b", one}});
  for (size_t at = twice.find("b.npy"); at != std::string::npos; at = twice.find("b.npy")) twice[at] = 'a';
  EXPECT_THAT(ReadNpz(twice), IsError(ErrorCode::kNumpy, "twice"));
}

TEST(NpzTest, DamagedMembersAreNamed) {
  std::string stored = StoredByNumPy();
  stored[stored.find("\x80\x3f") + 1] ^= 1;
  EXPECT_THAT(ReadNpz(stored), IsError(ErrorCode::kNumpy, "'a.npy'"));
  std::string deflated = DeflatedByNumPy();
  deflated[60] ^= 1;
  EXPECT_THAT(ReadNpz(deflated), IsError(ErrorCode::kNumpy, "damaged"));
}

TEST(NpzTest, DishonestSizesAreRefusedBeforeMemoryIsTaken) {
  std::string bomb = DeflatedByNumPy();
  Store32(&bomb, RowAt(bomb) + 24, 0xfffffff0);
  EXPECT_THAT(ReadNpz(bomb), IsError(ErrorCode::kNumpy, "claims 4294967280 bytes"));
  Store32(&bomb, RowAt(bomb) + 24, 70000);
  EXPECT_THAT(ReadNpz(bomb), IsError(ErrorCode::kNumpy, "does not unpack to its size"));
  Store32(&bomb, RowAt(bomb) + 24, 100);
  EXPECT_THAT(ReadNpz(bomb), IsError(ErrorCode::kNumpy, "does not unpack to its size"));
  LoadLimits limits;
  limits.max_tensor_bytes = 200;
  EXPECT_THAT(ReadNpz(DeflatedByNumPy(), limits), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(NpzTest, OverlappingMembersAreRefused) {
  std::string bytes = *WriteNpz({{"a", Tensor::Scalar(1.0f)}, {"b", Tensor::Scalar(2.0f)}});
  const uint32_t size = static_cast<uint32_t>(RowAt(bytes) - 70);
  Store32(&bytes, RowAt(bytes) + 20, size);
  Store32(&bytes, RowAt(bytes) + 24, size);
  EXPECT_THAT(ReadNpz(bytes), IsError(ErrorCode::kNumpy, "overlap"));
}

TEST(NpzTest, OddArchivesAreExplained) {
  std::string encrypted = StoredByNumPy();
  encrypted[RowAt(encrypted) + 8] = 1;
  EXPECT_THAT(ReadNpz(encrypted), IsError(ErrorCode::kNumpy, "encrypted"));
  std::string bzip2 = StoredByNumPy();
  bzip2[RowAt(bzip2) + 10] = 12;
  EXPECT_THAT(ReadNpz(bzip2), IsError(ErrorCode::kNumpy, "method 12"));
  std::string moved = StoredByNumPy();
  Store32(&moved, RowAt(moved, 1) + 42, 7);
  EXPECT_THAT(ReadNpz(moved), IsError(ErrorCode::kNumpy, "not where"));
  EXPECT_THAT(ReadNpz(StoredByNumPy() + "x"), IsError(ErrorCode::kNumpy, "not a zip archive"));
  EXPECT_THAT(ReadNpz("x" + StoredByNumPy()), IsError(ErrorCode::kNumpy));
  EXPECT_THAT(ReadNpz(""), IsError(ErrorCode::kNumpy));
  ASSERT_OK_AND_ASSIGN(const std::string empty, WriteNpz({}));
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> none, ReadNpz(empty));
  EXPECT_TRUE(none.empty());
}

TEST(NpzTest, TruncationAndNoiseNeverCrash) {
  std::mt19937 random(9);
  for (const std::string& bytes : {StoredByNumPy(), DeflatedByNumPy(), StreamedByNumPy()}) {
    for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(ReadNpz(bytes.substr(0, size)).ok()) << size;
    for (int round = 0; round < 5000; ++round) {
      std::string noisy = bytes;
      for (int i = 0; i < 2; ++i) noisy[random() % noisy.size()] = static_cast<char>(random());
      (void)ReadNpz(noisy);
    }
  }
}

}  // namespace
}  // namespace sluice
