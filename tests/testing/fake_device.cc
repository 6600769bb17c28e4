#include "tests/testing/fake_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr size_t kUnit = 256;  // Memory comes in multiples of this.
constexpr int kFreed = 0xCD;   // The byte that freed memory is filled with.

size_t Rounded(size_t bytes) { return std::max((bytes + kUnit - 1) / kUnit * kUnit, kUnit); }

bool IsDue(std::atomic<int>& fault) { return fault.load() > 0 && fault.fetch_sub(1) == 1; }

absl::Status Broken(const char* what) { return Error(ErrorCode::kOpBroken).Text(what); }

// Thread-safe.
class FakeEvent final : public Event {
 public:
  FakeEvent(FakeStream& stream, uint64_t position) : stream_(stream), position_(position) {}

  bool HasCome() const override { return stream_.num_done() >= position_; }
  bool AwaitFor(absl::Duration limit) const override { return stream_.AwaitPosition(position_, limit); }
  FakeStream& stream() const { return stream_; }
  uint64_t position() const { return position_; }

 private:
  FakeStream& stream_;
  const uint64_t position_;
};

}  // namespace

// --- FakeStream ------------------------------------------------------------------------------------------------------

FakeStream::FakeStream(FakeDevice& device, StreamTag tag, uint32_t seed, absl::Duration max_delay)
    : Stream(device, tag), fake_(device), memory_(*this), max_delay_(max_delay), random_(seed * 2654435761u + tag) {
  thread_ = std::thread([this] { Loop(); });
}

