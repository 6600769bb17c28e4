#include "executor/tape/structure_cache.h"

#include <iterator>

namespace sluice {
namespace {

// Estimate for each differentiated op of a compiled graph: some nodes, their kernels and places.
constexpr size_t kBytesOfItem = 1024;

}  // namespace

StructureCache::~StructureCache() = default;

StructureCache::Entries::iterator StructureCache::FindLocked(const PassStructure& structure) {
  const auto found = by_hash_.find(structure.hash());
  // Hashes may collide.
  if (found == by_hash_.end() || !(found->second->structure == structure)) return entries_.end();
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.begin();
}

StructureCache::Entries StructureCache::TrimLocked() {
  Entries dropped;
  while (entries_.size() > max_structures_ || (bytes_ > max_bytes_ && entries_.size() > 1)) {
    const auto oldest = by_hash_.find(entries_.back().structure.hash());
    if (oldest != by_hash_.end() && &*oldest->second == &entries_.back()) by_hash_.erase(oldest);
    bytes_ -= entries_.back().bytes;
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  return dropped;
}

std::shared_ptr<const BackwardGraph> StructureCache::Find(PassStructure structure, Compile compile) {
  Entries dropped;
  {
    MutexLock lock(&mu_);
    const auto found = FindLocked(structure);
    if (found == entries_.end()) {
      const size_t hash = structure.hash();
      const size_t bytes = structure.bytes();
      entries_.push_front({std::move(structure), false, nullptr, bytes});
      by_hash_.insert_or_assign(hash, entries_.begin());
      bytes_ += bytes;
      dropped = TrimLocked();
      return nullptr;
    }
    if (found->is_compiled) {
      num_hits_ += found->graph != nullptr ? 1 : 0;
      return found->graph;
    }
  }
  absl::StatusOr<std::shared_ptr<const BackwardGraph>> made = compile();
  MutexLock lock(&mu_);
  const auto found = FindLocked(structure);
  // Another thread may have dropped it meanwhile.
  if (found == entries_.end()) return made.ok() ? *made : nullptr;
  if (!found->is_compiled) {
    found->is_compiled = true;
    ++num_compiled_;
    if (made.ok()) {
      found->graph = *made;
      const size_t bytes = structure.num_items() * kBytesOfItem;
      found->bytes += bytes;
      bytes_ += bytes;
      dropped = TrimLocked();  // It is the first.
    }
  }
  return found->graph;
}

void StructureCache::DropGraph(const PassStructure& structure) {
  std::shared_ptr<const BackwardGraph> dropped;  // Freed without the lock.
  MutexLock lock(&mu_);
  const auto found = FindLocked(structure);
  if (found != entries_.end()) dropped = std::move(found->graph);
}

size_t StructureCache::size() const {
  MutexLock lock(&mu_);
  return entries_.size();
}

int64_t StructureCache::num_compiled() const {
  MutexLock lock(&mu_);
  return num_compiled_;
}

int64_t StructureCache::num_hits() const {
  MutexLock lock(&mu_);
  return num_hits_;
}

}  // namespace sluice
