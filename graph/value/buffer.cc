#include "graph/value/buffer.h"

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "graph/base/check.h"
#include "graph/base/checked_math.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"

namespace sluice {
namespace {

// Memory of another owner, with a callback for the end of its use.
class WrappedBuffer final : public Buffer {
 public:
  explicit WrappedBuffer(absl::AnyInvocable<void()> release) : Buffer(Kind::kWrapped), release_(std::move(release)) {}

  absl::AnyInvocable<void()> TakeRelease() { return std::move(release_); }

 private:
  absl::AnyInvocable<void()> release_;
};

template <typename T>
void DestroyAll(void* data, size_t bytes) {
  T* const elements = static_cast<T*>(data);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) elements[i].~T();
}

// Handles that end inside of another's end wait here for the outermost call on this thread.
thread_local std::vector<ResourceHandle>* t_waiting = nullptr;  // Constant-initialised: costs no guard.

// A handle may keep a resource alive that holds handles, and so on (an array of an array, as a loop may make them):
// they end one after the other, not nested, so no chain exhausts the thread's stack.
void EndHandle(ResourceHandle& handle) {
  if (!handle.has_value() || !handle.data().resource) {
    handle = ResourceHandle();
    return;
  }
  if (t_waiting != nullptr) {
    try {
      t_waiting->push_back(std::move(handle));
    } catch (const std::bad_alloc&) {  // No memory to queue it: end it at once.
      handle = ResourceHandle();
    }
    return;
  }
  std::vector<ResourceHandle> waiting;
  t_waiting = &waiting;
  handle = ResourceHandle();
  while (!waiting.empty()) {
    const ResourceHandle next = std::move(waiting.back());
    waiting.pop_back();
  }
  t_waiting = nullptr;
}

void DestroyHandles(void* data, size_t bytes) {
  ResourceHandle* const handles = static_cast<ResourceHandle*>(data);
  for (size_t i = 0; i < bytes / sizeof(ResourceHandle); ++i) {
    EndHandle(handles[i]);
    handles[i].~ResourceHandle();
  }
}

void DestroyElements(DType dtype, void* data, size_t bytes) {
  if (dtype == DType::kString) return DestroyAll<TString>(data, bytes);
  if (dtype == DType::kResource) return DestroyHandles(data, bytes);
  if (dtype == DType::kVariant) return DestroyAll<Variant>(data, bytes);
}

}  // namespace

Buffer* Buffer::New(DType dtype, int64_t count, Allocator& allocator, StreamTag stream) {
  SLUICE_DCHECK(IsSupported(dtype) && count >= 0);
  int64_t bytes;
  int64_t total;
  if (!CheckedMul(count, static_cast<int64_t>(DTypeSize(dtype)), &bytes) ||
      !CheckedAdd(bytes, static_cast<int64_t>(sizeof(Buffer)), &total)) {
    return nullptr;
  }
  const bool joined = allocator.IsHostMemory();
  SLUICE_CHECK(joined || IsTrivial(dtype));
  void* const header = joined ? allocator.Allocate(static_cast<size_t>(total), stream)
                              : HostAllocator().Allocate(sizeof(Buffer), kHostStream);
  if (header == nullptr) return nullptr;
  void* const data =
      joined ? static_cast<char*>(header) + sizeof(Buffer) : allocator.Allocate(static_cast<size_t>(bytes), stream);
  if (data == nullptr) {
    HostAllocator().Free(header, sizeof(Buffer), kHostStream);
    return nullptr;
  }
  Buffer* const buffer = ::new (header) Buffer(joined ? Kind::kJoined : Kind::kSeparate);
  buffer->stream_ = stream;
  buffer->data_ = data;
  buffer->bytes_ = static_cast<size_t>(bytes);
  buffer->allocator_ = &allocator;
  if (!IsTrivial(dtype)) {
    // The three other element types are empty when all their bytes are zero.
    std::memset(data, 0, buffer->bytes_);
    buffer->dtype_ = dtype;
  }
  return buffer;
}

Buffer* Buffer::Wrap(void* data, size_t bytes, absl::AnyInvocable<void()> release) {
  void* const memory = HostAllocator().Allocate(sizeof(WrappedBuffer), kHostStream);
  if (memory == nullptr) {
    if (release) release();
    return nullptr;
  }
  Buffer* const buffer = ::new (memory) WrappedBuffer(std::move(release));
  buffer->data_ = data;
  buffer->bytes_ = bytes;
  return buffer;
}

Buffer* Buffer::WrapStrings(void* data, size_t bytes, absl::AnyInvocable<void()> release) {
  Buffer* const buffer = Wrap(data, bytes, std::move(release));
  if (buffer != nullptr) buffer->dtype_ = DType::kString;
  return buffer;
}

void Buffer::Destroy() {
  if (dtype_ != DType::kInvalid) DestroyElements(dtype_, data_, bytes_);
  Allocator* const allocator = allocator_;
  const StreamTag stream = stream_;
  void* const data = data_;
  const size_t bytes = bytes_;
  switch (kind_) {
    case Kind::kJoined:
      this->~Buffer();
      allocator->Free(this, sizeof(Buffer) + bytes, stream);
      return;
    case Kind::kSeparate:
      this->~Buffer();
      HostAllocator().Free(this, sizeof(Buffer), kHostStream);
      allocator->Free(data, bytes, stream);
      return;
    case Kind::kWrapped: {
      WrappedBuffer* const wrapped = static_cast<WrappedBuffer*>(this);
      absl::AnyInvocable<void()> release = wrapped->TakeRelease();
      wrapped->~WrappedBuffer();
      HostAllocator().Free(wrapped, sizeof(WrappedBuffer), kHostStream);
      if (release) release();
      return;
    }
  }
}

}  // namespace sluice
