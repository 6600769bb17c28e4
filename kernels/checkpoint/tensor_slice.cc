#include "kernels/checkpoint/tensor_slice.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

absl::Status BadSlice(absl::string_view what, absl::string_view text) {
  return Error(ErrorCode::kCheckpointSlice).Text(what).Found(absl::StrCat("'", PrintableName(text), "'"));
}

absl::Status OutOfTensor(absl::string_view what, const TensorSlice& slice, const Shape& full) {
  return Error(ErrorCode::kOpBroken)
      .Text(absl::StrCat("slice '", SliceText(slice), "' of a tensor of shape ", full.ToString(), ": ", what));
}

// How many elements a tensor holds between neighbours on each axis.
absl::InlinedVector<int64_t, 4> StridesOf(const Shape& shape) {
  absl::InlinedVector<int64_t, 4> strides(static_cast<size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = strides[static_cast<size_t>(axis) + 1] * shape.dim(axis + 1);
  }
  return strides;
}

// The axis on which most boxes begin in places of their own.
size_t TellingAxis(absl::Span<const SliceBox> boxes) {
  size_t best = 0, most = 0;
  for (size_t axis = 0; axis < boxes.front().extents.size(); ++axis) {
    std::vector<int64_t> starts;
    for (const SliceBox& box : boxes) starts.push_back(box.extents[axis].start);
    std::sort(starts.begin(), starts.end());
    const size_t count = static_cast<size_t>(std::unique(starts.begin(), starts.end()) - starts.begin());
    if (count > most) {
      most = count;
      best = axis;
    }
  }
  return best;
}

absl::Status CheckApart(absl::Span<const SliceBox> boxes) {
  if (boxes.size() < 2) return absl::OkStatus();
  if (boxes.front().extents.empty()) return Error(ErrorCode::kOpBroken).Text("a stored scalar has several slices");
  const size_t axis = TellingAxis(boxes);
  std::vector<const SliceBox*> sorted;
  for (const SliceBox& box : boxes) {
    if (box.shape.num_elements() > 0) sorted.push_back(&box);
  }
  std::sort(sorted.begin(), sorted.end(),
            [axis](const SliceBox* a, const SliceBox* b) { return a->extents[axis].start < b->extents[axis].start; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    const int64_t end = sorted[i]->extents[axis].start + sorted[i]->extents[axis].length;
    for (size_t j = i + 1; j < sorted.size() && sorted[j]->extents[axis].start < end; ++j) {
      if (!Intersect(*sorted[i], *sorted[j], nullptr)) continue;
      return Error(ErrorCode::kOpBroken)
          .Text(absl::StrCat("the stored slices '", SliceText(sorted[i]->extents), "' and '",
                             SliceText(sorted[j]->extents), "' overlap"));
    }
  }
  return absl::OkStatus();
}

// A number after the count of its bytes, those with the highest value first.
void AppendOrdered(uint64_t value, std::string* out) {
  char bytes[8];
  size_t count = 0;
  for (; value != 0; value >>= 8) bytes[count++] = static_cast<char>(value & 0xff);
  out->push_back(static_cast<char>(count));
  while (count > 0) out->push_back(bytes[--count]);
}

// Text whose end sorts before all other characters: zero and 255 get a second byte, 0 1 is the end.
void AppendOrdered(absl::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->push_back('\0');
  out->push_back('\1');
}

// A number that may be negative. Of n bytes the first n bits, upside down for negative numbers, say how many there are
// (n ones and a zero); 7 * n - 1 bits are left for the number, and its sign.
void AppendOrderedSigned(int64_t value, std::string* out) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  size_t size = 1;
  while (size < 10 && (7 * size - 1 < 64) && magnitude >> (7 * size - 1) != 0) ++size;
  unsigned char bytes[10];
  const unsigned char sign = value < 0 ? 0xff : 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t shift = 8 * (size - 1 - i);
    bytes[i] = shift >= 64 ? sign : static_cast<unsigned char>(static_cast<uint64_t>(value) >> shift);
  }
  // The bits that say the size, as the two first bytes.
  const uint32_t header = static_cast<uint32_t>(0xffff << (16 - size)) & 0xffff;
  bytes[0] ^= static_cast<unsigned char>(header >> 8);
  if (size > 1) bytes[1] ^= static_cast<unsigned char>(header & 0xff);
  out->append(reinterpret_cast<const char*>(bytes), size);
}

