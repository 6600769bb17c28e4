#include "kernels/queues/staging_map.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

int64_t NumberOf(const Tensor& key) { return key.flat<int64_t>()[0]; }

}  // namespace

struct StagingMap::PutWaiter final : Waiter {
  PutWaiter(StagingMap& m, Tensor k, Part p, size_t w, Done d)
      : map(m), key(std::move(k)), part(std::move(p)), width(w), bytes(BytesOf(part.tensors)), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = map.TryPut(*this, &failure);
    Fail(std::move(failure));
    return progress;
  }
  void Finish(absl::Status status) override { done(std::move(status)); }

  StagingMap& map;
  Tensor key;
  Part part;
  const size_t width;
  const int64_t bytes;
  Done done;
};

struct StagingMap::GetWaiter final : Waiter {
  GetWaiter(StagingMap& m, Request r, GetDone d) : map(m), request(std::move(r)), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = map.TryGet(*this, &failure);
    Fail(std::move(failure));
    return progress;
  }
  void Finish(absl::Status status) override { done(std::move(status), std::move(key), std::move(found)); }

  StagingMap& map;
  const Request request;
  Tensor key;
  QueueElement found;
  GetDone done;
};

// Any order: what one waits for may come with one that waits after it.
StagingMap::StagingMap(absl::string_view type_name, const StagingSpec& spec)
    : Resource(type_name), spec_(spec), room_({WaitingRoom::Order::kAnyOrder, WaitingRoom::Order::kAnyOrder}) {}

void StagingMap::Put(Tensor key, Part part, size_t width, CancellationManager* cancellation, Done done) {
  auto waiter = std::make_unique<PutWaiter>(*this, std::move(key), std::move(part), width, std::move(done));
  absl::Status fits = spec_.CheckFits(waiter->bytes);
  if (!fits.ok()) return waiter->Finish(std::move(fits));
  room_.Submit(kPutters, std::move(waiter), cancellation, Self());
}

Waiter::Progress StagingMap::TryPut(PutWaiter& waiter, absl::Status* failure) {
  room_.mu.AssertHeld();
  if (!spec_.HasRoom(bytes_, waiter.bytes)) return Waiter::Progress::kNone;
  if (waiter.part.numbers.size() < waiter.width) {
    *failure = AddPart(waiter);
    return Waiter::Progress::kDone;
  }
  const bool is_full = spec_.capacity > 0 && static_cast<int64_t>(complete_.size()) >= spec_.capacity;
  if (is_full) return Waiter::Progress::kNone;
  const auto [at, is_new] = complete_.try_emplace(NumberOf(waiter.key));
  if (!is_new) return Waiter::Progress::kDone;
  at->second = {std::move(waiter.key), std::move(waiter.part.tensors), waiter.width};
  bytes_ += waiter.bytes;
  return Waiter::Progress::kDone;
}

absl::Status StagingMap::AddPart(PutWaiter& waiter) {
  const int64_t key = NumberOf(waiter.key);
  const auto at = incomplete_.try_emplace(key).first;
  Element& element = at->second;
  element.tensors.resize(std::max(element.tensors.size(), waiter.width));
  for (const size_t number : waiter.part.numbers) {
    if (!element.tensors[number].has_value()) continue;
    return ValueError(1, "indices", number, absl::StrCat("an index that nothing was staged for under key ", key));
  }
  for (size_t i = 0; i < waiter.part.numbers.size(); ++i) {
    element.tensors[waiter.part.numbers[i]] = std::move(waiter.part.tensors[i]);
  }
  element.key = waiter.key;
  element.num_present += waiter.part.numbers.size();
  bytes_ += waiter.bytes;
  if (element.num_present < element.tensors.size()) return absl::OkStatus();
  auto whole = incomplete_.extract(at);
  const int64_t bytes = BytesOf(whole.mapped().tensors);
  if (!complete_.insert(std::move(whole)).inserted) bytes_ -= bytes;
  return absl::OkStatus();
}

void StagingMap::Get(Request request, CancellationManager* cancellation, GetDone done) {
  room_.Submit(kGetters, std::make_unique<GetWaiter>(*this, std::move(request), std::move(done)), cancellation, Self());
}

Waiter::Progress StagingMap::TryGet(GetWaiter& waiter, absl::Status* failure) {
  room_.mu.AssertHeld();
  const Request& request = waiter.request;
  const auto at = request.has_key ? complete_.find(request.key) : complete_.begin();
  if (at == complete_.end()) return Waiter::Progress::kNone;
  Element& element = at->second;
  for (size_t i = 0; i < request.numbers.size() && failure->ok(); ++i) {
    const size_t number = request.numbers[i];
    if (number < element.tensors.size() && element.tensors[number].has_value()) {
      *failure = CheckStagedType(element.tensors[number], number, request.types[i]);
      continue;
    }
    *failure = Error(ErrorCode::kOpValue)
                   .Found(absl::StrCat("index ", number))
                   .Text(absl::StrCat("the element under key ", at->first, " has no such tensor, or it was taken"));
  }
  if (!failure->ok()) return Waiter::Progress::kDone;
  waiter.found.reserve(request.numbers.size());
  waiter.key = element.key;
  for (const size_t number : request.numbers) {
    Tensor& tensor = element.tensors[number];
    waiter.found.push_back(request.takes ? std::exchange(tensor, Tensor()) : tensor);
  }
  if (!request.takes) return Waiter::Progress::kDone;
  bytes_ -= BytesOf(waiter.found);
  element.num_present -= request.numbers.size();
  if (element.num_present == 0) complete_.erase(at);
  return Waiter::Progress::kDone;
}

void StagingMap::Clear() {
  Elements complete, incomplete;  // Freed without the lock.
  {
    MutexLock lock(&room_.mu);
    complete.swap(complete_);
    incomplete.swap(incomplete_);
    bytes_ = 0;
  }
  room_.Serve();
}

int64_t StagingMap::num_complete() const {
  MutexLock lock(&room_.mu);
  return static_cast<int64_t>(complete_.size());
}

int64_t StagingMap::num_incomplete() const {
  MutexLock lock(&room_.mu);
  return static_cast<int64_t>(incomplete_.size());
}

std::string StagingMap::DebugString() const {
  return absl::StrCat("staging map with ", num_complete(), " elements, and ", num_incomplete(), " incomplete ones");
}

}  // namespace sluice