FakeStream::~FakeStream() {
  {
    MutexLock lock(&mu_);
    is_over_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

void* FakeStream::Memory::Allocate(size_t bytes, StreamTag) { return stream_.fake_.Allocate(bytes, stream_.tag()); }
void FakeStream::Memory::Free(void* data, size_t bytes, StreamTag) { stream_.fake_.Free(data, bytes, stream_); }

uint64_t FakeStream::Queue(Work work) {
  uint64_t position;
  {
    MutexLock lock(&mu_);
    work_.push_back(std::move(work));
    position = ++num_queued_here_;
    changed_.SignalAll();
  }
  CountQueued();
  return position;
}

absl::Status FakeStream::Launch(Work work) {
  if (IsDue(fake_.faults_.launch)) return Broken("the device takes no kernel");
  fake_.num_launches_.fetch_add(1);
  const bool fails = IsDue(fake_.faults_.work);
  num_pending_.fetch_add(1);
  Queue([this, work = std::move(work), fails]() mutable {
    absl::Status status = fails ? Broken("a kernel has failed on the device") : work();
    num_pending_.fetch_sub(1);
    return status;
  });
  return absl::OkStatus();
}

absl::StatusOr<CountedPtr<Event>> FakeStream::Record() {
  if (IsDue(fake_.faults_.record)) return Broken("the device records no event");
  MutexLock lock(&mu_);
  return CountedPtr<Event>(MakeCounted<FakeEvent>(*this, num_queued_here_));
}

absl::Status FakeStream::WaitFor(const Event& event) {
  const FakeEvent& fake = static_cast<const FakeEvent&>(event);
  SLUICE_CHECK(&fake.stream().device() == &device());
  Queue([&stream = fake.stream(), position = fake.position()] {
    stream.AwaitPosition(position, absl::InfiniteDuration());
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

void FakeStream::AwaitIdle() noexcept {
  uint64_t position;
  {
    MutexLock lock(&mu_);
    position = num_queued_here_;
  }
  AwaitPosition(position, absl::InfiniteDuration());
}

bool FakeStream::AwaitPosition(uint64_t position, absl::Duration limit) {
  const absl::Time end = limit == absl::InfiniteDuration() ? absl::InfiniteFuture() : absl::Now() + limit;
  MutexLock lock(&mu_);
  while (num_done() < position) {
    if (changed_.WaitWithDeadline(&mu_, end)) break;
  }
  return num_done() >= position;
}

absl::Status FakeStream::CopyToDevice(void* to, const void* from, size_t bytes) {
  SLUICE_CHECK(fake_.memory().Contains(to) && !fake_.memory().Contains(from));
  return Copy(to, from, bytes);
}

absl::Status FakeStream::CopyToHost(void* to, const void* from, size_t bytes) {
  SLUICE_CHECK(!fake_.memory().Contains(to) && fake_.memory().Contains(from));
  return Copy(to, from, bytes);
}

absl::Status FakeStream::Copy(void* to, const void* from, size_t bytes) {
  if (IsDue(fake_.faults_.copy)) return Broken("the device takes no copy");
  num_pending_.fetch_add(1);
  Queue([this, to = fake_.memory().ForDevice(to), from = fake_.memory().ForDevice(from), bytes] {
    std::memcpy(to, from, bytes);
    num_pending_.fetch_sub(1);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

void FakeStream::Loop() {
  for (;;) {
    Work work;
    {
      MutexLock lock(&mu_);
      while (work_.empty() && !is_over_) changed_.Wait(&mu_);
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    random_ = random_ * 1664525u + 1013904223u;
    if ((random_ >> 30) == 0) absl::SleepFor(max_delay_ * static_cast<double>((random_ >> 8) & 0xffff) / 65536.0);
    absl::Status status = work();
    work = nullptr;
    if (!status.ok()) fake_.Fail(std::move(status));
    MutexLock lock(&mu_);
    num_done_.fetch_add(1, std::memory_order_release);
    changed_.SignalAll();
  }
}

// --- FakeDevice ------------------------------------------------------------------------------------------------------

FakeDevice::FakeDevice(Options options)
    : StreamDevice(DeviceKind::kCuda, options.name, options.incarnation),
      options_(std::move(options)),
      memory_(options_.memory_bytes) {
  free_.push_back({0, options_.memory_bytes, 0, 0});
  for (const Use use : kUses) {
    streams_[static_cast<size_t>(use)] =
        std::make_unique<FakeStream>(*this, static_cast<StreamTag>(use) + 1, options_.seed, options_.max_delay);
  }
  staging_ = std::make_unique<Staging>(HostAllocator(), options_.staging_block_bytes, options_.staging_blocks);
  events_ = std::make_unique<EventWaiter>(options_.has_event_thread);
}

FakeDevice::~FakeDevice() {
  events_.reset();
  staging_.reset();
  // They may wait for each other.
  for (const Use use : kUses) stream(use).AwaitIdle();
}

int64_t FakeDevice::live_bytes() const {
  MutexLock lock(&mu_);
  return live_bytes_;
}

int64_t FakeDevice::num_moved() const {
  MutexLock lock(&mu_);
  return num_moved_;
}

bool FakeDevice::IsFreeFor(const Range& range, StreamTag tag) {
  return range.tag == 0 || range.tag == tag || streams_[range.tag - 1]->num_done() >= range.position;
}

void FakeDevice::Join() {
  for (Range& range : free_) {
    if (range.tag != 0 && streams_[range.tag - 1]->num_done() >= range.position) range.tag = 0;
  }
  std::sort(free_.begin(), free_.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
  size_t kept = 0;
  for (size_t i = 1; i < free_.size(); ++i) {
    Range& last = free_[kept];
    if (last.tag == 0 && free_[i].tag == 0 && last.offset + last.bytes == free_[i].offset) {
      last.bytes += free_[i].bytes;
    } else {
      free_[++kept] = free_[i];
    }
  }
  free_.resize(std::min(free_.size(), kept + 1));
}

void* FakeDevice::TakeFrom(size_t bytes, StreamTag tag) {
  // The newest first: a mistake in the order shows soonest there.
  for (size_t i = free_.size(); i-- > 0;) {
    Range& range = free_[i];
    if (range.bytes < bytes || !IsFreeFor(range, tag)) continue;
    if (range.tag != 0 && range.tag != tag) ++num_moved_;
    void* const data = memory_.host_begin() + range.offset;
    range.offset += bytes;
    range.bytes -= bytes;
    if (range.bytes == 0) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    return data;
  }
  return nullptr;
}

void* FakeDevice::Allocate(size_t bytes, StreamTag tag) {
  if (IsDue(faults_.allocate) || bytes > options_.memory_bytes) return nullptr;
  bytes = Rounded(bytes);
  MutexLock lock(&mu_);
  free_.reserve(free_.size() + num_live_ + 2);
  void* data = TakeFrom(bytes, tag);
  if (data == nullptr) {
    Join();
    data = TakeFrom(bytes, tag);
  }
  if (data == nullptr) return nullptr;
  ++num_live_;
  live_bytes_ += static_cast<int64_t>(bytes);
  return data;
}

void FakeDevice::Free(void* data, size_t bytes, FakeStream& stream) {
  SLUICE_CHECK(memory_.Contains(data));
  bytes = Rounded(bytes);
  const uint64_t position = stream.Queue([at = memory_.ForDevice(data), bytes] {
    std::memset(at, kFreed, bytes);
    return absl::OkStatus();
  });
  const size_t offset = static_cast<size_t>(static_cast<char*>(data) - memory_.host_begin());
  MutexLock lock(&mu_);
  --num_live_;
  live_bytes_ -= static_cast<int64_t>(bytes);
  free_.push_back({offset, bytes, stream.tag(), position});
}

}  // namespace sluice
