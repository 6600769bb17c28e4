#ifndef SLUICE_KERNELS_REDUCE_REDUCE_ENGINE_H_
#define SLUICE_KERNELS_REDUCE_REDUCE_ENGINE_H_

// The loops of a reduction, for any operation. An operation is a struct:
//
//   struct SumOfFloats {
//     using T = float;     // Of the elements.
//     using Acc = float;   // What is carried.
//     static Acc Identity();
//     static Acc Load(T x);                     // An element as a carried value.
//     static Acc Combine(Acc a, Acc b);         // Associative but for rounding.
//     static T Finish(Acc acc, int64_t count);  // The result of `count` elements.
//   };
//   ReduceFn sum = &ReduceWith<SumOfFloats>;
//
// Note [Pairwise sums]
// Adding n floats one after the other loses up to n roundings; adding halves of halves loses log2(n). Blocks of some
// hundred elements are added in parallel lanes (that is also what vector units want), and blocks are joined in pairs:
// `PairStack` does so with one slot per level. Parts that go to threads are of fixed size, so that the result is the
// same for any number of threads.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/reduce/reduce_plan.h"

namespace sluice {
namespace reduce_internal {

inline constexpr int64_t kBlock = 512;          // Elements that the lanes of one block add up: some 16 each.
inline constexpr int64_t kPart = 128 * kBlock;  // Elements of one row that go to one thread.
inline constexpr int64_t kColumns = 128;        // Columns that are carried at once.
inline constexpr int64_t kRowBlock = 16;        // Rows added to the columns before they are joined in pairs.
inline constexpr int64_t kRowPart = 4096;       // Rows that go to one thread.

// Time per element, in ns.
template <typename Op>
inline constexpr double kElementNs = sizeof(typename Op::Acc) > 8 ? 1.0 : 0.25;

// Joins values in pairs of pairs: as many slots as levels are in use.
template <typename Op>
class PairStack {
 public:
  using Acc = typename Op::Acc;

  void Push(Acc acc) {
    for (uint64_t done = ++count_; (done & 1) == 0; done >>= 1) acc = Op::Combine(slots_[--depth_], acc);
    slots_[depth_++] = acc;
  }
  // REQUIRES: something was pushed.
  Acc Join() const {
    Acc acc = slots_[depth_ - 1];
    for (int i = depth_ - 2; i >= 0; --i) acc = Op::Combine(slots_[i], acc);
    return acc;
  }

 private:
  Acc slots_[64];
  int depth_ = 0;
  uint64_t count_ = 0;
};

// Up to kBlock neighbours, in lanes.
template <typename Op>
typename Op::Acc ReduceBlock(const typename Op::T* x, int64_t count) {
  using Acc = typename Op::Acc;
  constexpr int64_t kLanes = sizeof(Acc) >= 16 ? 4 : static_cast<int64_t>(128 / sizeof(Acc));
  if (count < 2 * kLanes) {
    Acc acc = Op::Identity();
    for (int64_t i = 0; i < count; ++i) acc = Op::Combine(acc, Op::Load(x[i]));
    return acc;
  }
  Acc lanes[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lanes[l] = Op::Load(x[l]);
  int64_t i = kLanes;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = Op::Combine(lanes[l], Op::Load(x[i + l]));
  }
  for (int64_t l = 0; i < count; ++i, ++l) lanes[l] = Op::Combine(lanes[l], Op::Load(x[i]));
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t l = 0; l < width; ++l) lanes[l] = Op::Combine(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

// `count` neighbours.
template <typename Op>
typename Op::Acc ReduceRun(const typename Op::T* x, int64_t count) {
  if (count <= kBlock) return ReduceBlock<Op>(x, count);
  PairStack<Op> stack;
  for (int64_t i = 0; i < count; i += kBlock) stack.Push(ReduceBlock<Op>(x + i, std::min(kBlock, count - i)));
  return stack.Join();
}

// Rows of neighbours, one result each.
template <typename Op>
void ReduceRows(const KernelContext& context, const ReducePlan& plan, const typename Op::T* x, typename Op::T* y) {
  using Acc = typename Op::Acc;
  const int64_t size = plan.reduced;
  if (size <= 2 * kPart || plan.outer >= 16) {
    const double unit_ns = 2.0 + kElementNs<Op> * static_cast<double>(size);
    context.ParallelFor(plan.outer, unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) y[row] = Op::Finish(ReduceRun<Op>(x + row * size, size), size);
    });
    return;
  }
  const int64_t parts = (size + kPart - 1) / kPart;
  std::vector<Acc> partial(static_cast<size_t>(parts));
  for (int64_t row = 0; row < plan.outer; ++row) {
    const typename Op::T* const first = x + row * size;
    context.ParallelFor(parts, kElementNs<Op> * static_cast<double>(kPart), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t at = part * kPart;
        partial[static_cast<size_t>(part)] = ReduceRun<Op>(first + at, std::min(kPart, size - at));
      }
    });
    PairStack<Op> stack;
    for (const Acc& acc : partial) stack.Push(acc);
    y[row] = Op::Finish(stack.Join(), size);
  }
}

