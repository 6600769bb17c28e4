#include "kernels/queues/queue_store.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "kernels/random/philox.h"

namespace sluice {
namespace {

// In the order in which they came.
class FifoStore final : public QueueStore {
 public:
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Put(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement Take() override {
    QueueElement first = std::move(elements_.front());
    elements_.pop_front();
    return first;
  }
  void PutBack(QueueElement element) override { elements_.push_front(std::move(element)); }

 private:
  std::deque<QueueElement> elements_;
};

// The last element takes the place of the one that goes.
class ShuffleStore final : public QueueStore {
 public:
  ShuffleStore(uint64_t seed, uint64_t seed2, int64_t min_left) : random_(seed, seed2), min_left_(min_left) {}

  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  int64_t NumReady(bool is_closed) const override { return is_closed ? size() : size() - min_left_; }
  void Put(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement Take() override {
    QueueElement& chosen = elements_[NextNumber() % elements_.size()];
    QueueElement taken = std::move(chosen);
    if (&chosen != &elements_.back()) chosen = std::move(elements_.back());
    elements_.pop_back();
    return taken;
  }

 private:
  uint32_t NextNumber() {
    if (used_ == block_.size()) {
      block_ = random_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

  Philox random_;
  Philox::Block block_ = {};
  size_t used_ = 4;  // Numbers of the block.
  const int64_t min_left_;
  std::vector<QueueElement> elements_;
};

// A heap of the standard library's, as TensorFlow has it.
class PriorityStore final : public QueueStore {
 public:
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Put(QueueElement element) override {
    elements_.push_back(std::move(element));
    std::push_heap(elements_.begin(), elements_.end(), ComesLater);
  }
  QueueElement Take() override {
    std::pop_heap(elements_.begin(), elements_.end(), ComesLater);
    QueueElement first = std::move(elements_.back());
    elements_.pop_back();
    return first;
  }

 private:
  static bool ComesLater(const QueueElement& a, const QueueElement& b) {
    return a[0].flat<int64_t>()[0] > b[0].flat<int64_t>()[0];
  }

  std::vector<QueueElement> elements_;
};

}  // namespace

int64_t QueueStore::NumReady(bool) const { return size(); }

void QueueStore::TakeTo(int64_t count, std::vector<QueueElement>& taken) {
  const size_t needed = taken.size() + static_cast<size_t>(std::max<int64_t>(count, 0));
  // As push_back grows, but before anything is taken.
  if (needed > taken.capacity()) taken.reserve(std::max(needed, 2 * taken.capacity()));
  for (int64_t i = 0; i < count; ++i) taken.push_back(Take());
}

std::unique_ptr<QueueStore> NewFifoStore() { return std::make_unique<FifoStore>(); }
std::unique_ptr<QueueStore> NewShuffleStore(uint64_t seed, uint64_t seed2, int64_t min_left) {
  return std::make_unique<ShuffleStore>(seed, seed2, min_left);
}
std::unique_ptr<QueueStore> NewPriorityStore() { return std::make_unique<PriorityStore>(); }

}  // namespace sluice
