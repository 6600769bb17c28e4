#include "executor/session/rendezvous_pool.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

RendezvousKey Key(int32_t edge) {
  RendezvousKey key;
  key.edge = EdgeNumber(edge);
  return key;
}

TEST(RendezvousPoolTest, WhatIsGivenBackIsTakenAgain) {
  EdgeTable edges;
  RendezvousPool pool(edges);
  CountedPtr<LocalRendezvous> first = pool.Take();
  const LocalRendezvous* const kept = first.get();
  pool.Put(std::move(first));
  CountedPtr<LocalRendezvous> again = pool.Take();
  EXPECT_EQ(again.get(), kept);
  EXPECT_NE(pool.Take().get(), kept) << "it is in use";
}

TEST(RendezvousPoolTest, ValuesThatNobodyReceivedAreGone) {
  EdgeTable edges;
  RendezvousPool pool(edges);
  CountedPtr<LocalRendezvous> first = pool.Take();
  ASSERT_OK(first->Send(Key(1), TransferArgs(), {Tensor::Scalar(1.0f), false}));
  pool.Put(std::move(first));
  CountedPtr<LocalRendezvous> next = pool.Take();
  bool was_received = false;
  next->RecvAsync(
      Key(1), TransferArgs(), nullptr,
      [&](absl::Status, RendezvousValue, const TransferArgs&, const TransferArgs&) { was_received = true; });
  EXPECT_FALSE(was_received);
  next->StartAbort(absl::AbortedError("over"));
  EXPECT_TRUE(was_received);
}

TEST(RendezvousPoolTest, OneThatWasAbortedServesTheNextStep) {
  EdgeTable edges;
  RendezvousPool pool(edges);
  CountedPtr<LocalRendezvous> first = pool.Take();
  first->StartAbort(absl::AbortedError("first step"));
  pool.Put(std::move(first));
  EXPECT_OK(pool.Take()->Send(Key(1), TransferArgs(), {Tensor::Scalar(1.0f), false}));
}

TEST(RendezvousPoolTest, OneThatIsStillHeldIsNotHandedOut) {
  EdgeTable edges;
  RendezvousPool pool(edges);
  CountedPtr<LocalRendezvous> first = pool.Take();
  const CountedPtr<LocalRendezvous> held = first;
  pool.Put(std::move(first));
  EXPECT_NE(pool.Take().get(), held.get());
}

}  // namespace
}  // namespace sluice
