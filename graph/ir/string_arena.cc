#include "graph/ir/string_arena.h"

#include <algorithm>
#include <cstring>

namespace sluice {

absl::string_view StringArena::Store(absl::string_view text) {
  constexpr size_t kChunkBytes = 16 << 10;
  if (text.empty()) return absl::string_view();
  if (text.size() > left_) {
    const size_t size = std::max(kChunkBytes, text.size());
    chunks_.push_back(std::shared_ptr<char[]>(new char[size]));  // make_shared of arrays is C++20.
    next_ = chunks_.back().get();
    left_ = size;
    bytes_ += size;
  }
  char* const stored = next_;
  std::memcpy(stored, text.data(), text.size());
  next_ += text.size();
  left_ -= text.size();
  return absl::string_view(stored, text.size());
}

}  // namespace sluice
