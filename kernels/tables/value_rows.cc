#include "kernels/tables/value_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/moved_types.h"

namespace sluice {

bool SameRow(const Tensor& a, int64_t a_row, const Tensor& b, int64_t b_row, int64_t width) {
  if (a.dtype() == DType::kString) {
    const TString* const x = Elements<TString>(a) + a_row * width;
    return std::equal(x, x + width, Elements<TString>(b) + b_row * width);
  }
  const size_t bytes = static_cast<size_t>(width) * DTypeSize(a.dtype());
  const char* const x = static_cast<const char*>(a.raw_data()) + static_cast<size_t>(a_row) * bytes;
  const char* const y = static_cast<const char*>(b.raw_data()) + static_cast<size_t>(b_row) * bytes;
  return bytes == 0 || std::memcmp(x, y, bytes) == 0;
}

absl::Status ValueRows::Reserve(int64_t count) {
  if (count <= capacity_) return absl::OkStatus();
  const int64_t capacity = std::max<int64_t>({count, 2 * capacity_, 16});
  const absl::StatusOr<Shape> shape = Shape::Make({capacity, width_});
  if (!shape.ok()) return Error(ErrorCode::kOutOfMemory).Text(absl::StrCat("no memory holds ", count, " rows"));
  SLUICE_ASSIGN_OR_RETURN(Tensor grown, Tensor::Make(dtype_, *shape, *allocator_));
  if (rows_.has_value()) {
    DispatchMoved(dtype_, [&](auto type) {
      using T = typename decltype(type)::Type;
      T* const from = Elements<T>(rows_);
      std::move(from, from + capacity_ * width_, Elements<T>(grown));
    });
  }
  rows_ = std::move(grown);
  capacity_ = capacity;
  return absl::OkStatus();
}

void ValueRows::Set(int64_t row, const Tensor& from, int64_t from_row) {
  DispatchMoved(dtype_, [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy_n(Elements<T>(from) + from_row * width_, width_, Elements<T>(rows_) + row * width_);
  });
}

void ValueRows::Move(int64_t from_row, int64_t to_row) {
  DispatchMoved(dtype_, [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const from = Elements<T>(rows_) + from_row * width_;
    if (from_row != to_row) std::move(from, from + width_, Elements<T>(rows_) + to_row * width_);
    std::fill_n(from, width_, T());  // Lets go of what strings and variants hold.
  });
}

bool ValueRows::Equals(int64_t row, const Tensor& from, int64_t from_row) const {
  return SameRow(rows_, row, from, from_row, width_);
}

void ValueRows::Clear() {
  if (!rows_.has_value()) return;
  DispatchMoved(dtype_, [&](auto type) {
    using T = typename decltype(type)::Type;
    std::fill_n(Elements<T>(rows_), rows_.num_elements(), T());
  });
}

void ValueRows::CopyTo(int64_t count, Tensor& to) const {
  if (count == 0) return;
  DispatchMoved(dtype_, [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy_n(Elements<T>(rows_), count * width_, Elements<T>(to));
  });
}

void ValueRows::Gather(const KernelContext& context, absl::Span<const int64_t> numbers, const Tensor& missing,
                       bool one_missing, Tensor& to) const {
  DispatchMoved(dtype_, [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const rows = rows_.has_value() ? Elements<T>(rows_) : nullptr;
    const T* const otherwise = Elements<T>(missing);
    T* const out = Elements<T>(to);
    const double row_ns = 4 + kMoveNs<T> * static_cast<double>(width_);
    context.ParallelFor(static_cast<int64_t>(numbers.size()), row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = numbers[static_cast<size_t>(i)];
        const T* const from = number >= 0 ? rows + number * width_ : otherwise + (one_missing ? 0 : i * width_);
        std::copy_n(from, width_, out + i * width_);
      }
    });
  });
}

}  // namespace sluice
