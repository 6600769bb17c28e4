#ifndef SLUICE_KERNELS_TABLES_VALUE_ROWS_H_
#define SLUICE_KERNELS_TABLES_VALUE_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Whether row `a_row` of `a` and row `b_row` of `b`, of `width` elements each, are equal. REQUIRES: equal dtypes, of
// strings or plain elements.
bool SameRow(const Tensor& a, int64_t a_row, const Tensor& b, int64_t b_row, int64_t width);

// Rows of elements of one dtype, by number; as many as asked for. Not thread-safe; constant access from any thread.
class ValueRows {
 public:
  // `width` elements in each row. The rows lie in memory of `allocator`, which must outlive this.
  ValueRows(DType dtype, int64_t width, Allocator& allocator) : dtype_(dtype), width_(width), allocator_(&allocator) {}

  DType dtype() const { return dtype_; }
  int64_t width() const { return width_; }
  int64_t MemoryUsed() const { return rows_.has_value() ? static_cast<int64_t>(rows_.total_bytes()) : 0; }
  // The memory of the rows; may be null if there are none.
  const Tensor& rows() const { return rows_; }

  // Makes room for `count` rows in all. RESOURCE_EXHAUSTED.
  absl::Status Reserve(int64_t count);
  // REQUIRES (for all below): room for the rows, and `from` of the same dtype.
  void Set(int64_t row, const Tensor& from, int64_t from_row);
  // Row `from_row` is as fresh memory afterwards, also where both are the same.
  void Move(int64_t from_row, int64_t to_row);
  bool Equals(int64_t row, const Tensor& from, int64_t from_row) const;
  // Zeros, empty strings, or null in all rows.
  void Clear();
  // Rows [0, count) into `to`.
  void CopyTo(int64_t count, Tensor& to) const;
  // Row numbers[i] into row i of `to`, and row i of `missing`, or its first where `one_missing`, for negative numbers.
  void Gather(const KernelContext& context, absl::Span<const int64_t> numbers, const Tensor& missing, bool one_missing,
              Tensor& to) const;

 private:
  DType dtype_;
  int64_t width_;
  Allocator* allocator_;
  int64_t capacity_ = 0;
  Tensor rows_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_VALUE_ROWS_H_
