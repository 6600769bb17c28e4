// B18: what a transfer through the rendezvous of one process costs. Each figure is of one value handed over, on one
// thread but for the ping-pong. The chain of nodes that changes its device every time is a graph of tools/bench.

#include <atomic>
#include <thread>
#include <utility>

#include "benchmark/benchmark.h"
#include "graph/base/cancellation.h"
#include "graph/base/check.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {
namespace {

RendezvousKey Key(int32_t edge) { return {EdgeNumber(edge), 0, 0}; }

// Receives under `key` on this thread; `*received` is set by the callback.
void Receive(Rendezvous& rendezvous, const RendezvousKey& key, CancellationManager* cancellation,
             std::atomic<int64_t>* received) {
  rendezvous.RecvAsync(
      key, TransferArgs(), cancellation,
      [received](absl::Status status, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
        if (!status.ok()) return;  // The rendezvous ends with a receive that nothing comes for.
        benchmark::DoNotOptimize(value.tensor);
        received->fetch_add(1, std::memory_order_release);  // Release: the other side of ping-pong continues after it.
      });
}

void Send(Rendezvous& rendezvous, const RendezvousKey& key, const Tensor& tensor) {
  RendezvousValue value;
  value.tensor = tensor;
  SLUICE_CHECK_OK(rendezvous.Send(key, TransferArgs(), std::move(value)));
}

// `range(0)`: whether receives can be cancelled, as those of a step are.
void BM_SendThenRecv(benchmark::State& state) {
  const CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>();
  CancellationManager cancellation;
  const Tensor tensor = Tensor::Scalar(1.0f);
  std::atomic<int64_t> received{0};
  for (auto _ : state) {
    Send(*rendezvous, Key(1), tensor);
    Receive(*rendezvous, Key(1), state.range(0) != 0 ? &cancellation : nullptr, &received);
  }
  SLUICE_CHECK(received == static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_SendThenRecv)->Arg(0)->Arg(1)->ArgName("cancellable");

void BM_RecvThenSend(benchmark::State& state) {
  const CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>();
  CancellationManager cancellation;
  const Tensor tensor = Tensor::Scalar(1.0f);
  std::atomic<int64_t> received{0};
  for (auto _ : state) {
    Receive(*rendezvous, Key(1), state.range(0) != 0 ? &cancellation : nullptr, &received);
    Send(*rendezvous, Key(1), tensor);
  }
  SLUICE_CHECK(received == static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_RecvThenSend)->Arg(0)->Arg(1)->ArgName("cancellable");

// As a step of many parts does: `range(0)` receives wait, then their values come. Per transfer.
void BM_ManyReceivesThenSends(benchmark::State& state) {
  const int64_t count = state.range(0);
  const Tensor tensor = Tensor::Scalar(1.0f);
  std::atomic<int64_t> received{0};
  for (auto _ : state) {
    CancellationManager cancellation;
    const CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>();
    for (int64_t i = 0; i < count; ++i) Receive(*rendezvous, Key(static_cast<int32_t>(i)), &cancellation, &received);
    for (int64_t i = 0; i < count; ++i) Send(*rendezvous, Key(static_cast<int32_t>(i)), tensor);
  }
  SLUICE_CHECK(received == count * static_cast<int64_t>(state.iterations()));
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(BM_ManyReceivesThenSends)->Arg(1)->Arg(1000);

// Two threads send a value to and fro; each waits for the receive it has asked for. Per way: the limit is the hand-over
// of one cache line between processors, which the same loop without a rendezvous shows (`range(0)` = 0).
class PingPong {
 public:
  explicit PingPong(bool uses_rendezvous) : uses_rendezvous_(uses_rendezvous) {}

  // Sides are 0 and 1. Asks for the value to come to `side`; its arrival is counted.
  void Ask(int side) {
    if (uses_rendezvous_) Receive(*rendezvous_, Key(side), nullptr, &arrived_[side].count);
  }
  void SendTo(int side) {
    if (uses_rendezvous_) return Send(*rendezvous_, Key(side), tensor_);
    arrived_[side].count.fetch_add(1, std::memory_order_release);
  }
  // False when it is over before the `turn`th value has come to `side`.
  bool WaitAt(int side, int64_t turn) {
    while (arrived_[side].count.load(std::memory_order_acquire) < turn) {
      if (is_over_.load(std::memory_order_relaxed)) return false;
    }
    return true;
  }
  void Stop() { is_over_ = true; }

 private:
  struct alignas(64) Arrived {
    std::atomic<int64_t> count{0};
  };
  const bool uses_rendezvous_;
  const Tensor tensor_ = Tensor::Scalar(1.0f);
  Arrived arrived_[2];
  std::atomic<bool> is_over_{false};
  const CountedPtr<LocalRendezvous> rendezvous_ = MakeCounted<LocalRendezvous>();  // Goes first: it calls back.
};

void BM_PingPong(benchmark::State& state) {
  PingPong game(state.range(0) != 0);
  game.Ask(1);
  std::thread other([&] {
    for (int64_t turn = 1; game.WaitAt(1, turn); ++turn) {
      game.Ask(1);
      game.SendTo(0);
    }
  });
  int64_t turn = 0;
  for (auto _ : state) {
    game.Ask(0);
    game.SendTo(1);
    game.WaitAt(0, ++turn);
  }
  game.Stop();
  other.join();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_PingPong)->Arg(0)->Arg(1)->ArgName("rendezvous")->UseRealTime();

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
