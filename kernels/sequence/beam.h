#ifndef SLUICE_KERNELS_SEQUENCE_BEAM_H_
#define SLUICE_KERNELS_SEQUENCE_BEAM_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "kernels/array/tolerant_sort.h"

namespace sluice {

// The best of the paths that were pushed, at most `width` of them; which of several equal ones, and in which order, is
// TensorFlow's, whose answers depend on it. `better(a, b)` compares two paths, and may change from call to call as far
// as the worst one becomes worse. Not thread-safe.
class Beam {
 public:
  // REQUIRES: width > 0.
  explicit Beam(size_t width) : width_(width) {}

  size_t size() const { return paths_.size(); }
  bool is_full() const { return size() == width_; }
  // In no order.
  absl::Span<const int32_t> unsorted() const { return paths_; }

  // Takes `path`, and drops the worst one where there are too many.
  template <typename Better>
  void Push(int32_t path, const Better& better) {
    if (order_ == Order::kHeap) {
      if (!better(path, paths_.front())) return;
      paths_.push_back(path);
      TolerantPushHeap(absl::MakeSpan(paths_), better);
      DropWorst(better);
      return;
    }
    paths_.push_back(path);
    if (order_ == Order::kWorstFirst && !better(path, paths_.front())) std::swap(paths_.front(), paths_.back());
    if (paths_.size() <= width_) return;
    TolerantMakeHeap(absl::MakeSpan(paths_), better);
    DropWorst(better);
    order_ = Order::kHeap;
  }

  // The worst one. REQUIRES: size() > 0.
  template <typename Better>
  int32_t Worst(const Better& better) {
    if (order_ == Order::kNone) {
      size_t worst = 0;
      for (size_t i = 1; i < paths_.size(); ++i) {
        if (better(paths_[worst], paths_[i])) worst = i;
      }
      std::swap(paths_[0], paths_[worst]);
      order_ = Order::kWorstFirst;
    }
    return paths_.front();
  }

  // All of them, best first. Removes all entries.
  template <typename Better>
  std::vector<int32_t> TakeAll(const Better& better) {
    std::vector<int32_t> all;
    all.swap(paths_);
    if (order_ == Order::kHeap) {
      TolerantSortHeap(absl::MakeSpan(all), better);
    } else {
      TolerantSort(absl::MakeSpan(all), better);
    }
    order_ = Order::kNone;
    return all;
  }

 private:
  enum class Order {
    kNone,
    kWorstFirst,  // The rest in no order.
    kHeap,        // Of as many as there may be, the worst one first.
  };

  template <typename Better>
  void DropWorst(const Better& better) {
    TolerantPopHeap(absl::MakeSpan(paths_), better);
    paths_.pop_back();
  }

  const size_t width_;
  std::vector<int32_t> paths_;
  Order order_ = Order::kNone;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_SEQUENCE_BEAM_H_
