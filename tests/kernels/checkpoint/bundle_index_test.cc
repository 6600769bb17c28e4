#include "kernels/checkpoint/bundle_index.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/shape_proto.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "tests/kernels/checkpoint/table_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::string Header(int shards) {
  std::string bytes;
  WireWriter(&bytes).Varint(1, static_cast<uint64_t>(shards));
  return bytes;
}

std::string Entry(DType dtype, const PartialShape& shape, int64_t offset, int64_t size, int64_t shard = 0) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Int(1, static_cast<int64_t>(dtype));
  writer.Bytes(2, EncodeShapeProto(shape));
  writer.Int(3, shard);
  writer.Int(4, offset);
  writer.Int(5, size);
  return bytes;
}

class BundleIndexTest : public ::testing::Test {
 protected:
  std::string Prefix() const {
    return ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void Write(const std::string& suffix, const std::string& bytes) const {
    std::ofstream(Prefix() + suffix, std::ios::binary) << bytes;
  }
  // An index of one entry "w" over one shard of `shard_bytes` bytes.
  absl::Status OpenWith(const std::string& entry, size_t shard_bytes) const {
    Write(".index", TableBytes({{"", Header(1)}, {"w", entry}}, 8));
    Write(".data-00000-of-00001", std::string(shard_bytes, 'x'));
    return BundleIndex::Open(Prefix()).status();
  }
};

TEST_F(BundleIndexTest, ListsTensorsByName) {
  ASSERT_OK(OpenWith(Entry(DType::kFloat, PartialShape::Of({2, 3}), 0, 24), 24));
  ASSERT_OK_AND_ASSIGN(const BundleIndex index, BundleIndex::Open(Prefix()));
  ASSERT_EQ(index.entries().size(), 1u);
  EXPECT_EQ(index.entries().at("w").shape, Shape::Of({2, 3}));
  EXPECT_EQ(index.num_shards(), 1);
}

TEST_F(BundleIndexTest, AnIndexMayBeCompressed) {
  std::vector<std::pair<std::string, std::string>> entries = {{"", Header(1)}};
  for (int i = 0; i < 3000; ++i) {
    entries.emplace_back("layer/" + std::to_string(10000 + i) + "/kernel",
                         Entry(DType::kFloat, PartialShape::Of({2}), 8 * i, 8));
  }
  Write(".index", TableBytes(entries, 200, TableCompression::kSnappy));
  Write(".data-00000-of-00001", std::string(8 * 3000, 'x'));
  ASSERT_OK_AND_ASSIGN(const BundleIndex index, BundleIndex::Open(Prefix()));
  EXPECT_EQ(index.entries().size(), 3000u);
  EXPECT_EQ(index.entries().at("layer/12999/kernel").offset, 8 * 2999);
}

TEST_F(BundleIndexTest, MissingFilesAreNamed) {
  EXPECT_THAT(BundleIndex::Open(Prefix()), IsError(ErrorCode::kCheckpointMissing, ".index"));
  Write(".index", TableBytes({{"", Header(2)}}, 8));
  Write(".data-00000-of-00002", "");
  EXPECT_THAT(BundleIndex::Open(Prefix()), IsError(ErrorCode::kCheckpointMissing, "data-00001-of-00002"));
}

TEST_F(BundleIndexTest, ShortShardNamesTheTensor) {
  EXPECT_THAT(OpenWith(Entry(DType::kFloat, PartialShape::Of({6}), 8, 24), 31),
              IsError(ErrorCode::kCheckpointShort, "'w'"));
}

TEST_F(BundleIndexTest, EntriesThatNoTensorCanBeAreRefused) {
  constexpr int64_t kHuge = INT64_MAX;
  EXPECT_THAT(OpenWith(Entry(DType::kFloat, PartialShape::Of({6}), 0, 20), 24), IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(OpenWith(Entry(DType::kFloat, PartialShape::Of({6}), kHuge, 24), 24),
              IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(OpenWith(Entry(DType::kFloat, PartialShape::Of({6}), -8, 24), 24), IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(OpenWith(Entry(DType::kFloat, PartialShape::Of({-1}), 0, 24), 24), IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(OpenWith(Entry(static_cast<DType>(99), PartialShape::Of({6}), 0, 24), 24),
              IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(OpenWith(Entry(DType::kFloat, PartialShape::Of({6}), 0, 24, 5), 24),
              IsError(ErrorCode::kCheckpointEntry, "shard 5"));
}

TEST_F(BundleIndexTest, DamagedHeadersAreDamage) {
  for (const std::string& header : {std::string(), Header(0), Header(1'000'000'000), std::string("\xff\xff")}) {
    Write(".index", TableBytes({{"", header}}, 8));
    EXPECT_THAT(BundleIndex::Open(Prefix()), IsError(ErrorCode::kCheckpointDamaged)) << header;
  }
  Write(".index", TableBytes({{"w", Header(1)}}, 8));
  EXPECT_THAT(BundleIndex::Open(Prefix()), IsError(ErrorCode::kCheckpointDamaged, "header"));
}

}  // namespace
}  // namespace sluice