// One run of elements from place to place.
void CopyRun(const Tensor& from, int64_t at, int64_t count, int64_t to_at, Tensor* to) {
  if (from.dtype() == DType::kString) {
    const absl::Span<const TString> values = from.flat<TString>().subspan(static_cast<size_t>(at));
    std::copy_n(values.begin(), count, to->flat<TString>().begin() + to_at);
    return;
  }
  const size_t size = DTypeSize(from.dtype());
  std::memcpy(static_cast<char*>(to->mutable_raw_data()) + static_cast<size_t>(to_at) * size,
              static_cast<const char*>(from.raw_data()) + static_cast<size_t>(at) * size,
              static_cast<size_t>(count) * size);
}

}  // namespace

TensorSlice WholeSlice(int rank) { return TensorSlice(static_cast<size_t>(rank)); }

absl::StatusOr<TensorSlice> ParseSlice(absl::string_view text) {
  TensorSlice slice;
  for (const absl::string_view part : absl::StrSplit(text, ':', absl::SkipEmpty())) {
    SliceExtent extent;
    if (part != "-") {
      const std::vector<absl::string_view> pair = absl::StrSplit(part, ',');
      if (pair.size() != 2 || !absl::SimpleAtoi(pair[0], &extent.start) || !absl::SimpleAtoi(pair[1], &extent.length)) {
        return BadSlice("an extent is neither '-' nor a start and a length", text);
      }
      if (extent.start < 0 || extent.length <= 0) {
        return BadSlice("an extent begins before the first element, or is empty", text);
      }
    }
    if (slice.size() == static_cast<size_t>(kMaxRank)) return BadSlice("it has too many extents", text);
    slice.push_back(extent);
  }
  return slice;
}

std::string SliceText(const TensorSlice& slice) {
  return absl::StrJoin(slice, ":", [](std::string* out, const SliceExtent& extent) {
    absl::StrAppend(out, extent.is_all() ? "-" : absl::StrCat(extent.start, ",", extent.length));
  });
}

absl::StatusOr<SliceBox> BoxOf(const TensorSlice& slice, const Shape& full) {
  if (slice.size() != static_cast<size_t>(full.rank())) return OutOfTensor("the ranks differ", slice, full);
  SliceBox box;
  box.full_shape = full;
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < slice.size(); ++axis) {
    const int64_t size = full.dim(static_cast<int>(axis));
    SliceExtent extent = slice[axis];
    if (extent.is_all()) extent = {0, size};
    if (extent.start < 0 || extent.length < 0 || extent.start > size || extent.length > size - extent.start) {
      return OutOfTensor(absl::StrCat("it leads out of axis ", axis), slice, full);
    }
    box.extents.push_back(extent);
    dims.push_back(extent.length);
  }
  SLUICE_ASSIGN_OR_RETURN(box.shape, Shape::Make(dims));
  return box;
}

absl::StatusOr<SliceSpec> ParseSliceSpec(absl::string_view spec) {
  std::vector<absl::string_view> parts = absl::StrSplit(spec, ' ');
  if (parts.size() < 2) return BadSlice("it is not a shape and a slice", spec);
  SliceSpec made;
  SLUICE_ASSIGN_OR_RETURN(made.slice, ParseSlice(parts.back()));
  parts.pop_back();
  std::vector<int64_t> dims;
  for (const absl::string_view part : parts) {
    dims.push_back(0);
    if (!absl::SimpleAtoi(part, &dims.back())) return BadSlice("a size of the shape is not a number", spec);
  }
  const absl::StatusOr<Shape> full = Shape::Make(dims);
  if (!full.ok()) return BadSlice("its shape is not a valid shape of a tensor", spec);
  SLUICE_ASSIGN_OR_RETURN(made.box, BoxOf(made.slice, *full));
  return made;
}

absl::StatusOr<TensorSlice> ReadSliceProto(WireReader reader) {
  TensorSlice slice;
  while (reader.Next()) {
    if (reader.tag() != WireTag(1, WireType::kBytes)) continue;
    SliceExtent extent;
    WireReader fields = reader.Message();
    while (fields.Next()) {
      if (fields.tag() == WireTag(1, WireType::kVarint)) extent.start = static_cast<int64_t>(fields.varint());
      if (fields.tag() == WireTag(2, WireType::kVarint)) extent.length = static_cast<int64_t>(fields.varint());
    }
    const bool is_sound = extent.start >= 0 && (extent.length >= 0 || (extent.is_all() && extent.start == 0));
    if (!fields.ok() || !is_sound || slice.size() == static_cast<size_t>(kMaxRank)) {
      return Error(ErrorCode::kCheckpointDamaged).Text("a slice is unreadable");
    }
    slice.push_back(extent);
  }
  if (!reader.ok()) return Error(ErrorCode::kCheckpointDamaged).Text("a slice is unreadable");
  return slice;
}

