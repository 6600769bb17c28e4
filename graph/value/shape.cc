#include "graph/value/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 62;

// Dimensions for an error message: all of them, or the first few of a long list.
std::string DimsText(absl::Span<const int64_t> dims) {
  constexpr size_t kShown = 16;
  if (dims.size() <= kShown) return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
  return absl::StrCat("[", absl::StrJoin(dims.first(kShown), ","), ",... ", dims.size(), " in all]");
}

absl::Status RankError(size_t rank) {
  return Error(ErrorCode::kShapeRank)
      .Found(absl::StrCat(rank, " dimensions"))
      .Expected(absl::StrCat("at most ", kMaxRank))
      .Text(absl::StrCat("the shape has ", rank, " dimensions, more than the ", kMaxRank, " that a tensor can have"));
}

absl::Status SizeError(absl::Span<const int64_t> dims, int64_t size, size_t axis) {
  return Error(ErrorCode::kShapeValue)
      .Found(absl::StrCat(size))
      .Text(absl::StrCat("shape ", DimsText(dims), " has the impossible size ", size, " in dimension ", axis));
}

absl::Status OverflowError(absl::Span<const int64_t> dims) {
  return Error(ErrorCode::kShapeValue)
      .Found(DimsText(dims))
      .Expected("at most 2^62 elements, dimensions of size 0 left out")
      .Text(absl::StrCat("shape ", DimsText(dims), " has more elements than can be counted"));
}

}  // namespace

bool CheckedNumElements(absl::Span<const int64_t> dims, int64_t* out) {
  // Zeros are skipped, so that [0, 2^62, 2^62] is refused like [2^62, 2^62]: code that multiplies only some of the
  // sizes is then safe.
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : dims) {
    if (size < 0) return false;
    if (size == 0) {
      empty = true;
    } else if (product > kMaxElements / size) {
      return false;
    } else {
      product *= size;
    }
  }
  *out = empty ? 0 : product;
  return true;
}

absl::StatusOr<Shape> Shape::Make(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) return RankError(dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0) return SizeError(dims, dims[axis], axis);
  }
  Shape shape;
  if (!CheckedNumElements(dims, &shape.num_elements_)) return OverflowError(dims);
  int64_t* sizes = shape.inline_;
  if (dims.size() > kInlineRank) sizes = shape.heap_ = std::allocator<int64_t>().allocate(dims.size());
  std::copy(dims.begin(), dims.end(), sizes);
  shape.rank_ = static_cast<uint8_t>(dims.size());
  return shape;
}

Shape Shape::Of(std::initializer_list<int64_t> dims) {
  absl::StatusOr<Shape> shape = Make(absl::MakeConstSpan(dims.begin(), dims.size()));
  SLUICE_CHECK(shape.ok());
  return *std::move(shape);
}

void Shape::CopyHeap() {
  const int64_t* theirs = heap_;
  heap_ = std::allocator<int64_t>().allocate(rank_);
  std::copy(theirs, theirs + rank_, heap_);
}

void Shape::FreeHeap() { std::allocator<int64_t>().deallocate(heap_, rank_); }

std::string Shape::ToString() const { return absl::StrCat("[", absl::StrJoin(dims(), ","), "]"); }

PartialShape PartialShape::From(const Shape& shape) {
  return PartialShape(std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
}

absl::StatusOr<PartialShape> PartialShape::Make(absl::Span<const int64_t> dims) {
  for (size_t axis = 0; axis < std::min(dims.size(), size_t{kMaxRank}); ++axis) {
    if (IsDimId(dims[axis])) return SizeError(dims, dims[axis], axis);
  }
  return MakeWithIds(dims);
}

absl::StatusOr<PartialShape> PartialShape::MakeWithIds(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) return RankError(dims.size());
  std::vector<int64_t> known;
  known.reserve(dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < -1 && !IsDimId(dims[axis])) return SizeError(dims, dims[axis], axis);
    if (dims[axis] >= 0) known.push_back(dims[axis]);
  }
  int64_t product;
  if (!CheckedNumElements(known, &product)) return OverflowError(dims);
  return PartialShape(std::vector<int64_t>(dims.begin(), dims.end()));
}

bool PartialShape::IsFullyDefined() const {
  return has_rank_ && std::none_of(dims_.begin(), dims_.end(), [](int64_t size) { return size < 0; });
}

int64_t PartialShape::num_elements() const {
  int64_t product;
  return has_rank_ && CheckedNumElements(dims_, &product) ? product : -1;
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!has_rank_ || !other.has_rank_) return true;
  return std::equal(dims_.begin(), dims_.end(), other.dims_.begin(), other.dims_.end(),
                    [](int64_t a, int64_t b) { return a == b || a < 0 || b < 0; });
}

bool PartialShape::IsCompatibleWith(const Shape& shape) const {
  if (!has_rank_) return true;
  const absl::Span<const int64_t> sizes = shape.dims();
  return std::equal(dims_.begin(), dims_.end(), sizes.begin(), sizes.end(),
                    [](int64_t a, int64_t b) { return a == b || a < 0; });
}

absl::StatusOr<PartialShape> PartialShape::MergeWith(const PartialShape& other) const {
  if (!has_rank_) return other;
  if (!other.has_rank_) return *this;
  if (!IsCompatibleWith(other)) {
    return Error(ErrorCode::kShapeMismatch)
        .Found(ToString())
        .Expected(other.ToString())
        .Text(absl::StrCat("shapes ", ToString(), " and ", other.ToString(), " do not fit together"));
  }
  std::vector<int64_t> merged = dims_;
  for (size_t axis = 0; axis < merged.size(); ++axis) {
    // Keeps what either knows: a size, else an id.
    const int64_t theirs = other.dims_[axis];
    if (theirs >= 0 || merged[axis] == -1) merged[axis] = theirs;
  }
  return MakeWithIds(merged);
}

PartialShape PartialShape::WithoutIds() const {
  PartialShape result = *this;
  for (int64_t& size : result.dims_) size = std::max(size, int64_t{-1});
  return result;
}

Shape PartialShape::ToShape() const {
  absl::StatusOr<Shape> shape = Shape::Make(dims_);
  SLUICE_CHECK(has_rank_ && shape.ok());
  return *std::move(shape);
}

std::string PartialShape::ToString() const {
  if (!has_rank_) return "?";
  const auto append_size = [](std::string* out, int64_t size) {
    size < 0 ? out->append("?") : out->append(absl::StrCat(size));
  };
  return absl::StrCat("[", absl::StrJoin(dims_, ",", append_size), "]");
}

}  // namespace sluice
