#include "tests/testing/fake_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "graph/base/check.h"

namespace sluice {
namespace {

char* Map(int file, size_t bytes, int rights) {
  void* const mapped = mmap(nullptr, bytes, rights, MAP_SHARED, file, 0);
  SLUICE_CHECK(mapped != MAP_FAILED);
  return static_cast<char*>(mapped);
}

}  // namespace

FakeMemory::FakeMemory(size_t bytes) : bytes_(bytes) {
  const int file = memfd_create("fake_device", MFD_CLOEXEC);
  SLUICE_CHECK(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0);
  host_ = Map(file, bytes, PROT_NONE);
  device_ = Map(file, bytes, PROT_READ | PROT_WRITE);
  close(file);
}

FakeMemory::~FakeMemory() {
  munmap(host_, bytes_);
  munmap(device_, bytes_);
}

}  // namespace sluice
