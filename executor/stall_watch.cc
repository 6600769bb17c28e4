#include "executor/stall_watch.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/ir/made_nodes.h"

namespace sluice {
namespace {

// Reports name at most this many nodes and keys, and count the rest.
constexpr size_t kMaxNamed = 8;

void AppendMore(size_t all, std::string* text) {
  if (all > kMaxNamed) absl::StrAppend(text, " and ", all - kMaxNamed, " more");
}

// Returns "'x' from A to B" for the edge x, followed by the iteration for a key inside a loop.
std::string DescribeKey(const RendezvousKey& key, const EdgeTable& edges) {
  const std::string text = edges.ToWire(key);
  const absl::StatusOr<WireKey> parts = ParseWireKey(text);
  if (!parts.ok()) return absl::StrCat("'", PrintableName(text), "'");
  std::string said =
      absl::StrCat("'", PrintableName(parts->edge_name), "' from ", parts->src_device, " to ", parts->dst_device);
  if (parts->frame != 0) absl::StrAppend(&said, " in iteration ", parts->iteration);
  return said;
}

std::string DescribeSide(const std::vector<RendezvousKey>& keys, const EdgeTable& edges, absl::string_view what) {
  std::string text;
  for (size_t i = 0; i < keys.size() && i < kMaxNamed; ++i) {
    absl::StrAppend(&text, i == 0 ? what : ", ", DescribeKey(keys[i], edges));
  }
  AppendMore(keys.size(), &text);
  return text;
}

}  // namespace

StallWatch::StallWatch(const Options& options, bool is_idle) : options_(options), patience_(options.timeout) {
  SLUICE_CHECK(options.timeout > absl::ZeroDuration());
  if (!is_idle) Resume();
}

StallWatch::~StallWatch() {
  {
    MutexLock lock(&mu_);
    num_waiting_ = 0;
  }
  Stop();
}

void StallWatch::OnStart(NodeId node, int64_t start_ns) {
  if (options_.next != nullptr) options_.next->OnStart(node, start_ns);
  MutexLock lock(&mu_);
  calls_.emplace(start_ns, node);
  report_.clear();
  Moved();
}

void StallWatch::OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) {
  if (options_.next != nullptr) options_.next->OnNode(node, start_ns, end_ns, context);
  EndCall(node, start_ns);
}

void StallWatch::OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) {
  if (options_.next != nullptr) options_.next->OnCalledNode(node, start_ns, end_ns, context);
  MutexLock lock(&mu_);
  Moved();
}

void StallWatch::OnFailure(NodeId node, int64_t start_ns) {
  if (options_.next != nullptr) options_.next->OnFailure(node, start_ns);
  EndCall(node, start_ns);
}

// Calls also end when a hung run is abandoned, so only the start of a kernel clears the report.
void StallWatch::EndCall(NodeId node, int64_t start_ns) {
  MutexLock lock(&mu_);
  const auto call = calls_.find({start_ns, node});
  if (call != calls_.end()) calls_.erase(call);
  Moved();
}

void StallWatch::Moved() noexcept {
  moved_ns_ = NowNs();
  patience_ = options_.timeout;
  if (!is_timed_ && num_waiting_ > 0) LookAgainIn(patience_);
}

void StallWatch::Resume() {
  MutexLock lock(&mu_);
  if (num_waiting_ == 0) {
    report_.clear();
    Moved();
  }
  if (!is_timed_) LookIn(patience_);
  ++num_waiting_;  // After everything that can throw.
}

void StallWatch::Pause() {
  {
    MutexLock lock(&mu_);
    if (num_waiting_ == 0 || --num_waiting_ > 0) return;
  }
  Stop();
}

void StallWatch::LookIn(absl::Duration time) {
  const absl::Time at = absl::Now() + time;
  timer_ = DeadlineTimer::Global().Add(at, [this] { Look(); });
  time_ = at;
  is_timed_ = true;  // Set last: if Add throws, no Look is scheduled.
}

