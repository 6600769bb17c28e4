#ifndef SLUICE_GRAPH_BASE_FILE_PAGES_H_
#define SLUICE_GRAPH_BASE_FILE_PAGES_H_

// Note [Pages of files]
// A mapped file takes memory of this process for the pages that were touched. What is copied out of it, or written down
// in another order, is not read there again for a long time: its pages are given back, and the process holds the bytes
// once. They stay in the system's page cache as long as that has room; whoever does read them again gets them from
// there, or from the disk. Only pages of files that a MappedFile has mapped are given back: with other memory the bytes
// themselves would be gone.

#include <cstddef>

#include "absl/strings/string_view.h"

namespace sluice {

// Gives the whole pages of `bytes` back to the system where they are part of a MappedFile, which must stay alive
// meanwhile; does nothing for other memory. Returns how many bytes that were. Thread-safe, also with readers of them.
size_t ReleaseFilePages(absl::string_view bytes);

// For MappedFile: from now on `bytes`, read-only and never written, are a file's; and no more. May throw bad_alloc.
void AddMappedBytes(absl::string_view bytes);
void RemoveMappedBytes(absl::string_view bytes) noexcept;

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_FILE_PAGES_H_
