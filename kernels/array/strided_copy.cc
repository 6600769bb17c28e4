#include "kernels/array/strided_copy.h"

#include <xmmintrin.h>

#include <algorithm>
#include <type_traits>

#include "kernels/array/moved_types.h"

namespace sluice {
namespace {

// Rows and columns of one block of a transposing copy: what it touches stays in the first cache.
constexpr int64_t kBlock = 32;

// Leaves out loops of one step and joins neighbours that walk memory as one loop would. Never empty; false when there
// is nothing to copy.
bool Simplify(absl::Span<const CopyAxis> axes, CopyAxes* joined) {
  for (const CopyAxis& axis : axes) {
    if (axis.size == 0) return false;
    if (axis.size == 1) continue;
    if (!joined->empty()) {
      CopyAxis& outer = joined->back();
      if (outer.to == axis.to * axis.size && outer.from == axis.from * axis.size) {
        outer = {outer.size * axis.size, axis.to, axis.from};
        continue;
      }
    }
    joined->push_back(axis);
  }
  if (joined->empty()) joined->push_back({1, 1, 1});
  return true;
}

// Where the loops `axes` stand after `position` steps of the innermost one, and one step further each time.
class Odometer {
 public:
  Odometer(absl::Span<const CopyAxis> axes, int64_t position) : axes_(axes), index_(axes.size()) {
    for (size_t i = axes.size(); i-- > 0;) {
      index_[i] = position % axes[i].size;
      position /= axes[i].size;
      to_ += index_[i] * axes[i].to;
      from_ += index_[i] * axes[i].from;
    }
  }
  int64_t to() const { return to_; }
  int64_t from() const { return from_; }
  void Next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      to_ += axes_[i].to;
      from_ += axes_[i].from;
      if (++index_[i] < axes_[i].size) return;
      to_ -= axes_[i].to * axes_[i].size;
      from_ -= axes_[i].from * axes_[i].size;
      index_[i] = 0;
    }
  }

 private:
  const absl::Span<const CopyAxis> axes_;
  absl::InlinedVector<int64_t, 8> index_;
  int64_t to_ = 0;
  int64_t from_ = 0;
};

int64_t NumSteps(absl::Span<const CopyAxis> axes) {
  int64_t steps = 1;
  for (const CopyAxis& axis : axes) steps *= axis.size;
  return steps;
}

