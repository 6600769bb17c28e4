#include "rendezvous/waiting_table.h"

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "absl/hash/hash.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

RendezvousKey Key(int32_t edge) { return {EdgeNumber(edge), 0, 0}; }

// A table of values that are numbers, and of receivers; with the hash that a rendezvous would use, or a bad one.
size_t CountOf(const WaitingTable::Item* taken) {
  size_t count = 0;
  for (; taken != nullptr; taken = WaitingTable::Next(taken)) ++count;
  return count;
}

class WaitingTableTest : public ::testing::TestWithParam<bool> {
 protected:
  static size_t Hash(int32_t edge) { return GetParam() ? 0 : absl::HashOf(Key(edge)); }

  void AddValue(int32_t edge, int32_t value) { table_.Add(Hash(edge), Key(edge)).value.tensor = Tensor::Scalar(value); }
  void AddReceiver(int32_t edge, CancellationManager* cancellation) {
    Waiting& waiting = table_.Add(Hash(edge), Key(edge));
    waiting.done = [](absl::Status, RendezvousValue, const TransferArgs&, const TransferArgs&) {};
    waiting.cancellation = cancellation;
  }
  // The number of the oldest value, which goes; -1 if there is none.
  int32_t Take(int32_t edge) {
    WaitingTable::Item* const first = table_.Find(Hash(edge), Key(edge));
    return first == nullptr ? -1 : *table_.Take(first).value.tensor.AsScalar<int32_t>();
  }

  WaitingTable table_;
};

TEST_P(WaitingTableTest, ValuesOfAKeyComeInOrderWhateverElseWaits) {
  std::mt19937 random(7);
  std::map<int32_t, std::deque<int32_t>> expected;
  for (int32_t step = 0; step < 20'000; ++step) {
    const int32_t edge = static_cast<int32_t>(random() % 50);
    if (random() % 2 == 0) {
      AddValue(edge, step);
      expected[edge].push_back(step);
      continue;
    }
    std::deque<int32_t>& values = expected[edge];
    ASSERT_EQ(Take(edge), values.empty() ? -1 : values.front());
    if (!values.empty()) values.pop_front();
  }
  size_t keys = 0;
  for (const auto& values : expected) keys += values.second.empty() ? 0 : 1;
  EXPECT_EQ(table_.num_keys(), keys);
}

TEST_P(WaitingTableTest, ManyKeysAreFoundAgain) {
  for (int32_t edge = 0; edge < 1000; ++edge) AddValue(edge, 2 * edge);
  EXPECT_EQ(table_.num_keys(), 1000u);
  for (int32_t edge = 999; edge >= 0; --edge) ASSERT_EQ(Take(edge), 2 * edge);
  EXPECT_EQ(table_.num_keys(), 0u);
}

TEST_P(WaitingTableTest, OnlyReceiversOfACancellationAreTakenForIt) {
  CancellationManager one, other;
  for (int32_t edge = 0; edge < 20; ++edge) {
    for (int i = 0; i < 4; ++i) AddReceiver(edge, (edge + i) % 3 == 0 ? &one : &other);
  }
  AddValue(20, 7);
  WaitingTable::Item* const taken = table_.TakeAll(&one);
  EXPECT_EQ(CountOf(taken), 27u);
  for (auto* item = taken; item != nullptr; item = WaitingTable::Next(item)) EXPECT_EQ(item->cancellation, &one);
  table_.Recycle(taken);
  std::vector<RendezvousKey> receivers, senders;
  table_.AddKeys(100, /*is_receive=*/true, &receivers);
  table_.AddKeys(100, /*is_receive=*/false, &senders);
  EXPECT_EQ(receivers.size(), 20u);
  EXPECT_EQ(senders, std::vector<RendezvousKey>{Key(20)});
  // Items that remain under a key keep their order, and more can be added.
  AddReceiver(5, &one);
  size_t left = 0;
  CancellationManager* last = nullptr;
  for (WaitingTable::Item* item; (item = table_.Find(Hash(5), Key(5))) != nullptr; ++left) {
    last = table_.Take(item).cancellation;
  }
  EXPECT_EQ(left, 4u);
  EXPECT_EQ(last, &one);
  EXPECT_EQ(Take(20), 7);
}

TEST_P(WaitingTableTest, TakingEverythingLeavesNothing) {
  CancellationManager one;
  for (int32_t edge = 0; edge < 30; ++edge) AddReceiver(edge, edge % 2 == 0 ? &one : nullptr);
  for (int i = 0; i < 3; ++i) AddValue(30, i);
  WaitingTable::Item* const taken = table_.TakeAll(nullptr);
  EXPECT_EQ(CountOf(taken), 33u);
  AddValue(30, 7);  // Those that were taken are not used meanwhile.
  EXPECT_EQ(CountOf(taken), 33u);
  EXPECT_EQ(Take(30), 7);
  table_.Recycle(taken);
  EXPECT_EQ(table_.TakeAll(nullptr), nullptr);
  EXPECT_EQ(table_.num_keys(), 0u);
  EXPECT_EQ(Take(30), -1);
}

TEST_P(WaitingTableTest, KeyBitsAreThoseOfTheKeysThatWait) {
  uint64_t expected = 0;
  EXPECT_EQ(table_.KeyBits(), 0u);
  for (int32_t edge = 0; edge < 20; ++edge) {
    AddValue(edge, edge);
    AddValue(edge, -edge);
    expected |= WaitingTable::KeyBit(Hash(edge));
    ASSERT_EQ(table_.KeyBits(), expected);
  }
  for (int32_t edge = 0; edge < 20; ++edge) {
    Take(edge);
    ASSERT_EQ(table_.KeyBits(), expected) << "another value waits under each key";
  }
  for (int32_t edge = 0; edge < 20; ++edge) Take(edge);
  EXPECT_EQ(table_.KeyBits(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Hashes, WaitingTableTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "AllTheSame" : "Good"; });

}  // namespace
}  // namespace sluice
