#include "kernels/memory/arena.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <algorithm>
#include <memory>
#include <new>

#include "graph/base/check.h"

namespace sluice {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSmallPage = 4096;
// Regions of so many huge pages do without the last one: all that a small program would have of it is the region's end.
constexpr size_t kManyHugePages = 8;
constexpr size_t kMinRest = 4096;  // Less is not worth a block of its own.
constexpr size_t kMaxBytes = size_t{1} << 46;

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Blocks hold pointers to the heap: entries of free blocks, strings. The leak checker looks for them in memory that it
// was told of.
void TellLeakChecker([[maybe_unused]] const void* pages, [[maybe_unused]] size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __lsan_register_root_region(pages, bytes);
#endif
}

void Unmap(void* pages, size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __lsan_unregister_root_region(pages, bytes);
#endif
  munmap(pages, bytes);
}

// Zeroed pages that begin at a huge page's address, or null. They end with Unmap. The first pages of the `first_region`
// are small: a program whose tensors have a few kilobytes does not take megabytes.
void* MapPages(size_t bytes, bool first_region) {
  const size_t mapped = bytes + kHugePage;
  void* const start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(start);
  const size_t head = RoundUp(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (head > 0) munmap(begin, head);
  munmap(begin + head + bytes, mapped - head - bytes);
  const size_t small_head = first_region ? std::min(bytes, kHugePage) : 0;
  const size_t small_tail = bytes >= kManyHugePages * kHugePage ? kHugePage : 0;
  // A wish: where it is not granted, all works with small pages.
  madvise(begin + head + small_head, bytes - small_head - small_tail, MADV_HUGEPAGE);
  TellLeakChecker(begin + head, bytes);
  return begin + head;
}

}  // namespace

// Stands before each block. 64 bytes, so that the block is aligned as its header is.
struct alignas(64) Arena::Header {
  size_t bytes;      // Of the block, this header not counted; 0 at the end of a region.
  Header* previous;  // The block before in the same region, or null.
  bool is_free;
  // While the block is in use: what will be its entry among the free ones, so that freeing needs no memory.
  FreeBlocks::node_type entry;

  void* data() { return this + 1; }
  Header* next() { return reinterpret_cast<Header*>(reinterpret_cast<char*>(this + 1) + bytes); }
  static Header* Of(void* data) { return static_cast<Header*>(data) - 1; }
};

Arena::~Arena() {
  for (const Region& region : regions_) {
    SLUICE_DCHECK(IsEmpty(region));
    Unmap(region.first, region.bytes);
  }
}

bool Arena::IsEmpty(const Region& region) { return region.first->is_free && region.first->next()->bytes == 0; }

Arena::FreeBlocks::node_type Arena::NewEntry() {
  try {
    FreeBlocks one;
    one.emplace(size_t{0}, nullptr);
    return one.extract(one.begin());
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void Arena::AddFree(Header* block) {
  block->is_free = true;
  block->entry.value() = {block->bytes, block};
  free_.insert(std::move(block->entry));
}

void Arena::RemoveFree(Header* block) {
  block->is_free = false;
  block->entry = free_.extract({block->bytes, block});
}

bool Arena::HasRoomForRegion() {
  if (regions_.size() < regions_.capacity()) return true;
  try {
    regions_.reserve(2 * regions_.size() + 8);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool Arena::AddRegion(size_t needed) {
  FreeBlocks::node_type entry = NewEntry();
  if (entry.empty() || !HasRoomForRegion()) return false;
  const size_t bytes = RoundUp(std::max(next_region_bytes_, needed + 2 * sizeof(Header)), kHugePage);
  void* const pages = MapPages(bytes, regions_.empty());
  if (pages == nullptr) return false;
  Header* const first = ::new (pages) Header{bytes - 2 * sizeof(Header), nullptr, false, std::move(entry)};
  ::new (first->next()) Header{0, first, false, {}};
  AddFree(first);
  regions_.push_back({first, bytes});
  stats_.reserved_bytes += bytes;
  stats_.num_regions = regions_.size();
  next_region_bytes_ = std::min(next_region_bytes_ * 2, std::max(max_region_bytes_, next_region_bytes_));
  return true;
}

void Arena::Split(Header* block, size_t bytes) {
  if (block->bytes - bytes < kMinRest + sizeof(Header)) return;
  FreeBlocks::node_type entry = NewEntry();
  if (entry.empty()) return;  // The block is larger than it need be.
  Header* const after = block->next();
  const size_t rest = block->bytes - bytes - sizeof(Header);
  block->bytes = bytes;
  Header* const cut = ::new (block->next()) Header{rest, block, false, std::move(entry)};
  after->previous = cut;
  AddFree(cut);
}

void* Arena::Allocate(size_t bytes) {
  if (bytes > kMaxBytes) return nullptr;
  bytes = RoundUp(std::max(bytes, kAlignment), kAlignment);
  MutexLock lock(&mu_);
  auto best = free_.lower_bound({bytes, nullptr});
  if (best == free_.end()) {
    if (!AddRegion(bytes)) return nullptr;
    best = free_.lower_bound({bytes, nullptr});
  }
  Header* const block = best->second;
  RemoveFree(block);
  Split(block, bytes);
  stats_.live_bytes += block->bytes + sizeof(Header);
  stats_.high_water_bytes = std::max(stats_.high_water_bytes, stats_.live_bytes);
  return block->data();
}

void Arena::Free(void* data) {
  MutexLock lock(&mu_);
  Header* block = Header::Of(data);
  SLUICE_DCHECK(!block->is_free);
  stats_.live_bytes -= block->bytes + sizeof(Header);
  Header* const after = block->next();
  if (after->is_free) {
    RemoveFree(after);
    block->bytes += after->bytes + sizeof(Header);
    std::destroy_at(after);
  }
  if (block->previous != nullptr && block->previous->is_free) {
    Header* const before = block->previous;
    RemoveFree(before);
    before->bytes += block->bytes + sizeof(Header);
    std::destroy_at(block);
    block = before;
  }
  block->next()->previous = block;
  AddFree(block);
}

void Arena::TouchFree() {
  MutexLock lock(&mu_);
  if (regions_.empty() && !AddRegion(kMinRest)) return;
  for (const auto& [bytes, block] : free_) {
    volatile char* const data = static_cast<char*>(block->data());
    for (size_t at = 0; at < bytes; at += kSmallPage) data[at] = 0;  // Free: nothing in it is of use.
    if (bytes > 0) data[bytes - 1] = 0;
  }
}

void Arena::Trim() {
  std::vector<Region> ended;
  {
    MutexLock lock(&mu_);
    ended.reserve(regions_.size());
    const size_t keep = stats_.high_water_bytes + stats_.high_water_bytes / 4;
    for (size_t i = regions_.size(); i-- > 0;) {
      const Region region = regions_[i];
      if (!IsEmpty(region) || stats_.reserved_bytes - region.bytes < keep) continue;
      RemoveFree(region.first);
      std::destroy_at(region.first);
      ended.push_back(region);
      stats_.reserved_bytes -= region.bytes;
      regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    stats_.num_regions = regions_.size();
    stats_.high_water_bytes = stats_.live_bytes;
  }
  for (const Region& region : ended) Unmap(region.first, region.bytes);
}

Arena::Stats Arena::stats() const {
  MutexLock lock(&mu_);
  return stats_;
}

}  // namespace sluice
