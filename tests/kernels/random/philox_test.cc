#include "kernels/random/philox.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// The known answers that the authors of the generator publish (Random123, kat_vectors: philox4x32, 10 rounds).
TEST(PhiloxTest, GivesTheKnownAnswers) {
  EXPECT_EQ(Philox(0, 0).Next(), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  Philox ones(~uint64_t{0}, ~uint64_t{0});
  ones.Skip(~uint64_t{0});
  EXPECT_EQ(ones.Next(), (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(PhiloxTest, SkippingIsTheSameAsTaking) {
  Philox taken(1, 2);
  for (int i = 0; i < 1000; ++i) taken.Next();
  Philox skipped(1, 2);
  skipped.Skip(1000);
  EXPECT_EQ(taken.Next(), skipped.Next());
}

TEST(PhiloxTest, TheLowerHalfOfTheCounterCarriesOver) {
  Philox carried(1, 2);
  carried.Skip(~uint64_t{0});
  carried.Next();
  EXPECT_EQ(carried.Next(), Philox(1, 3).Next());
}

}  // namespace
}  // namespace sluice
