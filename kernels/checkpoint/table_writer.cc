#include "kernels/checkpoint/table_writer.h"

#include <algorithm>
#include <utility>

#include "graph/base/status_macros.h"
#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/crc32c.h"

namespace sluice {
namespace {

constexpr int kEntriesARestart = 16;
constexpr size_t kFooterBytes = 48;
constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr char kNotCompressed = 0;

// As it lies in memory: little endian.
template <typename T>
void AppendFixed(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

void TableWriter::Block::Add(absl::string_view key, absl::string_view value) {
  size_t shared = 0;
  if (num_restarts == 0 || entries_since == kEntriesARestart) {
    AppendFixed(static_cast<uint32_t>(bytes.size()), &restarts);
    ++num_restarts;
    entries_since = 0;
  } else {
    const size_t most = std::min(last_key.size(), key.size());
    while (shared < most && last_key[shared] == key[shared]) ++shared;
  }
  ++entries_since;
  WireWriter writer(&bytes);
  writer.RawVarint(shared);
  writer.RawVarint(key.size() - shared);
  writer.RawVarint(value.size());
  bytes.append(key.data() + shared, key.size() - shared);
  bytes.append(value.data(), value.size());
  last_key.assign(key.data(), key.size());
}

std::string TableWriter::Block::Take() {
  if (num_restarts == 0) {  // Readers want one restart, also in a block without entries.
    AppendFixed(uint32_t{0}, &restarts);
    num_restarts = 1;
  }
  std::string whole = std::move(bytes);
  whole += restarts;
  AppendFixed(num_restarts, &whole);
  *this = Block();
  return whole;
}

absl::Status TableWriter::Add(absl::string_view key, absl::string_view value) {
  block_.Add(key, value);
  return block_.bytes.size() >= block_bytes_ ? EndBlock() : absl::OkStatus();
}

absl::Status TableWriter::Write(Block* block, std::string* place) {
  std::string bytes = block->Take();
  WireWriter handle(place);
  handle.RawVarint(file_.size());
  handle.RawVarint(bytes.size());
  bytes.push_back(kNotCompressed);
  AppendFixed(MaskCrc(Crc32c(bytes)), &bytes);
  return file_.Append(bytes);
}

absl::Status TableWriter::EndBlock() {
  const std::string last_key = block_.last_key;
  std::string place;
  SLUICE_RETURN_IF_ERROR(Write(&block_, &place));
  index_.Add(last_key, place);
  return absl::OkStatus();
}

absl::Status TableWriter::Finish() {
  if (!block_.bytes.empty()) SLUICE_RETURN_IF_ERROR(EndBlock());
  std::string footer;
  Block meta;
  SLUICE_RETURN_IF_ERROR(Write(&meta, &footer));
  SLUICE_RETURN_IF_ERROR(Write(&index_, &footer));
  footer.resize(kFooterBytes - sizeof(kMagic), '\0');
  AppendFixed(kMagic, &footer);
  return file_.Append(footer);
}

}  // namespace sluice
