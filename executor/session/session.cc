#include "executor/session/session.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "executor/session/expanded_names.h"
#include "executor/session/fed_value.h"
#include "executor/session/signature_key.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/memory/cpu_allocator.h"

namespace sluice {
absl::StatusOr<std::unique_ptr<Session>> Session::Create(const SessionOptions& options, Graph graph) {
  return AsStatus([&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<SessionCore> core, SessionCore::Create(options));
    return std::unique_ptr<Session>(new Session(std::move(core), std::move(graph)));
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const SessionOptions& options,
                                                         std::shared_ptr<const Graph> graph) {
  return AsStatus([&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    if (graph == nullptr) return Error(ErrorCode::kWrongUse).Text("there is no graph to make a session of");
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<SessionCore> core, SessionCore::Create(options));
    return std::unique_ptr<Session>(new Session(std::move(core), std::move(graph)));
  });
}

Session::~Session() { Close().IgnoreError(); }

absl::Status Session::Extend(GraphSource added) {
  return AsStatus([&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(core_->CheckIsOpen());
    return graph_.Extend(std::move(added), core_->options().limits);
  });
}

absl::Status Session::Replace(Graph graph) {
  return AsStatus([&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(core_->CheckIsOpen());
    KernelStore::ByNode ended;  // Freed when nothing waits for it.
    SLUICE_RETURN_IF_ERROR(graph_.Replace(std::move(graph), [&](const Graph& next) {
      ExpandedNames names(next);
      ended = core_->kernel_store().Forget([&names](absl::string_view node) { return names.MayHave(node); });
    }));
    prepared_.Clear();
    return absl::OkStatus();
  });
}

absl::Status Session::Finalize() {
  graph_.Forget();
  return absl::OkStatus();
}

absl::Status Session::CheckCanPrepare() const {
  SLUICE_RETURN_IF_ERROR(core_->CheckIsOpen());
  return graph_.CheckIsThere();
}

absl::StatusOr<std::shared_ptr<const Callable>> Session::Prepare(const FeedFetchSpec& spec,
                                                                 const PrepareOptions& options) {
  return AsStatus([&]() -> absl::StatusOr<std::shared_ptr<const Callable>> {
    SLUICE_RETURN_IF_ERROR(CheckCanPrepare());
    return Callable::Create(core_, graph_, spec, options);
  });
}

absl::StatusOr<std::shared_ptr<const Callable>> Session::FindOrPrepare(const FeedFetchSpec& spec,
                                                                       const PrepareOptions& options) {
  return prepared_.FindOrPrepare(SignatureKey(spec), options,
                                 [&] { return Callable::Create(core_, graph_, spec, options); });
}

absl::Status Session::PrepareCall(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                                  const std::vector<std::string>& targets, CallOptions* options, NamedCall* call) {
  SLUICE_RETURN_IF_ERROR(core_->CheckIsOpen());
  FeedFetchSpec spec;
  for (const auto& [name, value] : feeds) {
    spec.feeds.push_back(name);
    call->inputs.push_back(value);
  }
  spec.fetches = fetches;
  spec.targets = targets;
  spec.fed_is_answer = options->fed_is_answer;
  options->deadline = core_->DeadlineOf(*options);
  SLUICE_ASSIGN_OR_RETURN(call->callable, FindOrPrepare(spec, {options->deadline, options->cancellation}));
  call->outputs.resize(fetches.size());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Session::Run(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                                                 const std::vector<std::string>& targets, const CallOptions& options) {
  absl::StatusOr<std::vector<Tensor>> values = AsStatus([&]() -> absl::StatusOr<std::vector<Tensor>> {
    NamedCall call;
    CallOptions with_timeout = options;
    SLUICE_RETURN_IF_ERROR(PrepareCall(feeds, fetches, targets, &with_timeout, &call));
    SLUICE_RETURN_IF_ERROR(call.callable->Run(absl::MakeSpan(call.inputs), absl::MakeSpan(call.outputs), with_timeout));
    return std::move(call.outputs);
  });
  core_->CountRun(values.ok());
  return values;
}

// An asynchronous step by name.
struct Session::AsyncRun {
  // The step has answered `status`. Gone before `done` is called.
  static void End(std::unique_ptr<AsyncRun> run, absl::Status status) noexcept {
    run->core->CountRun(status.ok());
    std::vector<Tensor> outputs = std::move(run->call.outputs);
    RunDone done = std::move(run->done);
    run.reset();
    if (status.ok()) {
      Tell(std::move(done), std::move(outputs));
    } else {
      Tell(std::move(done), std::move(status));
    }
  }
  static void Tell(RunDone done, absl::StatusOr<std::vector<Tensor>> values) noexcept {
    try {
      std::move(done)(std::move(values));
    } catch (...) {
      LogCaught("the `done` of a step");
    }
  }

  std::shared_ptr<SessionCore> core;
  NamedCall call;
  RunDone done;
};

void Session::RunAsync(const NamedTensors& feeds, const std::vector<std::string>& fetches,
                       const std::vector<std::string>& targets, const CallOptions& options, RunDone done) noexcept {
  std::unique_ptr<AsyncRun> run;
  try {
    run = std::make_unique<AsyncRun>();
  } catch (...) {
    core_->CountRun(false);
    return AsyncRun::Tell(std::move(done), StatusOfCaught());
  }
  run->core = core_;
  run->done = std::move(done);
  CallOptions with_timeout = options;
  absl::Status begun = AsStatus([&] { return PrepareCall(feeds, fetches, targets, &with_timeout, &run->call); });
  NamedCall& call = run->call;
  // Keeps the call alive until its end; the callable keeps itself.
  Callable::Done end = [run = std::move(run)](absl::Status status) mutable {
    AsyncRun::End(std::move(run), std::move(status));
  };
  if (!begun.ok()) return EndAtOnce(std::move(end), std::move(begun));
  call.callable->RunAsync(absl::MakeSpan(call.inputs), absl::MakeSpan(call.outputs), with_timeout, std::move(end));
}

absl::StatusOr<std::string> Session::PRunSetup(const FeedFetchSpec& spec, const CallOptions& options) {
  return AsStatus([&]() -> absl::StatusOr<std::string> {
    SLUICE_RETURN_IF_ERROR(CheckCanPrepare());
    const size_t limit = core_->options().max_partial_runs;
    const absl::Status too_many =
        Error(ErrorCode::kLimitRuns)
            .Limit("max_partial_runs", static_cast<int64_t>(limit))
            .Text(
                "the session has too many partial runs that are not over: give and take all that they were set up for");
    if (num_partial_runs() >= limit) ForgetFailedPartialRuns();
    if (num_partial_runs() >= limit) return too_many;
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<PartialRun> run, PartialRun::Start(core_, graph_, spec, options));
    {
      MutexLock lock(&mu_);
      if (is_closed_) return SessionCore::Closed();
      if (partial_runs_.size() < limit) {  // Others may have begun meanwhile.
        std::string handle = absl::StrCat("partial_run_", next_partial_run_++);
        partial_runs_.emplace(handle, std::move(run));
        return handle;
      }
    }
    return too_many;  // The run ends outside of the lock.
  });
}

absl::StatusOr<std::vector<Tensor>> Session::PRun(const std::string& handle, const NamedTensors& feeds,
                                                  const std::vector<std::string>& fetches, const CallOptions& options) {
  return AsStatus([&] { return RunPart(handle, feeds, fetches, options); });
}

absl::StatusOr<std::vector<Tensor>> Session::RunPart(const std::string& handle, const NamedTensors& feeds,
                                                     const std::vector<std::string>& fetches,
                                                     const CallOptions& options) {
  std::shared_ptr<PartialRun> run;
  {
    MutexLock lock(&mu_);
    const auto found = partial_runs_.find(handle);
    if (found != partial_runs_.end()) run = found->second;
  }
  SLUICE_RETURN_IF_ERROR(core_->CheckIsOpen());
  if (run == nullptr) {
    return Error(ErrorCode::kPartialRun).Text(absl::StrCat("there is no partial run '", handle, "', or it is over"));
  }
  CallOptions call = options;
  call.deadline = core_->DeadlineOf(options);
  NamedTensors fed = feeds;
  for (auto& feed : fed) SLUICE_RETURN_IF_ERROR(TakeKeptTensor(core_->state(), &feed.second));
  absl::StatusOr<std::vector<Tensor>> values = run->Run(fed, fetches, call);
  if (run->IsOver()) {
    MutexLock lock(&mu_);
    partial_runs_.erase(handle);
  }
  return values;
}

void Session::ForgetFailedPartialRuns() {
  std::map<std::string, std::shared_ptr<PartialRun>> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  for (auto it = partial_runs_.begin(); it != partial_runs_.end();) {
    const auto run = it++;
    if (run->second->HasFailed()) ended.insert(partial_runs_.extract(run));
  }
}

size_t Session::num_partial_runs() const {
  MutexLock lock(&mu_);
  return partial_runs_.size();
}

absl::Status Session::Close() {
  const absl::Status closed = AsStatus([] { return SessionCore::Closed(); });
  // A `done` that the cancellation calls here may free the session.
  const std::shared_ptr<SessionCore> core = core_;
  std::map<std::string, std::shared_ptr<PartialRun>> ended;
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
    ended.swap(partial_runs_);
  }
  prepared_.Close(closed);
  core->cancellation().StartCancelWithStatus(closed);
  core->ReleaseName();
  core->body_store().Clear();
  core->kernel_store().Clear();
  ended.clear();  // Outside of the lock: they are waited for.
  return absl::OkStatus();
}

void Session::Reset(const std::vector<std::string>& containers) {
  for (size_t i = 0; i < core_->num_devices(); ++i) {
    if (containers.empty()) core_->device(i).resources().ClearContainer("");
    for (const std::string& container : containers) core_->device(i).resources().ClearContainer(container);
  }
  // Kernels keep the variables that they have found. Clear bodies last: bodies compiled after that find no old kernel.
  core_->kernel_store().Clear();
  core_->body_store().Clear();
  // Signatures prepared during a reset may have old kernels. A finalised session keeps its signatures, as it could not
  // prepare them again.
  if (graph_.CheckIsThere().ok()) {
    prepared_.Clear();
  } else {
    prepared_.ForgetUnderWay();
  }
  TrimCpuAllocator();
}

}  // namespace sluice
