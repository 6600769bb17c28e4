#include "kernels/checkpoint/bundle_entry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

constexpr int32_t kMaxShards = 100'000;
constexpr uint64_t kFormVersion = 1;

}  // namespace

absl::Status BadBundleEntry(absl::string_view name, absl::string_view what) {
  return Error(ErrorCode::kCheckpointEntry).Text(absl::StrCat("tensor '", PrintableName(name), "': ", what));
}

absl::StatusOr<BundleEntry> ReadBundleEntry(absl::string_view name, absl::string_view bytes) {
  BundleEntry entry;
  PartialShape shape = PartialShape::Scalar();
  int64_t dtype = 0;
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case WireTag(1, WireType::kVarint):
        dtype = static_cast<int64_t>(reader.varint());
        break;
      case WireTag(2, WireType::kBytes): {
        absl::StatusOr<PartialShape> decoded = DecodeShapeProto(reader.bytes());
        if (!decoded.ok()) return BadBundleEntry(name, "has an impossible shape");
        shape = *std::move(decoded);
        break;
      }
      case WireTag(3, WireType::kVarint):
        entry.shard = static_cast<int32_t>(reader.varint());
        break;
      case WireTag(4, WireType::kVarint):
        entry.offset = static_cast<int64_t>(reader.varint());
        break;
      case WireTag(5, WireType::kVarint):
        entry.size = static_cast<int64_t>(reader.varint());
        break;
      case WireTag(6, WireType::kFixed32):
        entry.masked_crc = reader.fixed32();
        break;
      case WireTag(7, WireType::kBytes): {
        entry.is_sliced = true;
        SLUICE_ASSIGN_OR_RETURN(TensorSlice slice, ReadSliceProto(reader.Message()));
        entry.slices.push_back(std::move(slice));
        break;
      }
      default:
        break;
    }
  }
  if (!reader.ok()) return Error(ErrorCode::kCheckpointDamaged).Text("an entry of the index is unreadable");
  entry.dtype = DTypeFromNumber(dtype);
  if (!IsSupported(entry.dtype)) return BadBundleEntry(name, absl::StrCat("has type ", dtype, ", which no tensor has"));
  if (!shape.IsFullyDefined()) return BadBundleEntry(name, "has an unknown shape");
  entry.shape = shape.ToShape();
  return entry;
}

std::string WriteBundleEntry(const BundleEntry& entry) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Int(1, static_cast<int64_t>(entry.dtype));
  const size_t shape = writer.BeginMessage(2);
  WriteShapeProto(entry.shape, &writer);
  writer.EndMessage(shape);
  if (entry.shard != 0) writer.Int(3, entry.shard);
  if (entry.offset != 0) writer.Int(4, entry.offset);
  if (entry.size != 0) writer.Int(5, entry.size);
  if (entry.masked_crc != 0) writer.Fixed32(6, entry.masked_crc);
  for (const TensorSlice& slice : entry.slices) WriteSliceProto(7, slice, &writer);
  return bytes;
}

absl::StatusOr<BundleHeader> ReadBundleHeader(absl::string_view bytes) {
  uint64_t shards = 0, endianness = 0, min_consumer = 0;
  bool is_sound = true;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kVarint)) shards = reader.varint();
    if (reader.tag() == WireTag(2, WireType::kVarint)) endianness = reader.varint();
    if (reader.tag() != WireTag(3, WireType::kBytes)) continue;
    WireReader version = reader.Message();
    while (version.Next()) {
      if (version.tag() == WireTag(2, WireType::kVarint)) min_consumer = version.varint();
    }
    is_sound = is_sound && version.ok();
  }
  if (!reader.ok() || !is_sound || shards == 0 || shards > kMaxShards || endianness > 1) {
    return Error(ErrorCode::kCheckpointDamaged).Text("the header of the index is unreadable");
  }
  if (min_consumer > kFormVersion) {
    return Error(ErrorCode::kCheckpointEntry)
        .Text("the checkpoint is of a newer form")
        .Found(absl::StrCat("version ", min_consumer))
        .Expected(absl::StrCat("at most ", kFormVersion));
  }
  return BundleHeader{static_cast<int32_t>(shards), endianness == 1};
}

std::string WriteBundleHeader(const BundleHeader& header) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Int(1, header.num_shards);
  if (header.is_big_endian) writer.Varint(2, 1);
  const size_t version = writer.BeginMessage(3);
  writer.Varint(1, kFormVersion);
  writer.EndMessage(version);
  return bytes;
}

}  // namespace sluice
