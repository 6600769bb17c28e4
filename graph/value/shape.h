#ifndef SLUICE_GRAPH_VALUE_SHAPE_H_
#define SLUICE_GRAPH_VALUE_SHAPE_H_

// Shape: the shape of a tensor. PartialShape: the part of it that is known before a run.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace sluice {

inline constexpr int kMaxRank = 254;

// Sizes of a tensor's dimensions, with their product. Up to 4 dimensions live inline: such shapes never allocate.
// A value type; every instance is valid (no negative size, no overflow of the product of the nonzero sizes, rank <=
// 254). Lends its spare bytes to Tensor and Entry, so that each is one cache line.
class Shape {
 public:
  Shape() = default;  // A scalar.
  Shape(const Shape& other) { CopyFrom(other); }
  Shape(Shape&& other) noexcept { MoveFrom(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) {
      if (rank_ > kInlineRank) FreeHeap();
      CopyFrom(other);
    }
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) {
      if (rank_ > kInlineRank) FreeHeap();
      MoveFrom(other);
    }
    return *this;
  }
  ~Shape() {
    if (rank_ > kInlineRank) FreeHeap();
  }

  // INVALID_ARGUMENT for a negative size, more than 254 dimensions or a product (zeros left out) beyond 2^62.
  static absl::StatusOr<Shape> Make(absl::Span<const int64_t> dims);
  // For sizes that our own code has just established; a wrong one is a failed CHECK.
  static Shape Of(std::initializer_list<int64_t> dims);

  int rank() const { return rank_; }
  // REQUIRES: 0 <= axis < rank().
  int64_t dim(int axis) const { return data()[axis]; }
  absl::Span<const int64_t> dims() const { return {data(), rank_}; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return rank_ == 0; }

  // "[2,3]", "[]" for a scalar.
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b) { return a.dims() == b.dims(); }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  friend class Tensor;
  friend class Entry;
  static constexpr int kInlineRank = 4;

  const int64_t* data() const { return rank_ <= kInlineRank ? inline_ : heap_; }
  // Both overwrite without freeing. Sizes are copied as bytes, to branch on the rank only once.
  void CopyFrom(const Shape& other) {
    std::memcpy(inline_, other.inline_, sizeof(inline_));
    num_elements_ = other.num_elements_;
    rank_ = other.rank_;
    if (rank_ > kInlineRank) CopyHeap();
  }
  void MoveFrom(Shape& other) {
    std::memcpy(inline_, other.inline_, sizeof(inline_));
    num_elements_ = other.num_elements_;
    rank_ = other.rank_;
    other.num_elements_ = 1;
    other.rank_ = 0;
  }
  // Replaces the pointer to another shape's sizes by one to a copy.
  void CopyHeap();
  void FreeHeap();

  union {
    int64_t inline_[kInlineRank] = {0, 0, 0, 0};
    int64_t* heap_;  // Owned; rank_ sizes.
  };
  int64_t num_elements_ = 1;
  uint8_t rank_ = 0;
  // Tensor's and Entry's: not copied, moved or compared with the shape.
  uint8_t lent_dtype_ = 0;
  uint8_t lent_storage_ = 0;
  uint8_t lent_state_ = 0;
  uint32_t lent_uses_ = 0;
};

// Sizes from kLastDimId to kFirstDimId are unknown and have an id: equal ones are the same size. Only shape inference
// makes them (Note [Ids of sizes] in graph/shapes/dims.h); files and callers state -1.
inline constexpr int64_t kFirstDimId = -(int64_t{1} << 61);
inline constexpr int64_t kLastDimId = -(int64_t{1} << 62);
inline bool IsDimId(int64_t size) { return size <= kFirstDimId && size >= kLastDimId; }

// A shape with unknown parts: a negative number for a dimension of unknown size (-1, or an id), or an unknown rank. A
// value type. Equality looks at what is known, and not at ids.
class PartialShape {
 public:
  PartialShape() = default;  // Unknown rank.
  static PartialShape Scalar() { return PartialShape(std::vector<int64_t>{}); }
  static PartialShape Of(std::initializer_list<int64_t> dims) { return PartialShape(std::vector<int64_t>(dims)); }
  static PartialShape From(const Shape& shape);
  // Of `rank` dimensions of unknown size.
  static PartialShape OfRank(int rank) { return PartialShape(std::vector<int64_t>(static_cast<size_t>(rank), -1)); }
  // INVALID_ARGUMENT for sizes below -1, more than 254 dimensions or overflow.
  static absl::StatusOr<PartialShape> Make(absl::Span<const int64_t> dims);
  // The same, with ids among the sizes.
  static absl::StatusOr<PartialShape> MakeWithIds(absl::Span<const int64_t> dims);

  bool has_rank() const { return has_rank_; }
  // -1 when unknown.
  int rank() const { return has_rank_ ? static_cast<int>(dims_.size()) : -1; }
  int64_t dim(int axis) const { return dims_[static_cast<size_t>(axis)]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  bool IsFullyDefined() const;
  // The number of elements, or -1 when unknown.
  int64_t num_elements() const;

  // Whether some shape fits both.
  bool IsCompatibleWith(const PartialShape& other) const;
  bool IsCompatibleWith(const Shape& shape) const;
  // The knowledge about a tensor that has both shapes; INVALID_ARGUMENT if they contradict each other.
  absl::StatusOr<PartialShape> MergeWith(const PartialShape& other) const;
  // REQUIRES: IsFullyDefined().
  Shape ToShape() const;
  // The same with -1 for every unknown size, for files.
  PartialShape WithoutIds() const;
  // Whether both are equal, and so are the ids of unknown sizes.
  bool IsIdenticalTo(const PartialShape& other) const { return has_rank_ == other.has_rank_ && dims_ == other.dims_; }

  // "[2,?]", "[]", "?" for an unknown rank.
  std::string ToString() const;
  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.has_rank_ == b.has_rank_ && std::equal(a.dims_.begin(), a.dims_.end(), b.dims_.begin(), b.dims_.end(),
                                                    [](int64_t x, int64_t y) { return x == y || (x < 0 && y < 0); });
  }
  friend bool operator!=(const PartialShape& a, const PartialShape& b) { return !(a == b); }

 private:
  explicit PartialShape(std::vector<int64_t> dims) : has_rank_(true), dims_(std::move(dims)) {}

  bool has_rank_ = false;
  std::vector<int64_t> dims_;
};

// Elements of a shape in checked arithmetic, for sizes that do not make a Shape yet. False when they overflow 2^62.
[[nodiscard]] bool CheckedNumElements(absl::Span<const int64_t> dims, int64_t* out);

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_SHAPE_H_
