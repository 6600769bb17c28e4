#include "kernels/checkpoint/bundle_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/byte_order.h"
#include "kernels/checkpoint/crc32c.h"
#include "kernels/checkpoint/file_errors.h"
#include "kernels/checkpoint/string_form.h"

namespace sluice {
namespace {

constexpr int64_t kChunkBytes = int64_t{2} << 20;
constexpr double kNsPerByte = 0.25;

// The data of a tensor, in `file`, are not what the index says.
absl::Status DamagedData(absl::string_view name, absl::string_view file, absl::string_view why) {
  const absl::Status error =
      Error(ErrorCode::kCheckpointDamaged).Text(absl::StrCat("the data of tensor '", PrintableName(name), "' ", why));
  return WithFile(error, file);
}

absl::Status WrongChecksum(absl::string_view name, absl::string_view file, uint32_t found, uint32_t expected) {
  return WithChangedFacts(DamagedData(name, file, "has the wrong checksum"), [&](ErrorInfo& info) {
    info.found = absl::StrFormat("%08x", found);
    info.expected = absl::StrFormat("%08x", expected);
  });
}

}  // namespace

// One open file of the checkpoint.
class BundleReader::Shard {
 public:
  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard() { Close(); }

  int32_t number() const { return number_; }
  int64_t bytes() const { return bytes_; }

  absl::Status Open(int32_t number, const std::string& path) {
    if (number == number_) return absl::OkStatus();
    Close();
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // A pipe would let us wait for its writer.
    if (descriptor_ < 0 && errno != ENOENT) return FileError(errno, "cannot read", path);
    if (descriptor_ < 0) return MissingFile(path);
    struct stat facts;
    if (::fstat(descriptor_, &facts) != 0) return FileError(errno, "cannot read", path);
    if (!S_ISREG(facts.st_mode)) return NotPlainFile(path);
    number_ = number;
    bytes_ = facts.st_size;
    path_ = path;
    return absl::OkStatus();
  }

  // Thread-safe.
  absl::Status Read(int64_t offset, int64_t size, char* to) const {
    while (size > 0) {
      const ssize_t count = ::pread(descriptor_, to, static_cast<size_t>(size), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return FileError(errno, "cannot read", path_);
      if (count == 0) {
        const absl::Status error =
            Error(ErrorCode::kCheckpointShort).Text(absl::StrCat("'", path_, "' has become shorter while it is read"));
        return WithFile(error, path_);
      }
      to += count;
      offset += count;
      size -= count;
    }
    return absl::OkStatus();
  }

 private:
  void Close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    number_ = -1;
  }

