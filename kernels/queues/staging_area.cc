#include "kernels/queues/staging_area.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

absl::Status CheckTypes(const QueueElement& element, const std::vector<DType>& types) {
  if (element.size() != types.size()) {
    return Error(ErrorCode::kResourceType)
        .Found(absl::StrCat(element.size(), " tensors"))
        .Expected(absl::StrCat(types.size()))
        .Text("the staged element has another number of tensors");
  }
  for (size_t i = 0; i < types.size(); ++i) SLUICE_RETURN_IF_ERROR(CheckStagedType(element[i], i, types[i]));
  return absl::OkStatus();
}

}  // namespace

struct StagingArea::PutWaiter final : Waiter {
  PutWaiter(StagingArea& a, QueueElement e, Done d)
      : area(a), element(std::move(e)), bytes(BytesOf(element)), done(std::move(d)) {}
  Progress Try() override { return area.TryPut(*this); }
  void Finish(absl::Status status) override { done(std::move(status)); }

  StagingArea& area;
  QueueElement element;
  const int64_t bytes;
  Done done;
};

struct StagingArea::GetWaiter final : Waiter {
  GetWaiter(StagingArea& a, int64_t i, bool t, std::vector<DType> ty, TakeDone d)
      : area(a), index(i), takes(t), types(std::move(ty)), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = area.TryGet(*this, &failure);
    Fail(std::move(failure));
    return progress;
  }
  void Finish(absl::Status status) override { done(std::move(status), std::move(element)); }

  StagingArea& area;
  const int64_t index;
  const bool takes;
  const std::vector<DType> types;
  QueueElement element;
  TakeDone done;
};

StagingArea::StagingArea(const StagingSpec& spec)
    : Resource(kTypeName),
      spec_(spec),
      room_({WaitingRoom::Order::kInTurn, WaitingRoom::Order::kInTurn, WaitingRoom::Order::kAnyOrder}) {}

void StagingArea::Put(QueueElement element, CancellationManager* cancellation, Done done) {
  auto waiter = std::make_unique<PutWaiter>(*this, std::move(element), std::move(done));
  absl::Status fits = spec_.CheckFits(waiter->bytes);
  if (!fits.ok()) return waiter->Finish(std::move(fits));
  room_.Submit(kPutters, std::move(waiter), cancellation, Self());
}

Waiter::Progress StagingArea::TryPut(PutWaiter& waiter) {
  room_.mu.AssertHeld();
  const bool is_full = spec_.capacity > 0 && static_cast<int64_t>(elements_.size()) >= spec_.capacity;
  if (is_full || !spec_.HasRoom(bytes_, waiter.bytes)) return Waiter::Progress::kNone;
  elements_.push_back(std::move(waiter.element));
  bytes_ += waiter.bytes;
  return Waiter::Progress::kDone;
}

void StagingArea::Take(std::vector<DType> types, CancellationManager* cancellation, TakeDone done) {
  room_.Submit(kTakers, std::make_unique<GetWaiter>(*this, 0, true, std::move(types), std::move(done)), cancellation,
               Self());
}

void StagingArea::Peek(int64_t index, std::vector<DType> types, CancellationManager* cancellation, TakeDone done) {
  room_.Submit(kPeekers, std::make_unique<GetWaiter>(*this, index, false, std::move(types), std::move(done)),
               cancellation, Self());
}

Waiter::Progress StagingArea::TryGet(GetWaiter& waiter, absl::Status* failure) {
  room_.mu.AssertHeld();
  if (static_cast<int64_t>(elements_.size()) <= waiter.index) return Waiter::Progress::kNone;
  QueueElement& element = elements_[static_cast<size_t>(waiter.index)];
  *failure = CheckTypes(element, waiter.types);
  if (!failure->ok()) return Waiter::Progress::kDone;
  if (!waiter.takes) {
    waiter.element = element;
    return Waiter::Progress::kDone;
  }
  bytes_ -= BytesOf(element);
  waiter.element = std::move(element);
  elements_.pop_front();
  return Waiter::Progress::kDone;
}

void StagingArea::Clear() {
  std::deque<QueueElement> ended;  // Freed without the lock.
  {
    MutexLock lock(&room_.mu);
    ended.swap(elements_);
    bytes_ = 0;
  }
  room_.Serve();
}

int64_t StagingArea::size() const {
  MutexLock lock(&room_.mu);
  return static_cast<int64_t>(elements_.size());
}

std::string StagingArea::DebugString() const { return absl::StrCat("staging area with ", size(), " elements"); }

}  // namespace sluice