void StallWatch::LookAgainIn(absl::Duration time) noexcept {
  try {
    LookIn(time);
  } catch (...) {
    // Out of memory: the next kernel that starts or ends, or the next Resume, tries again.
  }
}

void StallWatch::Stop() {
  absl::Time time;
  DeadlineTimer::Id timer = -1;
  {
    MutexLock lock(&mu_);
    if (!is_timed_ || num_waiting_ > 0) return;
    time = time_;
    timer = timer_;
  }
  // Waits for a Look that is under way; it sees num_waiting_ == 0 and does not schedule another.
  DeadlineTimer::Global().Remove(time, timer);
  MutexLock lock(&mu_);
  if (timer_ != timer) return;
  is_timed_ = false;
  if (num_waiting_ > 0) LookAgainIn(patience_);  // Resume was called meanwhile.
}

std::string StallWatch::Report() {
  MutexLock lock(&mu_);
  const int64_t now_ns = NowNs();
  const absl::Duration quiet = absl::Nanoseconds(now_ns - moved_ns_);
  if (num_waiting_ == 0 || quiet < patience_) return "";
  patience_ = 2 * quiet;  // Before the text is made, which may throw.
  report_ = absl::StrCat("no progress for ", absl::FormatDuration(absl::Trunc(quiet, absl::Milliseconds(1))), ": ",
                         DescribeCalls(now_ns), DescribeKeys());
  return report_;
}

void StallWatch::Look() noexcept {
  try {
    // Logs without the lock, and before the next Look is scheduled, so that Stop waits until the line is written.
    const std::string report = Report();
    if (!report.empty()) SLUICE_LOG(WARNING) << "a run hangs: " << report;
  } catch (...) {
    LogCaught("the report of a run that hangs");
  }
  MutexLock lock(&mu_);
  is_timed_ = false;
  if (num_waiting_ > 0) LookAgainIn(patience_ - absl::Nanoseconds(NowNs() - moved_ns_));
}

std::string StallWatch::DescribeCalls(int64_t now_ns) const {
  if (calls_.empty()) return "no node runs";
  std::string text = calls_.size() == 1 ? "1 node runs: " : absl::StrCat(calls_.size(), " nodes run: ");
  size_t named = 0;
  for (const auto& [start_ns, node] : calls_) {
    if (named == kMaxNamed) break;
    const absl::Duration since = absl::Trunc(absl::Nanoseconds(now_ns - start_ns), absl::Milliseconds(1));
    const MadeFor what = MadeForOf(options_.graph, node);
    absl::StrAppend(&text, named++ == 0 ? "" : ", ", what.op, " '", PrintableName(what.name), "' for ",
                    absl::FormatDuration(since));
  }
  AppendMore(calls_.size(), &text);
  return text;
}

std::string StallWatch::DescribeKeys() const {
  if (options_.rendezvous == nullptr || options_.rendezvous->edges() == nullptr) return "";
  return absl::StrCat(DescribeSide(options_.rendezvous->WaitingReceives(SIZE_MAX), *options_.rendezvous->edges(),
                                   "; receives wait, nothing was sent: "),
                      DescribeSide(options_.rendezvous->WaitingSends(SIZE_MAX), *options_.rendezvous->edges(),
                                   "; sent, but not received: "));
}

std::string StallWatch::report() const {
  MutexLock lock(&mu_);
  return report_;
}

absl::Status StallWatch::Explain(const absl::Status& status) const noexcept {
  try {
    const std::string last = report();
    const std::optional<ErrorInfo> info = ErrorInfoOf(status);
    if (last.empty() || !info.has_value() || info->code != ErrorCode::kDeadline) return status;
    return Error(ErrorCode::kStalled).Text(absl::StrCat(info->text, "; ", last));
  } catch (...) {
    return status;
  }
}

}  // namespace sluice
