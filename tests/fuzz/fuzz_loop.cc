#include "tests/fuzz/fuzz_loop.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <new>
#include <set>

#include "absl/debugging/symbolize.h"
#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "tests/fuzz/crash_key.h"
#include "tests/fuzz/fuzz_options.h"
#include "tests/fuzz/fuzz_table.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {  // NOLINT: the sanitizer's name.
  return "allocator_may_return_null=1:detect_leaks=1:handle_abort=1:detect_stack_use_after_return=1:"
         "quarantine_size_mb=16:max_allocation_size_mb=2000";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }  // NOLINT
#endif

namespace sluice {
namespace {

// Where no sanitizer does it: says where a crash was, in its words.
#if defined(__SANITIZE_ADDRESS__)
void SayWhereItCrashes() {}
#else
void PrintFrames(int signal_number) {
  std::fprintf(stderr, "signal %d\n", signal_number);
  void* frames[64];
  const int count = backtrace(frames, 64);
  char name[512];
  for (int i = 0; i < count; ++i) {
    const bool is_known = absl::Symbolize(frames[i], name, sizeof(name));
    std::fprintf(stderr, "    #%d %p in %s\n", i, frames[i], is_known ? name : "?");
  }
  std::_Exit(128 + signal_number);
}

void SayWhereItCrashes() {
  absl::InitializeSymbolizer("/proc/self/exe");
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) signal(number, PrintFrames);
}
#endif

constexpr size_t kMaxInput = 8 << 20;
constexpr uint64_t kInputsPerChild = 5000;
constexpr int kMaxRemarksOfAKind = 5;

// What parent and child share; see Note [Two processes].
struct Shared {
  FuzzCounts counts;
  std::atomic<uint64_t> seed{0};   // At work.
  std::atomic<uint64_t> beats{0};  // Grows with every input.
  std::atomic<uint64_t> input_size{0};
  char input[kMaxInput];
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

double Now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One fuzzing session: children one after the other, and what became of them. Not thread-safe.
class Fuzzing {
 public:
  Fuzzing(const FuzzOptions& options, const MakeSubject& make) : options_(options) {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SLUICE_CHECK(memory != MAP_FAILED);
    shared_ = new (memory) Shared;
    log_ = absl::StrCat(options.out, "/child-", getpid(), ".log");
    subject_ = make(&shared_->counts, options.seed_dirs);
    std::filesystem::create_directories(options.out);
  }

  int Run();
  int Replay();
  int Minimize();

 private:
  [[noreturn]] void Child(uint64_t first, uint64_t end, double until);
  void KeepRemarks(absl::string_view input, uint64_t seed);
  // Starts a child that calls `work`, its output going to the log, and waits for it. False: it hung.
  bool RunChild(const std::function<void()>& work, int* status);
  bool Crashes(const std::string& input, std::string* key);
  void KeepCrash(const std::string& what, const std::string& key);

