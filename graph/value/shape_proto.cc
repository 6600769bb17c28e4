#include "graph/value/shape_proto.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr uint32_t kDimField = 2;
constexpr uint32_t kUnknownRankField = 3;
constexpr uint32_t kSizeField = 1;

void WriteDim(int64_t size, WireWriter* writer) {
  const size_t mark = writer->BeginMessage(kDimField);
  if (size != 0) writer->Int(kSizeField, size);
  writer->EndMessage(mark);
}

}  // namespace

absl::Status ReadShapeProto(WireReader reader, RawShape* out) {
  while (reader.Next()) {
    if (reader.tag() == WireTag(kUnknownRankField, WireType::kVarint)) out->unknown_rank = reader.varint() != 0;
    if (reader.tag() != WireTag(kDimField, WireType::kBytes)) continue;
    if (out->dims.size() == kMaxRank) {
      return Error(ErrorCode::kTensorShape)
          .Found(absl::StrCat("more than ", kMaxRank, " dimensions"))
          .Expected(absl::StrCat("at most ", kMaxRank))
          .AtByte(static_cast<int64_t>(reader.offset()))
          .Text("the shape has too many dimensions");
    }
    int64_t size = 0;
    WireReader dim = reader.Message();
    while (dim.Next()) {
      if (dim.tag() == WireTag(kSizeField, WireType::kVarint)) size = static_cast<int64_t>(dim.varint());
    }
    SLUICE_RETURN_IF_ERROR(dim.status());
    out->dims.push_back(size);
  }
  return reader.status();
}

absl::StatusOr<PartialShape> DecodeShapeProto(absl::string_view bytes, size_t base_offset) {
  RawShape raw;
  SLUICE_RETURN_IF_ERROR(ReadShapeProto(WireReader(bytes, base_offset), &raw));
  if (!raw.unknown_rank) return PartialShape::Make(raw.dims);
  if (raw.dims.empty()) return PartialShape();
  return Error(ErrorCode::kTensorShape)
      .Found(absl::StrCat(raw.dims.size(), " dimensions"))
      .Expected("no dimensions beside unknown_rank")
      .Text("the shape says that its rank is unknown and lists dimensions");
}

std::string EncodeShapeProto(const PartialShape& shape) {
  std::string out;
  WireWriter writer(&out);
  if (!shape.has_rank()) writer.Bool(kUnknownRankField, true);
  for (const int64_t size : shape.dims()) WriteDim(std::max(size, int64_t{-1}), &writer);
  return out;
}

void WriteShapeProto(const Shape& shape, WireWriter* writer) {
  for (const int64_t size : shape.dims()) WriteDim(size, writer);
}

}  // namespace sluice
