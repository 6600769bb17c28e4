#include "graph/ir/name_table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// Names "n0", "n1", ... under their own numbers.
class NameTableTest : public ::testing::Test {
 protected:
  int32_t Find(int i) const {
    const std::string name = NameOf(i);
    return table_.Find(name, NameTable::Hash(name), NameOf);
  }
  void Insert(int i) { table_.Insert(NameTable::Hash(NameOf(i)), i); }
  void Erase(int i) { table_.Erase(NameTable::Hash(NameOf(i)), i); }
  static std::string NameOf(int i) { return "n" + std::to_string(i); }

  NameTable table_;
};

TEST_F(NameTableTest, EmptyTableFindsNothing) { EXPECT_EQ(Find(1), -1); }

TEST_F(NameTableTest, FindsAllOfManyAndNothingElse) {
  for (int i = 0; i < 10000; ++i) Insert(i);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(Find(i), i);
  for (int i = 10000; i < 11000; ++i) ASSERT_EQ(Find(i), -1);
}

TEST_F(NameTableTest, ErasedNamesAreGoneAndOthersStay) {
  for (int i = 0; i < 1000; ++i) Insert(i);
  for (int i = 0; i < 1000; i += 2) Erase(i);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Find(i), i % 2 == 0 ? -1 : i);
}

TEST_F(NameTableTest, ComingAndGoingDoesNotGrowIt) {
  for (int i = 0; i < 100; ++i) Insert(i);
  const size_t before = table_.bytes();
  for (int round = 0; round < 10000; ++round) {
    Erase(round);
    Insert(round + 100);
  }
  EXPECT_LE(table_.bytes(), before * 4);
  EXPECT_EQ(Find(10099), 10099);
}

TEST_F(NameTableTest, NamesOfAnotherTableGetNewNumbers) {
  NameTable from;
  for (int i = 0; i < 1000; ++i) from.Insert(NameTable::Hash(NameOf(i)), i);
  for (int i = 0; i < 1000; i += 10) from.Erase(NameTable::Hash(NameOf(i)), i);
  Insert(5000);
  table_.InsertAll(from, [](int32_t i) { return i % 2 == 0 ? -1 : i + 100; });
  const auto name_of = [](int32_t i) { return NameOf(i == 5000 ? i : i - 100); };
  for (int i = 0; i < 1000; ++i) {
    const std::string name = NameOf(i);
    ASSERT_EQ(table_.Find(name, NameTable::Hash(name), name_of), i % 2 == 0 ? -1 : i + 100);
  }
  EXPECT_EQ(table_.Find("n5000", NameTable::Hash("n5000"), name_of), 5000);
}

TEST_F(NameTableTest, StaysWithin16BytesANameWhenReserved) {
  table_.Reserve(1'000'000);
  EXPECT_LE(table_.bytes(), 17'000'000u);
}

}  // namespace
}  // namespace sluice