  int32_t number_ = -1;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
  std::string path_;
};

absl::Status BundleReader::AddWhole(absl::string_view name, const BundleEntry& entry, Allocate allocate) {
  if (entry.is_sliced) {
    SLUICE_ASSIGN_OR_RETURN(const SliceBox whole, BoxOf(WholeSlice(entry.shape.rank()), entry.shape));
    return AddPart(name, entry, whole, allocate);
  }
  const std::string file = BundleIndexFile(index_.prefix());
  SLUICE_RETURN_IF_ERROR(WithFile(BundleIndex::CheckSize(name, entry), file));
  if (!IsTrivial(entry.dtype) && entry.dtype != DType::kString) {
    return WithFile(BadBundleEntry(name, "is of a type that cannot be read from a checkpoint"), file);
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const to, allocate(entry.shape));
  if (IsTrivial(entry.dtype)) {
    pieces_.push_back({std::string(name), &entry, static_cast<char*>(to->mutable_raw_data())});
    return absl::OkStatus();
  }
  texts_.push_back({std::string(name), &entry, to});
  return absl::OkStatus();
}

absl::Status BundleReader::AddPart(absl::string_view name, const BundleEntry& entry, const SliceBox& box,
                                   Allocate allocate) {
  const std::string file = BundleIndexFile(index_.prefix());
  if (!IsTrivial(entry.dtype)) {
    return WithFile(BadBundleEntry(name, absl::StrCat("is of ", DTypeName(entry.dtype),
                                                      ": a part of such a tensor cannot be read")),
                    file);
  }
  if (!entry.is_sliced) {
    SLUICE_RETURN_IF_ERROR(WithFile(BundleIndex::CheckSize(name, entry), file));
    SLUICE_ASSIGN_OR_RETURN(SliceBox whole, BoxOf(WholeSlice(entry.shape.rank()), entry.shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const to, allocate(box.shape));
    AddStored(name, entry, std::move(whole), box, to);
    return absl::OkStatus();
  }
  std::vector<SliceBox> boxes;
  std::vector<const BundleEntry*> stored;
  for (const TensorSlice& slice : entry.slices) {
    SLUICE_ASSIGN_OR_RETURN(SliceBox one, BoxOf(slice, entry.shape));
    SLUICE_ASSIGN_OR_RETURN(const BundleEntry* const piece, index_.FindSlice(name, slice));
    SLUICE_RETURN_IF_ERROR(WithFile(BundleIndex::CheckSize(name, *piece), file));
    if (piece->dtype != entry.dtype || piece->shape != one.shape || piece->is_sliced) {
      return WithFile(
          BadBundleEntry(name, absl::StrCat("has a slice '", SliceText(slice), "' of another type or shape")), file);
    }
    boxes.push_back(std::move(one));
    stored.push_back(piece);
  }
  SLUICE_RETURN_IF_ERROR(CheckCover(boxes, box));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const to, allocate(box.shape));
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (Intersect(boxes[i], box, nullptr)) AddStored(name, *stored[i], std::move(boxes[i]), box, to);
  }
  return absl::OkStatus();
}

void BundleReader::AddStored(absl::string_view name, const BundleEntry& entry, SliceBox stored, const SliceBox& wanted,
                             Tensor* to) {
  SliceBox common;
  const bool is_all = Intersect(stored, wanted, &common) && common.shape == stored.shape;
  const int64_t at = is_all ? ContiguousOffset(stored, wanted) : -1;
  if (at < 0) {
    cuts_.push_back({std::string(name), &entry, std::move(stored), wanted, to});
    return;
  }
  char* const data = static_cast<char*>(to->mutable_raw_data());
  pieces_.push_back({std::string(name), &entry, data + static_cast<size_t>(at) * DTypeSize(entry.dtype)});
}

absl::Status BundleReader::Open(absl::string_view name, const BundleEntry& entry, Shard* shard) const {
  if (entry.shard < 0 || entry.shard >= index_.num_shards()) return index_.CheckExtent(name, entry, 0);
  SLUICE_RETURN_IF_ERROR(shard->Open(entry.shard, index_.ShardFile(entry.shard)));
  return index_.CheckExtent(name, entry, shard->bytes());
}

absl::Status BundleReader::Run() {
  // In the order of the files.
  const auto before = [](const Piece& a, const Piece& b) {
    return std::make_pair(a.entry->shard, a.entry->offset) < std::make_pair(b.entry->shard, b.entry->offset);
  };
  std::stable_sort(pieces_.begin(), pieces_.end(), before);
  Shard shard;
  for (size_t begin = 0, end = 0; begin < pieces_.size(); begin = end) {
    while (end < pieces_.size() && pieces_[end].entry->shard == pieces_[begin].entry->shard) {
      SLUICE_RETURN_IF_ERROR(Open(pieces_[end].name, *pieces_[end].entry, &shard));
      ++end;
    }
    SLUICE_RETURN_IF_ERROR(ReadPieces(shard, absl::MakeConstSpan(pieces_).subspan(begin, end - begin)));
  }
  for (const Cut& cut : cuts_) SLUICE_RETURN_IF_ERROR(ReadCut(cut, &shard));
  for (const Text& text : texts_) SLUICE_RETURN_IF_ERROR(ReadText(text, &shard));
  return workers_.Poll();
}

