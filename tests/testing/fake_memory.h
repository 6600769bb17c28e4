#ifndef SLUICE_TESTS_TESTING_FAKE_MEMORY_H_
#define SLUICE_TESTS_TESTING_FAKE_MEMORY_H_

#include <cstddef>

namespace sluice {

// Memory that the CPU cannot reach by the pointers that hosts see: pages that are mapped twice, once without any right
// to them, whose addresses are given to hosts, and once for the threads that play the device. A host that reads or
// writes what is the device's crashes. Immutable, but for the bytes; thread-safe.
class FakeMemory {
 public:
  // CHECKs that the system gives it.
  explicit FakeMemory(size_t bytes);
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;
  ~FakeMemory();

  size_t bytes() const { return bytes_; }
  // Where the host sees it.
  char* host_begin() const { return host_; }
  bool Contains(const void* host) const { return host >= host_ && host < host_ + bytes_; }
  // What the device's threads use for a host's pointer. Others' pointers stay as they are: pinned memory is the same
  // for both.
  template <typename T>
  T* ForDevice(T* host) const {
    return Contains(host) ? reinterpret_cast<T*>(device_ + (reinterpret_cast<const char*>(host) - host_)) : host;
  }

 private:
  const size_t bytes_;
  char* host_ = nullptr;
  char* device_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_FAKE_MEMORY_H_