// Rows [0, rows) of `width` columns, `stride` elements apart, into `acc`: one value per column.
// `scratch` has room for ColumnScratch(rows) values.
template <typename Op>
void ReduceColumns(const typename Op::T* x, int64_t rows, int64_t stride, int64_t width, typename Op::Acc* acc,
                   typename Op::Acc* scratch) {
  using Acc = typename Op::Acc;
  int depth = 0;  // Levels of `scratch` in use: as PairStack, with a row of columns in each slot.
  uint64_t count = 0;
  for (int64_t row = 0; row < rows; row += kRowBlock) {
    Acc* const block = scratch + depth * kColumns;
    for (int64_t c = 0; c < width; ++c) block[c] = Op::Load(x[row * stride + c]);
    const int64_t end = std::min(row + kRowBlock, rows);
    for (int64_t r = row + 1; r < end; ++r) {
      const typename Op::T* const line = x + r * stride;
      for (int64_t c = 0; c < width; ++c) block[c] = Op::Combine(block[c], Op::Load(line[c]));
    }
    ++depth;
    for (uint64_t done = ++count; (done & 1) == 0; done >>= 1) {
      --depth;
      Acc* const left = scratch + (depth - 1) * kColumns;
      const Acc* const right = scratch + depth * kColumns;
      for (int64_t c = 0; c < width; ++c) left[c] = Op::Combine(left[c], right[c]);
    }
  }
  for (int64_t c = 0; c < width; ++c) {
    Acc joined = depth == 0 ? Op::Identity() : scratch[(depth - 1) * kColumns + c];
    for (int i = depth - 2; i >= 0; --i) joined = Op::Combine(scratch[i * kColumns + c], joined);
    acc[c] = joined;
  }
}

inline size_t ColumnScratch(int64_t rows) {
  size_t levels = 2;
  for (int64_t blocks = rows / kRowBlock; blocks > 0; blocks /= 2) ++levels;
  return levels * static_cast<size_t>(kColumns);
}

// Few columns and many rows: rows in parts, then the parts.
template <typename Op>
void ReduceTallColumns(const KernelContext& context, const ReducePlan& plan, const typename Op::T* x,
                       typename Op::T* y) {
  using Acc = typename Op::Acc;
  const int64_t parts = (plan.reduced + kRowPart - 1) / kRowPart;
  const int64_t width = plan.inner;
  std::vector<Acc> partial(static_cast<size_t>(parts * width));
  for (int64_t slab = 0; slab < plan.outer; ++slab) {
    const typename Op::T* const first = x + slab * plan.reduced * width;
    const double unit_ns = kElementNs<Op> * static_cast<double>(kRowPart * width);
    context.ParallelFor(parts, unit_ns, [&](int64_t begin, int64_t end) {
      std::vector<Acc> scratch(ColumnScratch(kRowPart));
      for (int64_t part = begin; part < end; ++part) {
        const int64_t row = part * kRowPart;
        ReduceColumns<Op>(first + row * width, std::min(kRowPart, plan.reduced - row), width, width,
                          partial.data() + part * width, scratch.data());
      }
    });
    for (int64_t c = 0; c < width; ++c) {
      PairStack<Op> stack;
      for (int64_t part = 0; part < parts; ++part) stack.Push(partial[static_cast<size_t>(part * width + c)]);
      y[slab * width + c] = Op::Finish(stack.Join(), plan.reduced);
    }
  }
}

}  // namespace reduce_internal

// A ReduceFn: all loops of a plan with operation Op. Elements of the tensors are Op::T's or as large.
template <typename Op>
void ReduceWith(const KernelContext& context, const ReducePlan& plan, const Tensor& source, Tensor& output) {
  using namespace reduce_internal;  // NOLINT(google-build-using-namespace): its parts, in this function only.
  const auto* const x = static_cast<const typename Op::T*>(source.raw_data());
  auto* const y = static_cast<typename Op::T*>(output.mutable_raw_data());
  if (plan.inner == 1) {
    ReduceRows<Op>(context, plan, x, y);
    return;
  }
  if (plan.inner <= kColumns && plan.outer < 16 && plan.reduced > 2 * kRowPart) {
    ReduceTallColumns<Op>(context, plan, x, y);
    return;
  }
  const int64_t strips = (plan.inner + kColumns - 1) / kColumns;
  const double unit_ns = 5.0 + kElementNs<Op> * static_cast<double>(plan.reduced * std::min(plan.inner, kColumns));
  context.ParallelFor(plan.outer * strips, unit_ns, [&](int64_t begin, int64_t end) {
    std::vector<typename Op::Acc> scratch(ColumnScratch(plan.reduced));
    typename Op::Acc acc[kColumns];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % strips * kColumns;
      const int64_t slab = unit / strips;
      const int64_t width = std::min(kColumns, plan.inner - column);
      ReduceColumns<Op>(x + slab * plan.reduced * plan.inner + column, plan.reduced, plan.inner, width, acc,
                        scratch.data());
      typename Op::T* const to = y + slab * plan.inner + column;
      for (int64_t c = 0; c < width; ++c) to[c] = Op::Finish(acc[c], plan.reduced);
    }
  });
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_REDUCE_ENGINE_H_
