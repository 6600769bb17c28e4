#include "graph/value/variant.h"

#include <atomic>
#include <memory>

namespace sluice {
namespace {

std::atomic<int64_t> live_count{0};  // Relaxed throughout: read when everything is at rest.

// The values of this thread that ended inside of another's end.
struct EndQueue {
  bool running = false;
  VariantObject* first = nullptr;
};

EndQueue& ThreadEndQueue() {
  thread_local EndQueue queue;
  return queue;
}

}  // namespace

VariantObject::VariantObject(absl::string_view type_name) : type_name_(type_name) {
  live_count.fetch_add(1, std::memory_order_relaxed);
}

VariantObject::~VariantObject() { live_count.fetch_sub(1, std::memory_order_relaxed); }

int64_t VariantObject::LiveCount() { return live_count.load(std::memory_order_relaxed); }

void VariantObject::Dispose() {
  EndQueue& queue = ThreadEndQueue();
  next_ended_ = queue.first;
  queue.first = this;
  if (queue.running) return;  // An outer call takes it from the queue.
  queue.running = true;
  while (queue.first != nullptr) {
    std::unique_ptr<VariantObject> ended(queue.first);
    queue.first = ended->next_ended_;
  }
  queue.running = false;
}

const VariantCodec* FindVariantCodec(absl::Span<const VariantCodec> codecs, absl::string_view type_name) {
  for (const VariantCodec& codec : codecs) {
    if (codec.type_name == type_name) return &codec;
  }
  return nullptr;
}

}  // namespace sluice
