#include "graph/value/tstring.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace sluice {
namespace {

// The capacity, without the zero byte, of a block for `size` characters: blocks are multiples of 16 bytes.
size_t RoundedCapacity(size_t size) { return (size + 1 + 15) / 16 * 16 - 1; }

constexpr size_t kMaxSize = size_t{1} << 60;

// memmove that takes the null data of an empty view.
void CopyText(char* to, absl::string_view text) {
  if (!text.empty()) std::memmove(to, text.data(), text.size());
}

}  // namespace

void TString::FreeLarge() { std::free(rep_.large.text); }

char* TString::SetSize(size_t size) {
  char* const text = kind() == Kind::kSmall ? rep_.small.text : rep_.large.text;
  if (kind() == Kind::kSmall) {
    rep_.small.size = static_cast<uint8_t>(size << 2);
  } else {
    rep_.large.size = size << 2 | static_cast<uint64_t>(Kind::kLarge);
  }
  text[size] = '\0';
  return text;
}

char* TString::Allocate(size_t size, size_t spare) {
  if (size > kSmallCapacity) {
    if (size > kMaxSize) throw std::bad_alloc();
    const size_t capacity = RoundedCapacity(size + spare);
    char* const text = static_cast<char*>(std::malloc(capacity + 1));
    if (text == nullptr) throw std::bad_alloc();
    rep_.large.text = text;
    rep_.large.capacity = capacity;
    rep_.large.size = static_cast<uint64_t>(Kind::kLarge);
  }
  return SetSize(size);
}

char* TString::ResizeUninitialized(size_t size) {
  if (IsOwned() && size <= capacity()) return SetSize(size);
  TString made;
  // An owned string that grows at least doubles, so that growing step by step is linear in all.
  CopyText(made.Allocate(size, IsOwned() ? this->size() : 0), view().substr(0, std::min(size, this->size())));
  Take(made);
  return mutable_data();
}

char* TString::mutable_data() {
  if (kind() == Kind::kSmall) return rep_.small.text;
  if (kind() == Kind::kLarge) return rep_.large.text;
  return ResizeUninitialized(size());
}

void TString::assign(absl::string_view text) {
  if (IsOwned() && text.size() <= capacity()) {
    CopyText(mutable_data(), text);
    SetSize(text.size());
    return;
  }
  TString made;  // `text` may be a part of the old text.
  CopyText(made.Allocate(text.size(), 0), text);
  Take(made);
}

void TString::append(absl::string_view text) {
  const size_t old_size = size();
  if (IsOwned() && text.size() <= capacity() - old_size) {
    CopyText(mutable_data() + old_size, text);
    SetSize(old_size + text.size());
    return;
  }
  TString made;
  char* const out = made.Allocate(old_size + text.size(), old_size);
  CopyText(out, view());
  CopyText(out + old_size, text);
  Take(made);
}

}  // namespace sluice