  const FuzzOptions options_;
  Shared* shared_;
  std::unique_ptr<FuzzSubject> subject_;  // Made once; children work with copies.
  std::string log_;
  std::map<std::string, int> crashes_;  // By key.
  std::map<std::string, int> remarks_;  // Of this child.
};

void Fuzzing::KeepRemarks(absl::string_view input, uint64_t seed) {
  for (const auto& [remark, detail] : subject_->TakeRemarks()) {
    const std::string base = absl::StrCat(options_.out, "/remark-", remark, "-");
    const int number = ++remarks_[remark];
    if (number > kMaxRemarksOfAKind) continue;
    // The first children fill the places; later ones leave the files alone.
    const std::string path = absl::StrCat(base, number, subject_->extension());
    if (std::filesystem::exists(path)) continue;
    std::ofstream(path, std::ios::binary) << input;
    std::cout << "remark " << remark << ": seed " << seed << ": " << detail << std::endl;
  }
}

void Fuzzing::Child(uint64_t first, uint64_t end, double until) {
  for (uint64_t seed = first; seed < end && Now(CLOCK_MONOTONIC) < until; ++seed) {
    shared_->input_size = 0;
    shared_->seed = seed;
    ++shared_->beats;
    const std::string input = subject_->MakeInput(seed);
    if (input.size() > kMaxInput) continue;
    std::memcpy(shared_->input, input.data(), input.size());
    shared_->input_size = input.size();
    subject_->Execute(input);
    FuzzCounts::Add(shared_->counts.executions);
    KeepRemarks(input, seed);
  }
  shared_->seed = shared_->seed + 1;
  shared_->input_size = 0;
  // Not _exit: the leak checker runs at the end of the process.
  std::exit(0);
}

bool Fuzzing::RunChild(const std::function<void()>& work, int* status) {
  std::cout.flush();
  const pid_t child = fork();
  SLUICE_CHECK(child >= 0);
  if (child == 0) {
    const int log = open(log_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    dup2(log, 2);
    SayWhereItCrashes();
    work();
    std::exit(0);
  }
  clockid_t cpu_clock;
  SLUICE_CHECK_EQ(clock_getcpuclockid(child, &cpu_clock), 0);
  uint64_t beats = shared_->beats;
  double cpu = 0, wall = Now(CLOCK_MONOTONIC);
  while (waitpid(child, status, WNOHANG) == 0) {
    usleep(2000);
    if (shared_->beats != beats) {
      beats = shared_->beats;
      cpu = Now(cpu_clock);
      wall = Now(CLOCK_MONOTONIC);
    } else if (Now(cpu_clock) - cpu > options_.max_cpu_seconds ||
               Now(CLOCK_MONOTONIC) - wall > options_.max_wall_seconds) {
      kill(child, SIGKILL);
      waitpid(child, status, 0);
      return false;
    }
  }
  return true;
}

void Fuzzing::KeepCrash(const std::string& what, const std::string& key) {
  const int number = ++crashes_[key];
  std::cout << what << " seed " << shared_->seed << ": " << key << std::endl;
  if (number > 3) return;
  const std::string path =
      absl::StrCat(options_.out, "/", what, "-", absl::Hex(std::hash<std::string>()(key)), "-", shared_->seed.load());
  std::ofstream(path + std::string(subject_->extension()), std::ios::binary)
      .write(shared_->input, static_cast<std::streamsize>(shared_->input_size));
  std::ofstream(path + ".log") << key << "\n" << ReadFile(log_);
}

int Fuzzing::Run() {
  const double start = Now(CLOCK_MONOTONIC), until = start + options_.seconds;
  const uint64_t end =
      options_.runs > UINT64_MAX - options_.first_seed ? UINT64_MAX : options_.first_seed + options_.runs;
  double said = start;
  for (uint64_t next = options_.first_seed; next < end && Now(CLOCK_MONOTONIC) < until; next = shared_->seed) {
    shared_->seed = next;
    int status = 0;
    const uint64_t stop = std::min(end, next + kInputsPerChild);
    const bool ended = RunChild([&] { Child(next, stop, until); }, &status);
    if (!ended) KeepCrash("hang", "no end");
    if (ended && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) KeepCrash("crash", CrashKey(ReadFile(log_)));
    if (shared_->input_size != 0 || status != 0) shared_->seed = shared_->seed + 1;
    if (Now(CLOCK_MONOTONIC) - said > 60) {
      said = Now(CLOCK_MONOTONIC);
      std::cout << FuzzLine(shared_->counts) << std::endl;
    }
  }
  std::filesystem::remove(log_);
  std::cout << FuzzTable(shared_->counts, Now(CLOCK_MONOTONIC) - start) << "seeds " << options_.first_seed << " to "
            << shared_->seed - 1 << "\n";
  for (const auto& [key, count] : crashes_) std::cout << count << " x " << key << "\n";
  std::cout << (crashes_.empty() ? "no crash, no hang\n" : "");
  return crashes_.empty() && shared_->counts.differences == 0 ? 0 : 1;
}

int Fuzzing::Replay() {
  for (const std::string& path : options_.replay) {
    std::cout << path << std::endl;
    subject_->Execute(ReadFile(path));
    for (const auto& [remark, detail] : subject_->TakeRemarks()) std::cout << "  " << remark << ": " << detail << "\n";
  }
  std::cout << FuzzLine(shared_->counts) << "\n";
  return 0;
}

bool Fuzzing::Crashes(const std::string& input, std::string* key) {
  int status = 0;
  ++shared_->beats;
  const bool ended = RunChild([&] { subject_->Execute(input); }, &status);
  *key = ended ? CrashKey(ReadFile(log_)) : "no end";
  return !ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int Fuzzing::Minimize() {
  std::string input = ReadFile(options_.minimize), key, found;
  if (!Crashes(input, &key)) {
    std::cout << options_.minimize << " does not crash\n";
    return 1;
  }
  std::cout << key << "\n";
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const std::string& candidate : subject_->Smaller(input)) {
      if (candidate.size() >= input.size() || !Crashes(candidate, &found) || found != key) continue;
      input = candidate;
      smaller = true;
      break;
    }
    std::cout << input.size() << " bytes" << std::endl;
  }
  std::ofstream(options_.minimize + ".min", std::ios::binary) << input;
  std::filesystem::remove(log_);
  return 0;
}

}  // namespace

int FuzzMain(int argc, char** argv, const MakeSubject& make) {
  const FuzzOptions options = FuzzOptions::Parse(argc, argv);
  Fuzzing fuzzing(options, make);
  if (!options.replay.empty()) return fuzzing.Replay();
  if (!options.minimize.empty()) return fuzzing.Minimize();
  return fuzzing.Run();
}

}  // namespace sluice
