#include "graph/base/hash_table.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"

namespace sluice {
namespace {

using Map = HashMap<std::string, std::string>;
using Set = HashSet<std::string>;

// Too long to stand inside of a string: copying it allocates.
std::string Long(int i) { return absl::StrCat("a text that is longer than a string's own room: ", i); }

std::map<std::string, std::string> Sorted(const Map& map) { return {map.begin(), map.end()}; }

TEST(HashMapTest, DoesWhatAMapDoes) {
  std::mt19937 random(7);
  HashMap<int, std::string> table;
  std::map<int, std::string> map;
  for (int i = 0; i < 20000; ++i) {
    const int key = static_cast<int>(random() % 500);
    switch (random() % 8) {
      case 0:
      case 1:
        EXPECT_EQ(table.erase(key), map.erase(key));
        break;
      case 2:
        table[key] += 'x';
        map[key] += 'x';
        break;
      case 3:
        EXPECT_EQ(table.insert_or_assign(key, Long(i)).second, map.insert_or_assign(key, Long(i)).second);
        break;
      case 4:
        if (random() % 100 == 0) {
          table.clear();
          map.clear();
        }
        break;
      default:
        EXPECT_EQ(table.try_emplace(key, Long(i)).second, map.try_emplace(key, Long(i)).second);
    }
    ASSERT_EQ(table.size(), map.size());
    EXPECT_EQ(table.contains(key), map.count(key) > 0);
  }
  EXPECT_EQ((std::map<int, std::string>(table.begin(), table.end())), map);
}

TEST(HashMapTest, FindsStringsByStringView) {
  Map map = {{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(map.find(absl::string_view("b"))->second, "2");
  EXPECT_TRUE(map.contains("a"));
  EXPECT_EQ(map.count(absl::string_view("c")), 0u);
  map[absl::string_view("c")] = "3";
  map.at("c") += "!";
  EXPECT_THROW(map.at("d"), std::out_of_range);
  EXPECT_EQ(map.erase(absl::string_view("a")), 1u);
  EXPECT_EQ(Sorted(map), (std::map<std::string, std::string>{{"b", "2"}, {"c", "3!"}}));
}

TEST(HashMapTest, CopiesMovesAndSwaps) {
  Map map;
  for (int i = 0; i < 100; ++i) map.emplace(Long(i), Long(-i));
  const std::map<std::string, std::string> all = Sorted(map);
  Map copy = map;
  EXPECT_EQ(copy, map);
  Map taken = std::move(copy);
  EXPECT_EQ(Sorted(taken), all);
  copy = {{"left", "behind"}};  // A table that was moved from can be used again.
  copy.swap(taken);
  EXPECT_EQ(Sorted(copy), all);
  EXPECT_EQ(taken.size(), 1u);
  taken = copy;
  taken.try_emplace("more", "");
  EXPECT_NE(taken, copy);
  EXPECT_EQ(Sorted(copy), all);
}

TEST(HashMapTest, LeavesAValueAloneWhereTheKeyIsThere) {
  HashMap<std::string, std::unique_ptr<int>> map;
  map.emplace("a", std::make_unique<int>(1));
  auto value = std::make_unique<int>(2);
  EXPECT_FALSE(map.try_emplace("a", std::move(value)).second);
  ASSERT_NE(value, nullptr);
  map.insert_or_assign("a", std::move(value));
  EXPECT_EQ(*map["a"], 2);
}

TEST(HashMapTest, DoesNotGrowWithinWhatWasReserved) {
  for (size_t size = 1; size < 300; ++size) {
    HashMap<size_t, int> map;
    map.reserve(size);
    const int64_t calls = NewCalls();
    for (size_t i = 0; i < size; ++i) map[i] = 1;
    EXPECT_EQ(NewCalls(), calls) << size;
  }
}

TEST(HashMapTest, DoesNotGrowWhereAsMuchIsErasedAsInserted) {
  HashSet<int> set;
  const int64_t before = LiveNewBytes();
  for (int i = 0; i < 100000; ++i) {
    set.insert(i);
    set.erase(i - 4);
  }
  EXPECT_EQ(set.size(), 4u);
  EXPECT_LT(LiveNewBytes() - before, 1024);
}

TEST(HashSetTest, DoesWhatASetDoes) {
  const Set set = {"b", "a", "b"};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.contains(absl::string_view("a")));
  HashSet<std::pair<int, int>> pairs;
  EXPECT_TRUE(pairs.insert({1, 2}).second);
  EXPECT_FALSE(pairs.insert({1, 2}).second);
  const std::vector<int> numbers = {1, 2, 2, 3};
  HashSet<int> from(numbers.begin(), numbers.end());
  EXPECT_EQ((std::set<int>(from.begin(), from.end())), (std::set<int>{1, 2, 3}));
  for (auto i = from.begin(); i != from.end();) {
    const auto item = i++;
    if (*item != 2) from.erase(item);
  }
  EXPECT_EQ(from, (HashSet<int>{2}));
}

// Calls `change` with copies of a table of `size` elements, and with one allocation after another failing, until none
// is left to fail. A table for which there was no memory has its elements, takes others, and can be destroyed.
template <typename Change>
void FailEachAllocation(int size, Change change) {
  Map before;
  for (int i = 0; i < size; ++i) before.try_emplace(Long(i), Long(-i));
  const std::map<std::string, std::string> all = Sorted(before);
  bool has_failed = true;
  for (int64_t n = 1; has_failed; ++n) {
    Map map = before;
    FailNewCall(n);
    try {
      change(map);
    } catch (const std::bad_alloc&) {
    }
    has_failed = HasFailedNewCall();
    FailNewCall(0);
    if (!has_failed) break;
    ASSERT_EQ(Sorted(map), all) << n;
    for (int i = 0; i < size; ++i) ASSERT_TRUE(map.contains(Long(i))) << n;
    for (int i = size; i < 4 * size + 4; ++i) ASSERT_TRUE(map.try_emplace(Long(i), "").second) << n;
  }
}

// 3 and 7 (6 on some processors), 14 and 28 elements fill a table.
TEST(HashTableFailuresTest, AnInsertionWithoutMemoryChangesNothing) {
  for (const int size : {0, 1, 3, 6, 7, 13, 14, 28, 29}) {
    SCOPED_TRACE(size);
    const std::string key = Long(1000), value = Long(2000);
    FailEachAllocation(size, [&](Map& map) { map.try_emplace(key, value); });
    FailEachAllocation(size, [&](Map& map) { map[key]; });
    FailEachAllocation(size, [&](Map& map) { map.reserve(static_cast<size_t>(size) + 100); });
    const Map more = {{key, value}};
    FailEachAllocation(size, [&](Map& map) { map = more; });
  }
}

TEST(HashTableFailuresTest, ACopyWithoutMemoryLeavesNothing) {
  Map map;
  for (int i = 0; i < 20; ++i) map.try_emplace(Long(i), Long(i));
  const int64_t before = LiveNewBytes();
  bool has_failed = true;
  for (int64_t n = 1; has_failed; ++n) {
    FailNewCall(n);
    try {
      const Map copy = map;
    } catch (const std::bad_alloc&) {
    }
    has_failed = HasFailedNewCall();
    FailNewCall(0);
    EXPECT_EQ(LiveNewBytes(), before) << n;
  }
}

// The element is made before its slot: a set whose insertion threw has no slot without an element.
TEST(HashTableFailuresTest, AnElementThatCannotBeMadeLeavesTheTable) {
  struct Thrower {
    explicit Thrower(int value) : value(std::make_unique<int>(value)) {
      if (value < 0) throw std::bad_alloc();
    }
    std::unique_ptr<int> value;
  };
  HashMap<int, Thrower> map;
  map.reserve(10);
  map.try_emplace(1, 1);
  EXPECT_THROW(map.try_emplace(2, -2), std::bad_alloc);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_FALSE(map.contains(2));
  EXPECT_TRUE(map.try_emplace(2, 2).second);
  EXPECT_EQ(*map.find(2)->second.value, 2);
}

}  // namespace
}  // namespace sluice
