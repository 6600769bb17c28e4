#include "tests/kernels/checkpoint/table_bytes.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/crc32c.h"

namespace sluice {
namespace {

void AppendFixed32(uint32_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendVarint(uint64_t value, std::string* out) { WireWriter(out).RawVarint(value); }

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string BlockOf(const Entries& entries) {
  std::string block, last;
  for (const auto& entry : entries) {
    const size_t shared = static_cast<size_t>(
        std::mismatch(last.begin(), last.end(), entry.first.begin(), entry.first.end()).first - last.begin());
    AppendVarint(shared, &block);
    AppendVarint(entry.first.size() - shared, &block);
    AppendVarint(entry.second.size(), &block);
    block += entry.first.substr(shared) + entry.second;
    last = entry.first;
  }
  AppendFixed32(0, &block);  // One restart point, at the start.
  AppendFixed32(1, &block);
  return block;
}

// Appends a block, stored as `bytes`, with its trailer and gives its handle.
std::string AppendStored(std::string bytes, char type, std::string* file) {
  std::string handle;
  AppendVarint(file->size(), &handle);
  AppendVarint(bytes.size(), &handle);
  bytes.push_back(type);
  AppendFixed32(MaskCrc(Crc32c(bytes)), &bytes);
  *file += bytes;
  return handle;
}

std::string AppendBlock(const Entries& entries, TableCompression compression, std::string* file) {
  const std::string block = BlockOf(entries);
  const bool is_packed = compression == TableCompression::kSnappy;
  return AppendStored(is_packed ? SnappyBytes(block) : block, static_cast<char>(compression), file);
}

// The file with an index block of `index` and the footer.
std::string Completed(std::string file, const Entries& index, TableCompression compression) {
  std::string footer = AppendBlock({}, compression, &file);
  footer += AppendBlock(index, compression, &file);
  footer.resize(40, '\0');
  const uint64_t magic = 0xdb4775248b80fb57;
  footer.append(reinterpret_cast<const char*>(&magic), sizeof(magic));
  return file + footer;
}

void AppendLiteral(absl::string_view text, std::string* out) {
  while (!text.empty()) {
    const absl::string_view part = text.substr(0, 256);
    if (part.size() <= 60) {
      out->push_back(static_cast<char>((part.size() - 1) << 2));
    } else {
      out->push_back(static_cast<char>(60 << 2));
      out->push_back(static_cast<char>(part.size() - 1));
    }
    out->append(part.data(), part.size());
    text.remove_prefix(part.size());
  }
}

// As long copies as there are, the first in the short form where it fits.
void AppendCopy(size_t offset, size_t length, std::string* out) {
  if (length <= 11 && offset < 2048) {
    out->push_back(static_cast<char>(offset >> 8 << 5 | (length - 4) << 2 | 1));
    out->push_back(static_cast<char>(offset));
    return;
  }
  for (; length > 0; length -= std::min<size_t>(length, 64)) {
    out->push_back(static_cast<char>((std::min<size_t>(length, 64) - 1) << 2 | 2));
    out->push_back(static_cast<char>(offset));
    out->push_back(static_cast<char>(offset >> 8));
  }
}

}  // namespace

std::string SnappyBytes(absl::string_view text) {
  std::string out;
  AppendVarint(text.size(), &out);
  std::map<std::string, size_t> seen;  // Where four bytes stood last.
  size_t begin = 0;                    // Of the literal that waits.
  for (size_t at = 0; at < text.size();) {
    const auto found = text.size() - at < 4 ? seen.end() : seen.find(std::string(text.substr(at, 4)));
    const bool is_near = found != seen.end() && at - found->second < 65536;
    size_t length = 0;
    while (is_near && at + length < text.size() && text[found->second + length] == text[at + length]) ++length;
    if (length >= 4) {
      const size_t offset = at - found->second;
      AppendLiteral(text.substr(begin, at - begin), &out);
      AppendCopy(offset, length, &out);
      begin = at + length;
    }
    for (const size_t end = at + std::max<size_t>(length, 1); at < end; ++at) {
      if (text.size() - at >= 4) seen[std::string(text.substr(at, 4))] = at;
    }
  }
  AppendLiteral(text.substr(begin), &out);
  return out;
}

std::string TableBytes(const Entries& entries, size_t entries_a_block, TableCompression compression) {
  std::string file;
  Entries index;
  for (size_t i = 0; i < entries.size(); i += entries_a_block) {
    const size_t end = std::min(entries.size(), i + entries_a_block);
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(i);
    const Entries block(begin, entries.begin() + static_cast<std::ptrdiff_t>(end));
    index.emplace_back(entries[end - 1].first, AppendBlock(block, compression, &file));
  }
  return Completed(std::move(file), index, compression);
}

std::string TableOfBlock(const std::string& bytes, char type) {
  std::string file;
  const Entries index = {{"last", AppendStored(bytes, type, &file)}};
  return Completed(std::move(file), index, TableCompression::kNone);
}

std::string TableOfRepeatedBlock(int times) {
  std::string file;
  const std::string place = AppendBlock({}, TableCompression::kNone, &file);
  const Entries index(static_cast<size_t>(times), {"last", place});
  return Completed(std::move(file), index, TableCompression::kNone);
}

}  // namespace sluice