void WriteSliceProto(uint32_t field, const TensorSlice& slice, WireWriter* writer) {
  const size_t message = writer->BeginMessage(field);
  for (const SliceExtent& extent : slice) {
    const size_t mark = writer->BeginMessage(1);
    if (extent.start != 0) writer->Int(1, extent.start);
    if (!extent.is_all()) writer->Int(2, extent.length);
    writer->EndMessage(mark);
  }
  writer->EndMessage(message);
}

std::string SliceKey(absl::string_view name, const TensorSlice& slice) {
  std::string key;
  AppendOrdered(uint64_t{0}, &key);
  AppendOrdered(name, &key);
  AppendOrdered(uint64_t{slice.size()}, &key);
  for (const SliceExtent& extent : slice) {
    AppendOrderedSigned(extent.start, &key);
    AppendOrderedSigned(extent.length, &key);
  }
  return key;
}

bool Intersect(const SliceBox& a, const SliceBox& b, SliceBox* common) {
  SliceBox box;
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < a.extents.size(); ++axis) {
    const SliceExtent &x = a.extents[axis], &y = b.extents[axis];
    const int64_t begin = std::max(x.start, y.start);
    const int64_t end = std::min(x.start + x.length, y.start + y.length);
    if (begin >= end) return false;
    if (common != nullptr) {
      box.extents.push_back({begin, end - begin});
      dims.push_back(end - begin);
    }
  }
  if (common == nullptr) return true;
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return false;  // No part of a shape is larger than it.
  box.full_shape = a.full_shape;
  box.shape = *std::move(shape);
  *common = std::move(box);
  return true;
}

absl::Status CheckCover(absl::Span<const SliceBox> boxes, const SliceBox& wanted) {
  SLUICE_RETURN_IF_ERROR(CheckApart(boxes));
  int64_t covered = 0;
  for (const SliceBox& box : boxes) {
    SliceBox common;
    if (Intersect(box, wanted, &common)) covered += common.shape.num_elements();
  }
  if (covered == wanted.shape.num_elements()) return absl::OkStatus();
  return Error(ErrorCode::kCheckpointSlice)
      .Text(absl::StrCat("the stored slices do not make up '", SliceText(wanted.extents), "'"))
      .Found(absl::StrCat(covered, " elements"))
      .Expected(absl::StrCat(wanted.shape.num_elements()));
}

int64_t ContiguousOffset(const SliceBox& part, const SliceBox& box) {
  const absl::InlinedVector<int64_t, 4> strides = StridesOf(box.shape);
  int64_t offset = 0;
  bool is_run = false;  // An axis before has more than one index: all from here on must be whole.
  for (size_t axis = 0; axis < part.extents.size(); ++axis) {
    const SliceExtent &mine = part.extents[axis], &all = box.extents[axis];
    if (is_run && mine.length != all.length) return -1;
    is_run = is_run || mine.length > 1;
    offset += (mine.start - all.start) * strides[axis];
  }
  return offset;
}

void CopyCommon(const Tensor& from, const SliceBox& from_box, const SliceBox& to_box, Tensor* to) {
  SliceBox common;
  if (!Intersect(from_box, to_box, &common)) return;
  const absl::InlinedVector<int64_t, 4> from_strides = StridesOf(from_box.shape), to_strides = StridesOf(to_box.shape);
  const size_t rank = common.extents.size();
  int64_t from_at = 0, to_at = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    from_at += (common.extents[axis].start - from_box.extents[axis].start) * from_strides[axis];
    to_at += (common.extents[axis].start - to_box.extents[axis].start) * to_strides[axis];
  }
  // The axes from `inner` on are one run in both.
  size_t inner = rank;
  int64_t run = 1;
  while (inner > 0 && from_strides[inner - 1] == run && to_strides[inner - 1] == run) {
    run *= common.extents[--inner].length;
  }
  absl::InlinedVector<int64_t, 4> index(inner, 0);
  while (true) {
    CopyRun(from, from_at, run, to_at, to);
    size_t axis = inner;
    while (axis > 0 && ++index[axis - 1] == common.extents[axis - 1].length) {
      --axis;
      from_at -= (index[axis] - 1) * from_strides[axis];
      to_at -= (index[axis] - 1) * to_strides[axis];
      index[axis] = 0;
    }
    if (axis == 0) return;
    from_at += from_strides[axis - 1];
    to_at += to_strides[axis - 1];
  }
}

}  // namespace sluice
