#include "tests/fuzz/file_bundle.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "graph/base/check.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {

std::string EncodeFiles(const FileBundle& files) {
  std::string bytes;
  WireWriter writer(&bytes);
  for (const auto& [path, content] : files) {
    const size_t mark = writer.BeginMessage(1);
    writer.Bytes(1, path);
    writer.Bytes(2, content);
    writer.EndMessage(mark);
  }
  return bytes;
}

FileBundle DecodeFiles(absl::string_view bytes) {
  FileBundle files;
  for (WireReader reader(bytes); reader.Next();) {
    if (reader.type() != WireType::kBytes) continue;
    files.emplace_back();
    for (WireReader file = reader.Message(); file.Next();) {
      if (file.type() != WireType::kBytes) continue;
      (file.field() == 1 ? files.back().first : files.back().second) = std::string(file.bytes());
    }
    // Nothing outside of the directory is written.
    if (files.back().first.empty() || absl::StrContains(files.back().first, "..")) files.pop_back();
  }
  return files;
}

TemporaryFiles::TemporaryFiles(const FileBundle& files) {
  const char* const base = getenv("TEST_TMPDIR");
  directory_ = std::string(base != nullptr ? base : "/dev/shm") + "/sluice_fuzz_XXXXXX";
  SLUICE_CHECK(mkdtemp(directory_.data()) != nullptr);
  for (const auto& [path, content] : files) {
    const std::filesystem::path to = directory_ + "/" + path;
    std::error_code ignored;
    std::filesystem::create_directories(to.parent_path(), ignored);
    std::ofstream(to, std::ios::binary) << content;
  }
}

TemporaryFiles::~TemporaryFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace sluice
