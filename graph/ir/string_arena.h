#ifndef SLUICE_GRAPH_IR_STRING_ARENA_H_
#define SLUICE_GRAPH_IR_STRING_ARENA_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// Keeps copies of strings at stable addresses until the last arena that knows them goes.
// Copying an arena shares what is there; new strings of either copy go to chunks of their own.
// Not thread-safe.
class StringArena {
 public:
  StringArena() = default;
  StringArena(const StringArena& other) : chunks_(other.chunks_), bytes_(other.bytes_) {}
  StringArena(StringArena&&) noexcept = default;
  StringArena& operator=(const StringArena& other) {
    StringArena copy(other);
    return *this = std::move(copy);
  }
  StringArena& operator=(StringArena&&) noexcept = default;
  ~StringArena() = default;

  // A copy of `text` that lives as long as this arena and its copies.
  absl::string_view Store(absl::string_view text);
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<char[]>> chunks_;
  char* next_ = nullptr;  // In a chunk that only this arena writes.
  size_t left_ = 0;
  size_t bytes_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_STRING_ARENA_H_
