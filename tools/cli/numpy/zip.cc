#include "tools/cli/numpy/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kMemberSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr size_t kLocalSize = 30, kMemberSize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kExtra64 = 1;
constexpr int64_t kMaxDeflateRatio = 1032;  // No deflate stream grows more.

absl::Status ZipError(absl::string_view text) { return Error(ErrorCode::kNumpy).Text(text); }

absl::Status MemberError(absl::string_view name, absl::string_view text) {
  return ZipError(absl::StrCat("member '", PrintableName(name), "' of the archive ", text));
}

template <typename T>
T Load(absl::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}
uint64_t Load16(absl::string_view bytes, size_t at) { return Load<uint16_t>(bytes, at); }
uint64_t Load32(absl::string_view bytes, size_t at) { return Load<uint32_t>(bytes, at); }
uint64_t Load64(absl::string_view bytes, size_t at) { return Load<uint64_t>(bytes, at); }

uint32_t Crc32(absl::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

// Where the central directory lies.
struct Directory {
  uint64_t count = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Finds the record that ends the archive: the last, but for a comment of up to 64 KiB.
absl::StatusOr<size_t> FindEnd(absl::string_view bytes) {
  if (bytes.size() < kEndSize) return ZipError("the file is not a zip archive: it is too short");
  const size_t last = bytes.size() - kEndSize;
  const size_t first = last > 0xffff ? last - 0xffff : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (Load32(bytes, at) == kEndSignature && at + kEndSize + Load16(bytes, at + 20) == bytes.size()) return at;
  }
  return ZipError("the file is not a zip archive, or its end is missing");
}

// Replaces the fields of `directory` by those of the 64-bit record in front of `end`, if there is one.
absl::Status ReadEnd64(absl::string_view bytes, size_t end, Directory* directory) {
  if (end < kLocator64Size || Load32(bytes, end - kLocator64Size) != kLocator64Signature) return absl::OkStatus();
  const uint64_t at = Load64(bytes, end - kLocator64Size + 8);
  if (at > end - kLocator64Size || end - kLocator64Size - at < kEnd64Size || Load32(bytes, at) != kEnd64Signature) {
    return ZipError("the archive's 64-bit directory record is missing");
  }
  if (Load32(bytes, at + 16) != 0 || Load32(bytes, at + 20) != 0) return ZipError("the archive has several parts");
  directory->count = Load64(bytes, at + 32);
  directory->size = Load64(bytes, at + 40);
  directory->offset = Load64(bytes, at + 48);
  return absl::OkStatus();
}

absl::StatusOr<Directory> ReadDirectory(absl::string_view bytes) {
  SLUICE_ASSIGN_OR_RETURN(const size_t end, FindEnd(bytes));
  Directory directory;
  directory.count = Load16(bytes, end + 10);
  directory.size = Load32(bytes, end + 12);
  directory.offset = Load32(bytes, end + 16);
  if (Load16(bytes, end + 4) != 0 || Load16(bytes, end + 6) != 0) return ZipError("the archive has several parts");
  SLUICE_RETURN_IF_ERROR(ReadEnd64(bytes, end, &directory));
  if (directory.offset > end || directory.size > end - directory.offset ||
      directory.count > directory.size / kMemberSize) {
    return ZipError("the archive's directory does not lie within the file");
  }
  return directory;
}

// One row of the directory, as it is written there.
struct Row {
  absl::string_view name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc32 = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

// Takes the sizes that did not fit into 32 bits from the row's extra fields. False when they are missing.
bool ReadExtra64(absl::string_view extra, Row* row) {
  while (extra.size() >= 4) {
    const uint64_t size = Load16(extra, 2);
    if (size > extra.size() - 4) return false;
    if (Load16(extra, 0) == kExtra64) {
      absl::string_view values = extra.substr(4, size);
      for (uint64_t* field : {&row->size, &row->stored_size, &row->offset}) {
        if (*field != UINT32_MAX) continue;
        if (values.size() < 8) return false;
        *field = Load64(values, 0);
        values.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(4 + size);
  }
  return row->size != UINT32_MAX && row->stored_size != UINT32_MAX && row->offset != UINT32_MAX;
}

// Reads the row at the front of `rest` and removes it.
absl::StatusOr<Row> ReadRow(absl::string_view* rest) {
  if (rest->size() < kMemberSize || Load32(*rest, 0) != kMemberSignature) {
    return ZipError("the archive's directory is damaged");
  }
  const uint64_t name_size = Load16(*rest, 28);
  const uint64_t extra_size = Load16(*rest, 30);
  const uint64_t comment_size = Load16(*rest, 32);
  if (name_size + extra_size + comment_size > rest->size() - kMemberSize) {
    return ZipError("the archive's directory is damaged");
  }
  Row row;
  row.name = rest->substr(kMemberSize, name_size);
  row.flags = Load<uint16_t>(*rest, 8);
  row.method = Load<uint16_t>(*rest, 10);
  row.crc32 = Load<uint32_t>(*rest, 16);
  row.stored_size = Load32(*rest, 20);
  row.size = Load32(*rest, 24);
  row.offset = Load32(*rest, 42);
  if (!ReadExtra64(rest->substr(kMemberSize + name_size, extra_size), &row)) {
    return MemberError(row.name, "lacks its 64-bit sizes");
  }
  rest->remove_prefix(kMemberSize + name_size + extra_size + comment_size);
  return row;
}

// Follows a row to its data. `data_end` is where the directory begins.
absl::StatusOr<ZipReader::Member> Locate(absl::string_view bytes, const Row& row, uint64_t data_end) {
  if ((row.flags & kEncrypted) != 0) return MemberError(row.name, "is encrypted");
  if (row.method != kStored && row.method != kDeflated) {
    return MemberError(row.name, absl::StrCat("is compressed by method ", row.method, ", only 0 and 8 are known"));
  }
  if (row.offset > data_end || data_end - row.offset < kLocalSize || Load32(bytes, row.offset) != kLocalSignature) {
    return MemberError(row.name, "is not where the directory says");
  }
  const uint64_t name_size = Load16(bytes, row.offset + 26);
  const uint64_t data = row.offset + kLocalSize + name_size + Load16(bytes, row.offset + 28);
  if (data > data_end || row.stored_size > data_end - data) return MemberError(row.name, "leads out of the file");
  if (bytes.substr(row.offset + kLocalSize, name_size) != row.name) {
    return MemberError(row.name, "has another name in front of its data");
  }
  const bool deflated = row.method == kDeflated;
  if (!deflated && row.size != row.stored_size) return MemberError(row.name, "has two different sizes");
  // Stored sizes are those of the file, so this cannot overflow.
  if (row.size > row.stored_size * kMaxDeflateRatio) {
    return MemberError(row.name, absl::StrCat("claims ", row.size, " bytes, more than its ", row.stored_size,
                                              " compressed ones can become"));
  }
  ZipReader::Member member;
  member.name = row.name;
  member.deflated = deflated;
  member.stored = bytes.substr(data, row.stored_size);
  member.size = static_cast<int64_t>(row.size);
  member.crc32 = row.crc32;
  return member;
}

// Members that share bytes make an archive unpack to more than its ratio allows.
absl::Status CheckOverlap(absl::Span<const ZipReader::Member> members) {
  std::vector<absl::string_view> stored;
  for (const ZipReader::Member& member : members) stored.push_back(member.stored);
  std::sort(stored.begin(), stored.end(), [](absl::string_view a, absl::string_view b) { return a.data() < b.data(); });
  for (size_t i = 1; i < stored.size(); ++i) {
    if (stored[i - 1].data() + stored[i - 1].size() > stored[i].data()) {
      return ZipError("members of the archive overlap");
    }
  }
  return absl::OkStatus();
}

// Ends a zlib stream.
struct InflateEnd {
  z_stream* stream;
  ~InflateEnd() { ::inflateEnd(stream); }
};

// Runs the raw deflate stream `stored` into `out`, which has the size it must have. False when it does not.
bool Inflate(absl::string_view stored, std::string* out) {
  constexpr size_t kMaxStep = size_t{1} << 30;  // zlib counts in 32 bits.
  z_stream stream = {};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  const InflateEnd end{&stream};
  size_t written = 0;
  char past_the_end;  // Receives the excess of a stream that is too long.
  int result = Z_OK;
  while (result == Z_OK) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
      stream.avail_in = static_cast<uInt>(std::min(stored.size(), kMaxStep));
      stored.remove_prefix(stream.avail_in);
    }
    const size_t room = std::min(out->size() - written, kMaxStep);
    stream.next_out = reinterpret_cast<Bytef*>(room == 0 ? &past_the_end : &(*out)[written]);
    stream.avail_out = room == 0 ? 1 : static_cast<uInt>(room);
    const uInt before = stream.avail_out;
    result = ::inflate(&stream, Z_NO_FLUSH);
    const size_t made = before - stream.avail_out;
    if (room == 0 && made > 0) return false;
    written += made;
  }
  return result == Z_STREAM_END && written == out->size() && stream.avail_in == 0 && stored.empty();
}

void Append16(std::string* out, uint64_t value) {
  out->push_back(static_cast<char>(value));
  out->push_back(static_cast<char>(value >> 8));
}
void Append32(std::string* out, uint64_t value) {
  Append16(out, value & 0xffff);
  Append16(out, value >> 16);
}

// What the local header and the directory's row have in common: version needed to sizes.
void AppendCommon(std::string* out, absl::string_view name, absl::string_view bytes, uint32_t crc, size_t extra_size) {
  Append16(out, 20);      // Version needed.
  Append16(out, 0x0800);  // Names are UTF-8.
  Append16(out, kStored);
  Append32(out, uint64_t{33} << 16);  // 1980-01-01 00:00, so that equal content gives equal bytes.
  Append32(out, crc);
  Append32(out, bytes.size());
  Append32(out, bytes.size());
  Append16(out, name.size());
  Append16(out, extra_size);
}

}  // namespace

absl::StatusOr<ZipReader> ZipReader::Open(absl::string_view bytes, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const Directory directory, ReadDirectory(bytes));
  absl::string_view rest = bytes.substr(directory.offset, directory.size);
  ZipReader reader;
  int64_t total = 0;
  for (uint64_t i = 0; i < directory.count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const Row row, ReadRow(&rest));
    SLUICE_ASSIGN_OR_RETURN(Member member, Locate(bytes, row, directory.offset));
    if (!reader.index_.emplace(member.name, reader.members_.size()).second) {
      return MemberError(member.name, "is there twice");
    }
    total += member.size;  // At most 1032 times the bytes of a file, and checked each time.
    if (total > limits.max_tensor_bytes) {
      return Error(ErrorCode::kLimitTensorBytes)
          .Found(absl::StrCat("more than ", limits.max_tensor_bytes, " bytes"))
          .Limit("max_tensor_bytes", limits.max_tensor_bytes)
          .Text(absl::StrCat("the members of the archive, up to '", PrintableName(member.name),
                             "', need too much memory"));
    }
    reader.members_.push_back(member);
  }
  if (!rest.empty()) return ZipError("the archive's directory is longer than its members");
  SLUICE_RETURN_IF_ERROR(CheckOverlap(reader.members_));
  return reader;
}

