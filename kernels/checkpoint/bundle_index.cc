#include "kernels/checkpoint/bundle_index.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/wire/wire_reader.h"
#include "kernels/checkpoint/sorted_table.h"

namespace sluice {
namespace {

constexpr int32_t kMaxShards = 100'000;
constexpr int64_t kMaxIndexBytes = int64_t{1} << 32;

absl::Status BadEntry(absl::string_view key, absl::string_view what) {
  return Error(ErrorCode::kCheckpointEntry).Text(absl::StrCat("tensor '", PrintableName(key), "': ", what));
}

// Keys of the pieces of sliced tensors start with an encoded zero.
bool IsSliceKey(absl::string_view key) { return !key.empty() && key.front() == '\0'; }

}  // namespace

absl::StatusOr<BundleIndex> BundleIndex::Open(const std::string& prefix) {
  BundleIndex index;
  index.prefix_ = prefix;
  const std::string file = absl::StrCat(prefix, ".index");
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) {
    return Error(ErrorCode::kCheckpointMissing).Text(absl::StrCat("the checkpoint has no index '", file, "'"));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> bytes, MappedFile::Open(file, kMaxIndexBytes));
  bool header_seen = false;
  const absl::Status status = ForEachTableEntry(bytes->bytes(), [&](absl::string_view key, absl::string_view value) {
    if (!header_seen) {
      header_seen = true;
      if (!key.empty()) return absl::Status(Error(ErrorCode::kCheckpointDamaged).Text("the index has no header"));
      return index.ReadHeader(value);
    }
    return index.ReadEntry(key, value);
  });
  if (!status.ok()) return WithFile(status, file);
  if (!header_seen) return WithFile(Error(ErrorCode::kCheckpointDamaged).Text("the index is empty"), file);
  SLUICE_RETURN_IF_ERROR(index.CheckShards());
  return index;
}

std::string BundleIndex::ShardFile(int32_t shard) const {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix_, shard, num_shards_);
}

absl::Status BundleIndex::ReadHeader(absl::string_view bytes) {
  uint64_t shards = 0, endianness = 0;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kVarint)) shards = reader.varint();
    if (reader.tag() == WireTag(2, WireType::kVarint)) endianness = reader.varint();
  }
  if (!reader.ok() || shards == 0 || shards > kMaxShards || endianness > 1) {
    return Error(ErrorCode::kCheckpointDamaged).Text("the header of the index is unreadable");
  }
  num_shards_ = static_cast<int32_t>(shards);
  big_endian_ = endianness == 1;
  return absl::OkStatus();
}

absl::Status BundleIndex::ReadEntry(absl::string_view key, absl::string_view bytes) {
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
        if (!decoded.ok()) return BadEntry(key, "has an impossible shape");
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
      case WireTag(7, WireType::kBytes):
        entry.is_sliced = true;
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return Error(ErrorCode::kCheckpointDamaged).Text("an entry of the index is unreadable");
  entry.dtype = DTypeFromNumber(dtype);
  if (!IsSupported(entry.dtype)) return BadEntry(key, absl::StrCat("has type ", dtype, ", which no tensor has"));
  if (!shape.IsFullyDefined()) return BadEntry(key, "has an unknown shape");
  entry.shape = shape.ToShape();
  if (IsSliceKey(key)) {
    slices_.push_back(std::move(entry));
  } else {
    entries_.emplace(std::string(key), std::move(entry));
  }
  return absl::OkStatus();
}

absl::Status BundleIndex::CheckShards() const {
  std::vector<int64_t> sizes;
  for (int32_t shard = 0; shard < num_shards_; ++shard) {
    std::error_code failed;
    const uintmax_t size = std::filesystem::file_size(ShardFile(shard), failed);
    if (failed) {
      return Error(ErrorCode::kCheckpointMissing).Text(absl::StrCat("the file '", ShardFile(shard), "' is missing"));
    }
    sizes.push_back(static_cast<int64_t>(size));
  }
  const auto check = [&](absl::string_view key, const BundleEntry& entry) -> absl::Status {
    if (entry.is_sliced) return absl::OkStatus();
    if (entry.shard < 0 || entry.shard >= num_shards_) {
      return BadEntry(key, absl::StrCat("lies in shard ", entry.shard, " of ", num_shards_));
    }
    return CheckExtent(key, entry, sizes[static_cast<size_t>(entry.shard)]);
  };
  for (const auto& entry : entries_) SLUICE_RETURN_IF_ERROR(check(entry.first, entry.second));
  for (const BundleEntry& slice : slices_) SLUICE_RETURN_IF_ERROR(check("(slice)", slice));
  return absl::OkStatus();
}

absl::Status BundleIndex::CheckExtent(absl::string_view key, const BundleEntry& entry, int64_t shard_bytes) const {
  int64_t end = 0, needed = 0;
  if (entry.offset < 0 || entry.size < 0 || !CheckedAdd(entry.offset, entry.size, &end)) {
    return BadEntry(key, "has an impossible place");
  }
  if (end > shard_bytes) {
    return Error(ErrorCode::kCheckpointShort)
        .Text(absl::StrCat("tensor '", PrintableName(key), "' reaches past the end of '", ShardFile(entry.shard), "'"))
        .Found(absl::StrCat(shard_bytes, " bytes"))
        .Expected(absl::StrCat("at least ", end));
  }
  if (!IsTrivial(entry.dtype)) return absl::OkStatus();
  const int64_t element = static_cast<int64_t>(DTypeSize(entry.dtype));
  if (!CheckedMul(entry.shape.num_elements(), element, &needed) || needed != entry.size) {
    return BadEntry(key, absl::StrCat("has ", entry.size, " bytes, but ", DTypeName(entry.dtype),
                                      entry.shape.ToString(), " needs ", needed));
  }
  return absl::OkStatus();
}

}  // namespace sluice