// `count` steps of the innermost loop.
template <typename T>
void CopyRun(const CopyAxis& axis, int64_t count, T* to, const T* from) {
  if (axis.to == 1 && axis.from == 1) {
    if (count == 1) {
      *to = *from;
    } else {
      std::copy_n(from, count, to);
    }
  } else if (axis.to == 1 && axis.from == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

// Steps [begin, end) of all loops together.
template <typename T>
void CopyRuns(absl::Span<const CopyAxis> axes, int64_t begin, int64_t end, T* to, const T* from) {
  const CopyAxis inner = axes.back();
  const absl::Span<const CopyAxis> outer = axes.first(axes.size() - 1);
  Odometer odometer(outer, begin / inner.size);
  int64_t skipped = begin % inner.size;
  for (int64_t position = begin; position < end; odometer.Next()) {
    const int64_t count = std::min(inner.size - skipped, end - position);
    CopyRun(inner, count, to + odometer.to() + skipped * inner.to, from + odometer.from() + skipped * inner.from);
    position += count;
    skipped = 0;
  }
}

// A tile of 4 x 4 elements of 4 bytes, in registers: rows of the source `from_step` apart become columns of the result.
inline void CopyTile(uint32_t* to, int64_t to_step, const uint32_t* from, int64_t from_step) {
  const auto load = [&](int64_t i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * from_step)); };
  const auto store = [&](int64_t i, __m128 row) { _mm_storeu_ps(reinterpret_cast<float*>(to + i * to_step), row); };
  __m128 a = load(0), b = load(1), c = load(2), d = load(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  store(0, a);
  store(1, b);
  store(2, c);
  store(3, d);
}

// Rows [row, row_end) and columns [column, column_end) of a transposing copy, one by one.
template <typename T>
void CopyRectangle(const CopyAxis& rows, const CopyAxis& columns, int64_t row, int64_t row_end, int64_t column,
                   int64_t column_end, T* to, const T* from) {
  for (; row < row_end; ++row) {
    T* const line = to + row * rows.to;
    const T* const source = from + row;
    for (int64_t i = column; i < column_end; ++i) line[i] = source[i * columns.from];
  }
}

// Rows [row_begin, row_end) of a transposing copy: `rows` walks the source by 1, `columns` the result by 1.
template <typename T>
void CopyTransposed(const CopyAxis& rows, const CopyAxis& columns, int64_t row_begin, int64_t row_end, T* to,
                    const T* from) {
  for (int64_t column = 0; column < columns.size; column += kBlock) {
    const int64_t column_end = std::min(column + kBlock, columns.size);
    if constexpr (std::is_same<T, uint32_t>::value) {
      const int64_t tiled_rows = row_begin + (row_end - row_begin) / 4 * 4;
      const int64_t tiled_columns = column + (column_end - column) / 4 * 4;
      for (int64_t row = row_begin; row < tiled_rows; row += 4) {
        for (int64_t i = column; i < tiled_columns; i += 4) {
          CopyTile(to + row * rows.to + i, rows.to, from + row + i * columns.from, columns.from);
        }
      }
      CopyRectangle(rows, columns, row_begin, tiled_rows, tiled_columns, column_end, to, from);
      CopyRectangle(rows, columns, tiled_rows, row_end, column, column_end, to, from);
    } else {
      CopyRectangle(rows, columns, row_begin, row_end, column, column_end, to, from);
    }
  }
}

// The loop that walks the source by 1 when the innermost one does not: a transposition. -1 if no loop does.
int TransposedAxis(absl::Span<const CopyAxis> axes) {
  const CopyAxis& inner = axes.back();
  if (inner.to != 1 || inner.from == 1 || inner.from == 0 || inner.size < 4) return -1;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (axes[i].from == 1 && axes[i].size >= 4) return static_cast<int>(i);
  }
  return -1;
}

template <typename T>
void CopyBlocks(const KernelContext& context, CopyAxes axes, size_t row_axis, T* to, const T* from) {
  const CopyAxis columns = axes.back();
  const CopyAxis rows = axes[row_axis];
  axes.pop_back();
  axes.erase(axes.begin() + static_cast<ptrdiff_t>(row_axis));
  const int64_t strips = (rows.size + kBlock - 1) / kBlock;
  const double unit_ns = kMoveNs<T> * 4 * static_cast<double>(std::min(rows.size, kBlock) * columns.size);
  context.ParallelFor(NumSteps(axes) * strips, unit_ns, [&](int64_t begin, int64_t end) {
    Odometer odometer(axes, begin / strips);
    int64_t strip = begin % strips;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = strip * kBlock;
      CopyTransposed(rows, columns, row, std::min(row + kBlock, rows.size), to + odometer.to(), from + odometer.from());
      if (++strip == strips) {
        strip = 0;
        odometer.Next();
      }
    }
  });
}

}  // namespace

void CopyStrided(const KernelContext& context, absl::Span<const CopyAxis> axes, Tensor& to, int64_t to_offset,
                 const Tensor& from, int64_t from_offset) {
  CopyAxes joined;
  if (!Simplify(axes, &joined)) return;
  DispatchMoved(to.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const first_to = Elements<T>(to) + to_offset;
    const T* const first_from = Elements<T>(from) + from_offset;
    const int row_axis = TransposedAxis(joined);
    if (row_axis >= 0) {
      CopyBlocks(context, joined, static_cast<size_t>(row_axis), first_to, first_from);
      return;
    }
    const double ns = joined.back().from == 1 ? kMoveNs<T> : kMoveNs<T> + 0.5;
    context.ParallelFor(NumSteps(joined), ns,
                        [&](int64_t begin, int64_t end) { CopyRuns(joined, begin, end, first_to, first_from); });
  });
}

void FillElements(const KernelContext& context, Tensor& to, const Tensor& value) {
  const CopyAxis axis = {to.num_elements(), 1, 0};
  CopyStrided(context, {&axis, 1}, to, 0, value, 0);
}

}  // namespace sluice