const ZipReader::Member* ZipReader::Find(absl::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &members_[it->second];
}

absl::Status ZipReader::CheckStored(const Member& member) {
  if (Crc32(member.stored) == member.crc32) return absl::OkStatus();
  return MemberError(member.name, "is damaged: its checksum is wrong");
}

absl::StatusOr<std::string> ZipReader::Unpack(const Member& member) {
  if (!member.deflated) {
    SLUICE_RETURN_IF_ERROR(CheckStored(member));
    return std::string(member.stored);
  }
  std::string out(static_cast<size_t>(member.size), '\0');
  if (!Inflate(member.stored, &out)) return MemberError(member.name, "is damaged: it does not unpack to its size");
  if (Crc32(out) != member.crc32) return MemberError(member.name, "is damaged: its checksum is wrong");
  return out;
}

void ZipWriter::Add(absl::string_view name, absl::string_view bytes) {
  constexpr size_t kAlignment = 64;
  constexpr uint16_t kPaddingId = 0xd935;  // The extra field that zip tools align members with.
  constexpr size_t kPaddingHeader = 6;     // Id, size, and the alignment as its first value.
  const size_t offset = out_.size();
  const size_t unpadded = offset + kLocalSize + name.size() + kPaddingHeader;
  const size_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  const uint32_t crc = Crc32(bytes);
  Append32(&out_, kLocalSignature);
  AppendCommon(&out_, name, bytes, crc, kPaddingHeader + padding);
  out_.append(name.data(), name.size());
  Append16(&out_, kPaddingId);
  Append16(&out_, 2 + padding);
  Append16(&out_, kAlignment);
  out_.append(padding, '\0');
  out_.append(bytes.data(), bytes.size());
  Append32(&directory_, kMemberSignature);
  Append16(&directory_, 20);  // Version made by.
  AppendCommon(&directory_, name, bytes, crc, 0);
  directory_.append(10, '\0');  // No comment, first part, no attributes.
  Append32(&directory_, offset);
  directory_.append(name.data(), name.size());
  ++num_members_;
}

absl::StatusOr<std::string> ZipWriter::Finish() {
  if (num_members_ > 0xfffe || out_.size() + directory_.size() >= UINT32_MAX) {
    return Error(ErrorCode::kNumpy)
        .Found(absl::StrCat(num_members_, " members, ", out_.size(), " bytes"))
        .Expected("at most 65534 members and 4 GiB")
        .Help("Write several archives.")
        .Text("the archive is too large");
  }
  const size_t offset = out_.size();
  out_ += directory_;
  Append32(&out_, kEndSignature);
  Append32(&out_, 0);  // The only part.
  Append16(&out_, num_members_);
  Append16(&out_, num_members_);
  Append32(&out_, directory_.size());
  Append32(&out_, offset);
  Append16(&out_, 0);  // No comment.
  return std::move(out_);
}

}  // namespace sluice
