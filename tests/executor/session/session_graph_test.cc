// A session's graph that changes while signatures are prepared from it. See Note [Extending a session].

#include "executor/session/session_graph.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/passes/feed_fetch.h"
#include "gtest/gtest.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Long enough for a thread to come to where it waits.
constexpr absl::Duration kWhile = absl::Milliseconds(50);
// The same on a machine that is busy with other things.
constexpr absl::Duration kLongWhile = absl::Seconds(2);

class SessionGraphTest : public SessionFixture {
 protected:
  // A variable that says of which version it is, and which that version has on CPU `version`.
  static Graph Version(int version) {
    GraphBuilder b(NewOpRegistry());
    const Output v = b.Op("VarHandleOp", "v", {},
                          {{"dtype", DType::kInt32},
                           {"shape", PartialShape::Scalar()},
                           {"shared_name", absl::StrCat("of_version_", version)}});
    const Output value = b.Op("ReadVariableOp", "read", {v}, {{"dtype", DType::kInt32}});
    b.SetDevice(b.Op("AssignVariableOp", "start", {v, b.Const("one", Int(1))}, {{"dtype", DType::kInt32}}),
                absl::StrCat("/cpu:", version));
    b.Op("Neg", "n", {value});
    EXPECT_OK(b.status());
    return b.graph();
  }

  // A writer that holds the graph while it makes it Version(1), and one that waits to make it Version(0).
  class HeldWriter {
   public:
    explicit HeldWriter(SessionGraph* graph)
        : first_([this, graph] {
            EXPECT_OK(graph->Replace(Version(1), [this](const Graph&) {
              writes_.Notify();
              go_on_.WaitForNotification();
            }));
          }) {
      writes_.WaitForNotification();
      second_ = std::thread([graph] { EXPECT_OK(graph->Replace(Version(0), [](const Graph&) {})); });
    }
    void Release() {
      go_on_.Notify();
      first_.join();
      second_.join();
    }

   private:
    Notification writes_, go_on_;
    std::thread first_, second_;
  };
};

// Of one version, whatever comes between cutting it out and placing it.
TEST_F(SessionGraphTest, WhatIsCutOutIsPlacedByItsOwnVersion) {
  SessionOptions options;
  options.num_cpu_devices = 2;
  options.num_threads = 1;
  ASSERT_OK_AND_ASSIGN(session_, Session::Create(options, Version(0)));
  std::atomic<bool> is_over{false};
  std::thread replaces([&] {
    for (int i = 1; !is_over; ++i) EXPECT_OK(session_->Replace(Version(i % 2)));
  });
  int num_wrong = 0;
  for (int i = 0; i < 2000; ++i) {
    const absl::StatusOr<std::shared_ptr<const Callable>> made = session_->Prepare({{}, {"n"}, {}, {}});
    ASSERT_OK(made);
    const Graph& graph = (*made)->graph();
    const NodeId v = graph.Find("v");
    const bool is_first = *graph.GetString(v, "shared_name") == "of_version_0";
    if (!absl::EndsWith(graph.device(v), is_first ? "CPU:0" : "CPU:1")) ++num_wrong;
  }
  is_over = true;
  replaces.join();
  EXPECT_EQ(num_wrong, 0);
}

// However many additions come one after the other.
TEST_F(SessionGraphTest, AReaderThatWaitsComesBeforeTheNextWriter) {
  SessionGraph graph(Version(0));
  HeldWriter writer(&graph);
  absl::SleepFor(kWhile);
  std::thread reader([&] {
    const absl::StatusOr<FeedFetchGraph> cut = graph.Cut({{}, {"n"}, {}, {}}, {});
    ASSERT_OK(cut);
    EXPECT_EQ(*cut->graph.GetString(cut->graph.Find("v"), "shared_name"), "of_version_1");
  });
  absl::SleepFor(kLongWhile);  // A reader that comes after the second writer would see what that one writes.
  writer.Release();
  reader.join();
}

// A writer that waits comes before readers that come after it.
TEST_F(SessionGraphTest, ReadersDoNotKeepAWriterWaiting) {
  SessionGraph graph(Version(0));
  std::atomic<bool> is_over{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!is_over) EXPECT_OK(graph.Cut({{}, {"n"}, {}, {}}, {}));
    });
  }
  const absl::Time start = absl::Now();
  for (int i = 0; i < 200; ++i) EXPECT_OK(graph.Replace(Version(i % 2), [](const Graph&) {}));
  EXPECT_LT(absl::Now() - start, absl::Minutes(1));
  is_over = true;
  for (std::thread& reader : readers) reader.join();
}

// One that gives up waiting holds up nobody.
TEST_F(SessionGraphTest, AReaderMayStopWaiting) {
  SessionGraph graph(Version(0));
  HeldWriter writer(&graph);
  StopPoll stop(absl::Now() + kWhile, nullptr);
  FeedFetchOptions options;
  options.stop = &stop;
  EXPECT_THAT(graph.Cut({{}, {"n"}, {}, {}}, options).status(), IsError(ErrorCode::kDeadline));
  writer.Release();
  EXPECT_OK(graph.Cut({{}, {"n"}, {}, {}}, {}));
}

}  // namespace
}  // namespace sluice
