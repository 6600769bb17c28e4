#include "kernels/checkpoint/sorted_table.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/crc32c.h"
#include "kernels/checkpoint/snappy.h"
#include "kernels/checkpoint/take_varint.h"

namespace sluice {
namespace {

constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;                 // Compression type and checksum after each block.
constexpr size_t kMaxBlockBytes = size_t{1} << 28;  // Of a block without its compression: writers make 4 to 256 KiB.
enum : char { kNotCompressed = 0, kSnappy = 1 };
constexpr uint64_t kMagic = 0xdb4775248b80fb57;

// Where a block stands in the file, its trailer not counted.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

absl::Status Damaged(absl::string_view what, uint64_t offset) {
  return Error(ErrorCode::kCheckpointDamaged).Text(what).AtByte(static_cast<int64_t>(offset));
}

template <typename T>
T Fixed(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

bool TakeHandle(absl::string_view* bytes, BlockHandle* handle) {
  return TakeVarint(bytes, &handle->offset) && TakeVarint(bytes, &handle->size);
}

// The entries of one block, its restart array cut off.
struct Block {
  std::string unpacked;  // The contents of a compressed block: `entries` lies in it.
  absl::string_view entries;
};

// Sets `entries` from the whole of the block, which came from `offset`.
absl::Status CutRestarts(absl::string_view data, uint64_t offset, Block* block) {
  if (data.size() < sizeof(uint32_t)) return Damaged("a block is too short", offset);
  const uint64_t restarts = Fixed<uint32_t>(data.data() + data.size() - sizeof(uint32_t));
  if (restarts > (data.size() - sizeof(uint32_t)) / sizeof(uint32_t)) {
    return Damaged("a block's restart points do not fit in it", offset);
  }
  block->entries = data.substr(0, data.size() - sizeof(uint32_t) * (restarts + 1));
  return absl::OkStatus();
}

// Reads the block at `handle` into `*block`, its checksum verified. `block` must stay where it is.
absl::Status ReadBlock(absl::string_view file, BlockHandle handle, Block* block) {
  const uint64_t limit = file.size() - kFooterBytes;
  if (handle.size > limit || handle.offset > limit - handle.size ||
      limit - handle.size - handle.offset < kTrailerBytes) {
    return Damaged(absl::StrCat("a block of ", handle.size, " bytes reaches past the end of the index"), handle.offset);
  }
  const absl::string_view data = file.substr(handle.offset, handle.size + 1);  // With the compression type.
  const uint32_t stored = Fixed<uint32_t>(file.data() + handle.offset + handle.size + 1);
  if (Crc32c(data) != UnmaskCrc(stored)) return Damaged("a block has the wrong checksum", handle.offset);
  switch (data.back()) {
    case kNotCompressed:
      return CutRestarts(data.substr(0, handle.size), handle.offset, block);
    case kSnappy: {
      absl::StatusOr<std::string> unpacked = SnappyDecompress(data.substr(0, handle.size), kMaxBlockBytes);
      if (!unpacked.ok()) return unpacked.status();
      block->unpacked = *std::move(unpacked);
      return CutRestarts(block->unpacked, handle.offset, block);
    }
    default:
      return Damaged(absl::StrCat("a block has the unknown compression ", static_cast<int>(data.back())),
                     handle.offset);
  }
}

// The last key so far, from block to block.
struct KeyOrder {
  bool has_any = false;
  std::string last;
};

// Calls `fn` for each entry of a block; keys ascend, also from block to block where `order` is given.
absl::Status ForEachInBlock(absl::string_view entries, uint64_t offset, KeyOrder* order,
                            absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> fn) {
  std::string key;
  while (!entries.empty()) {
    uint64_t shared = 0, unshared = 0, value_size = 0;
    if (!TakeVarint(&entries, &shared) || !TakeVarint(&entries, &unshared) || !TakeVarint(&entries, &value_size) ||
        shared > key.size() || unshared > entries.size() || value_size > entries.size() - unshared) {
      return Damaged("an entry does not fit in its block", offset);
    }
    key.resize(shared);
    key.append(entries.data(), unshared);
    if (order != nullptr) {
      if (order->has_any && key <= order->last) {
        return Damaged(absl::StrCat("keys are not in order: '", PrintableName(key), "' stands behind '",
                                    PrintableName(order->last), "'"),
                       offset);
      }
      order->has_any = true;
      order->last = key;
    }
    SLUICE_RETURN_IF_ERROR(fn(key, entries.substr(unshared, value_size)));
    entries.remove_prefix(unshared + value_size);
  }
  return absl::OkStatus();
}

// Reads the index block: the place of each block, under a key that is not below the block's last one.
absl::Status ReadIndexBlock(absl::string_view file, BlockHandle* index, Block* handles) {
  if (file.size() < kFooterBytes) return Damaged("the index is too short for its footer", file.size());
  absl::string_view footer = file.substr(file.size() - kFooterBytes);
  if (Fixed<uint64_t>(footer.data() + kFooterBytes - sizeof(uint64_t)) != kMagic) {
    return Damaged("the index does not end in its magic number", file.size() - sizeof(uint64_t));
  }
  BlockHandle meta;
  if (!TakeHandle(&footer, &meta) || !TakeHandle(&footer, index)) {
    return Damaged("the footer is unreadable", file.size() - kFooterBytes);
  }
  return ReadBlock(file, *index, handles);
}

// A status that ends a walk early; never returned to callers.
absl::Status StopWalk() { return absl::CancelledError(""); }

}  // namespace

absl::Status ForEachTableEntry(absl::string_view file,
                               absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> fn) {
  BlockHandle index;
  Block handles;
  SLUICE_RETURN_IF_ERROR(ReadIndexBlock(file, &index, &handles));
  KeyOrder order;
  uint64_t end = 0;  // Of the blocks so far: one that is listed often would be read as often.
  return ForEachInBlock(handles.entries, index.offset, nullptr, [&](absl::string_view, absl::string_view encoded) {
    BlockHandle handle;
    if (!TakeHandle(&encoded, &handle)) return Damaged("a block's place is unreadable", index.offset);
    if (handle.offset < end) return Damaged("a block begins before the one in front of it ends", handle.offset);
    Block block;
    SLUICE_RETURN_IF_ERROR(ReadBlock(file, handle, &block));
    end = handle.offset + handle.size + kTrailerBytes;
    return ForEachInBlock(block.entries, handle.offset, &order, fn);
  });
}

absl::StatusOr<SortedTable> SortedTable::Open(absl::string_view file) {
  SortedTable table;
  table.file_ = file;
  BlockHandle index;
  Block handles;
  SLUICE_RETURN_IF_ERROR(ReadIndexBlock(file, &index, &handles));
  const auto add = [&](absl::string_view last, absl::string_view encoded) {
    BlockHandle handle;
    if (!TakeHandle(&encoded, &handle)) return Damaged("a block's place is unreadable", index.offset);
    if (!table.places_.empty() && last < table.places_.back().last) {
      return Damaged("blocks are not in order", index.offset);
    }
    table.places_.push_back({std::string(last), handle.offset, handle.size});
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(ForEachInBlock(handles.entries, index.offset, nullptr, add));
  return table;
}

absl::Status SortedTable::Find(absl::string_view key,
                               absl::FunctionRef<absl::Status(absl::string_view value)> fn) const {
  absl::Status answer = Error(ErrorCode::kCheckpointName).Text("the table has no such key");
  const auto place = std::lower_bound(places_.begin(), places_.end(), key,
                                      [](const Place& a, absl::string_view wanted) { return a.last < wanted; });
  if (place == places_.end()) return answer;
  Block block;
  SLUICE_RETURN_IF_ERROR(ReadBlock(file_, {place->offset, place->size}, &block));
  bool is_found = false;
  const auto take = [&](absl::string_view candidate, absl::string_view value) {
    if (candidate != key) return absl::OkStatus();
    is_found = true;
    answer = fn(value);
    return StopWalk();
  };
  const absl::Status walked = ForEachInBlock(block.entries, place->offset, nullptr, take);
  return is_found || walked.ok() ? answer : walked;
}

}  // namespace sluice
