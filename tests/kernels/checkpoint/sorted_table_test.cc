#include "kernels/checkpoint/sorted_table.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/checkpoint/crc32c.h"
#include "tests/kernels/checkpoint/table_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Entries> Read(const std::string& file) {
  Entries entries;
  const absl::Status status = ForEachTableEntry(file, [&](absl::string_view key, absl::string_view value) {
    entries.emplace_back(std::string(key), std::string(value));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return entries;
}

Entries Sample(int count) {
  Entries entries = {{"", "header"}};
  for (int i = 0; i < count; ++i) {
    entries.emplace_back("layer/" + std::to_string(100000 + i), std::string(static_cast<size_t>(i % 50), 'v'));
  }
  return entries;
}

TEST(Crc32cTest, MatchesPublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c("456789", Crc32c("123")), Crc32c("123456789"));
  EXPECT_EQ(UnmaskCrc(MaskCrc(0x12345678)), 0x12345678u);
}

TEST(SortedTableTest, EntriesComeBackInOrderWhateverTheBlocks) {
  for (size_t a_block : {1u, 3u, 1000u}) {
    ASSERT_OK_AND_ASSIGN(const Entries entries, Read(TableBytes(Sample(200), a_block)));
    EXPECT_EQ(entries, Sample(200));
  }
}

TEST(SortedTableTest, CompressedBlocksAreReadAsPlainOnes) {
  for (size_t a_block : {1u, 3u, 1000u}) {
    const std::string file = TableBytes(Sample(2000), a_block, TableCompression::kSnappy);
    ASSERT_OK_AND_ASSIGN(const Entries entries, Read(file));
    EXPECT_EQ(entries, Sample(2000));
    if (a_block == 1000) {
      EXPECT_LT(file.size(), TableBytes(Sample(2000), a_block).size() / 2);
    }
  }
}

TEST(SortedTableTest, CompressedBlocksThatAreNoneAreDamage) {
  // Sound checksums: only what is inside is wrong.
  EXPECT_THAT(Read(TableOfBlock("", 1)), IsError(ErrorCode::kCheckpointDamaged));
  EXPECT_THAT(Read(TableOfBlock(std::string("\xff\xff\xff\xff\x0f\0a", 7), 1)),
              IsError(ErrorCode::kCheckpointDamaged, "cannot stand for"));
  EXPECT_THAT(Read(TableOfBlock(SnappyBytes("abc"), 1)), IsError(ErrorCode::kCheckpointDamaged));
  EXPECT_THAT(Read(TableOfBlock(SnappyBytes(std::string("\xff\xff\xff\x7f", 4)), 1)),
              IsError(ErrorCode::kCheckpointDamaged, "restart"));
  EXPECT_THAT(Read(TableOfBlock("abc", 2)), IsError(ErrorCode::kCheckpointDamaged, "unknown compression 2"));
}

TEST(SortedTableTest, EmptyTableHasNoEntries) {
  ASSERT_OK_AND_ASSIGN(const Entries entries, Read(TableBytes({}, 1)));
  EXPECT_TRUE(entries.empty());
}

TEST(SortedTableTest, KeysOutOfOrderAreDamage) {
  EXPECT_THAT(Read(TableBytes({{"b", ""}, {"a", ""}}, 8)), IsError(ErrorCode::kCheckpointDamaged, "order"));
  EXPECT_THAT(Read(TableBytes({{"b", ""}, {"a", ""}}, 1)), IsError(ErrorCode::kCheckpointDamaged, "order"));
  EXPECT_THAT(Read(TableBytes({{"", "1"}, {"", "2"}}, 1)), IsError(ErrorCode::kCheckpointDamaged, "order"));
}

// Else a file of a few MiB could let its reader work for hours.
TEST(SortedTableTest, ABlockIsReadOnce) {
  EXPECT_THAT(Read(TableOfRepeatedBlock(1)), IsOk());
  EXPECT_THAT(Read(TableOfRepeatedBlock(2)), IsError(ErrorCode::kCheckpointDamaged, "begins before"));
}

TEST(SortedTableTest, KeysAreNotLookedUpWhereBlocksAreOutOfOrder) {
  const std::string odd = TableBytes({{"b", ""}, {"a", ""}}, 1);
  EXPECT_THAT(SortedTable::Open(odd).status(), IsError(ErrorCode::kCheckpointDamaged, "order"));
}

class StoredTableTest : public ::testing::TestWithParam<TableCompression> {};

TEST_P(StoredTableTest, CutAnywhereIsDamage) {
  const std::string file = TableBytes(Sample(40), 7, GetParam());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_THAT(Read(file.substr(0, size)), IsError(ErrorCode::kCheckpointDamaged)) << size;
  }
}

TEST_P(StoredTableTest, FlippedBitsNeverPassAsOtherEntries) {
  const std::string file = TableBytes(Sample(40), 7, GetParam());
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = file;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    const absl::StatusOr<Entries> entries = Read(damaged);
    if (entries.ok()) {
      EXPECT_EQ(*entries, Sample(40));  // Padding of the footer.
    } else {
      EXPECT_THAT(entries, IsError(ErrorCode::kCheckpointDamaged));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Compressions, StoredTableTest,
                         ::testing::Values(TableCompression::kNone, TableCompression::kSnappy));

}  // namespace
}  // namespace sluice
