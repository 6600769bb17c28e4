#include "tests/testing/guard_allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "graph/base/check.h"

namespace sluice {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxFreed = 256;
constexpr unsigned char kFiller = 0xa5;

// How a block of `bytes` lies in its pages: where it begins, and all pages with the guard.
struct Place {
  explicit Place(size_t bytes)
      : aligned((bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment),
        usable((aligned + kPage - 1) / kPage * kPage),
        mapped(usable + kPage) {}
  size_t begin() const { return usable - aligned; }

  size_t aligned, usable, mapped;
};

}  // namespace

GuardAllocator::~GuardAllocator() {
  for (const auto& [pages, mapped] : freed_) munmap(pages, mapped);
}

void* GuardAllocator::Allocate(size_t bytes, StreamTag) {
  if (bytes > (size_t{1} << 40)) return nullptr;
  const Place place(bytes);
  void* const pages = mmap(nullptr, place.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(pages);
  SLUICE_CHECK_EQ(mprotect(begin + place.usable, kPage, PROT_NONE), 0);
  // Not zero, so that reads of unwritten elements give odd answers.
  std::memset(begin + place.begin(), kFiller, place.aligned);
  return begin + place.begin();
}

void GuardAllocator::Free(void* data, size_t bytes, StreamTag) {
  const Place place(bytes);
  const unsigned char* const tail = static_cast<unsigned char*>(data) + bytes;
  for (size_t i = 0; i < place.aligned - bytes; ++i) {
    if (tail[i] == kFiller) continue;
    // Ends the process even where failed checks become statuses.
    SLUICE_LOG(ERROR) << "Check failed: something wrote beyond the end of a block of " << bytes << " bytes";
    std::abort();
  }
  char* const pages = static_cast<char*>(data) - place.begin();
  SLUICE_CHECK_EQ(mprotect(pages, place.mapped, PROT_NONE), 0);
  MutexLock lock(&mu_);
  freed_.emplace_back(pages, place.mapped);
  if (freed_.size() <= kMaxFreed) return;
  munmap(freed_.front().first, freed_.front().second);
  freed_.pop_front();
}

Allocator& GuardedMemory(GuardAllocator& guard) {
#if defined(__SANITIZE_ADDRESS__)
  (void)guard;
  return HostAllocator();
#else
  return guard;
#endif
}

}  // namespace sluice
