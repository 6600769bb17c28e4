#include "tests/kernels/checkpoint/table_bytes.h"

#include <algorithm>
#include <cstdint>

#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/crc32c.h"

namespace sluice {
namespace {

void AppendFixed32(uint32_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendVarint(uint64_t value, std::string* out) { WireWriter(out).RawVarint(value); }

// Appends a block of `entries` with its trailer and gives its handle.
std::string AppendBlock(const std::vector<std::pair<std::string, std::string>>& entries, std::string* file) {
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
  std::string handle;
  AppendVarint(file->size(), &handle);
  AppendVarint(block.size(), &handle);
  block.push_back('\0');  // No compression.
  AppendFixed32(MaskCrc(Crc32c(block)), &block);
  *file += block;
  return handle;
}

}  // namespace

std::string TableBytes(const std::vector<std::pair<std::string, std::string>>& entries, size_t entries_a_block) {
  std::string file;
  std::vector<std::pair<std::string, std::string>> index;
  for (size_t i = 0; i < entries.size(); i += entries_a_block) {
    const size_t end = std::min(entries.size(), i + entries_a_block);
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(i);
    const std::string handle = AppendBlock({begin, entries.begin() + static_cast<std::ptrdiff_t>(end)}, &file);
    index.emplace_back(entries[end - 1].first, handle);
  }
  std::string footer = AppendBlock({}, &file);
  footer += AppendBlock(index, &file);
  footer.resize(40, '\0');
  const uint64_t magic = 0xdb4775248b80fb57;
  footer.append(reinterpret_cast<const char*>(&magic), sizeof(magic));
  return file + footer;
}

}  // namespace sluice