absl::Status BundleReader::ReadPieces(const Shard& shard, absl::Span<const Piece> pieces) const {
  struct Chunk {
    const Piece* piece;
    int64_t begin, size;
    uint32_t crc;
  };
  std::vector<Chunk> chunks;
  int64_t total = 0;
  for (const Piece& piece : pieces) {
    int64_t begin = 0;
    do {
      chunks.push_back({&piece, begin, std::min(kChunkBytes, piece.entry->size - begin), 0});
      begin += kChunkBytes;
    } while (begin < piece.entry->size);
    total += piece.entry->size;
  }
  const double chunk_ns = kNsPerByte * static_cast<double>(total) / static_cast<double>(chunks.size()) + 1000;
  const auto read = [&](int64_t i, int) -> absl::Status {
    Chunk& chunk = chunks[static_cast<size_t>(i)];
    char* const to = chunk.piece->to + chunk.begin;
    SLUICE_RETURN_IF_ERROR(shard.Read(chunk.piece->entry->offset + chunk.begin, chunk.size, to));
    chunk.crc = Crc32c(absl::string_view(to, static_cast<size_t>(chunk.size)));
    if (chunk.piece->entry->dtype == DType::kBool) {  // In C++, a bool with another byte is undefined behaviour.
      std::transform(to, to + chunk.size, to, [](char byte) { return static_cast<char>(byte != 0); });
    }
    if (index_.is_big_endian()) SwapByteOrder(chunk.piece->entry->dtype, to, static_cast<size_t>(chunk.size));
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(workers_.ForEachShard(static_cast<int64_t>(chunks.size()), chunk_ns, read));
  for (size_t i = 0; i < chunks.size();) {
    const Piece& piece = *chunks[i].piece;
    uint32_t crc = chunks[i].crc;
    for (++i; i < chunks.size() && chunks[i].piece == &piece; ++i) {
      crc = JoinCrc32c(crc, chunks[i].crc, static_cast<uint64_t>(chunks[i].size));
    }
    const uint32_t expected = UnmaskCrc(piece.entry->masked_crc);
    if (crc != expected) return WrongChecksum(piece.name, index_.ShardFile(piece.entry->shard), crc, expected);
  }
  return absl::OkStatus();
}

absl::Status BundleReader::ReadCut(const Cut& cut, Shard* shard) const {
  SLUICE_RETURN_IF_ERROR(Open(cut.name, *cut.entry, shard));
  SLUICE_ASSIGN_OR_RETURN(Tensor stored, Tensor::Make(cut.entry->dtype, cut.stored.shape, workers_.allocator()));
  const Piece piece = {cut.name, cut.entry, static_cast<char*>(stored.mutable_raw_data())};
  SLUICE_RETURN_IF_ERROR(ReadPieces(*shard, absl::MakeConstSpan(&piece, 1)));
  CopyCommon(stored, cut.stored, cut.wanted, cut.to);
  return absl::OkStatus();
}

absl::Status BundleReader::ReadText(const Text& text, Shard* shard) const {
  SLUICE_RETURN_IF_ERROR(Open(text.name, *text.entry, shard));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({text.entry->size}));
  SLUICE_ASSIGN_OR_RETURN(Tensor bytes, Tensor::Make(DType::kUInt8, shape, workers_.allocator()));
  SLUICE_RETURN_IF_ERROR(
      shard->Read(text.entry->offset, text.entry->size, static_cast<char*>(bytes.mutable_raw_data())));
  uint32_t crc = 0;
  const absl::Status read = ReadStringForm(bytes.bytes(), index_.is_big_endian(), text.to->flat<TString>(), &crc);
  const std::string file = index_.ShardFile(text.entry->shard);
  if (!read.ok()) {
    return DamagedData(text.name, file, absl::StrCat("is damaged: ", ErrorInfoOf(read).value_or(ErrorInfo()).text));
  }
  const uint32_t expected = UnmaskCrc(text.entry->masked_crc);
  return crc == expected ? absl::OkStatus() : WrongChecksum(text.name, file, crc, expected);
}

}  // namespace sluice
