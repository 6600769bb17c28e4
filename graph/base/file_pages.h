#ifndef SLUICE_GRAPH_BASE_FILE_PAGES_H_
#define SLUICE_GRAPH_BASE_FILE_PAGES_H_

// Note [Pages of files]
// The touched pages of a mapped file count as this process's memory. Bytes that were copied or reordered are not soon
// read again in the file, so their pages are released, and the process holds the bytes once. The system's page cache
// keeps them while it has room; later reads come from there, or from the disk. Only pages that a MappedFile has mapped
// are released: other memory would lose its bytes.

#include <cstddef>

#include "absl/strings/string_view.h"

namespace sluice {

// Gives the whole pages of `bytes` back to the system where they are part of a MappedFile, which must stay alive
// meanwhile; does nothing for other memory. Returns how many bytes that were. Thread-safe, also with readers of them.
size_t ReleaseFilePages(absl::string_view bytes);

// For MappedFile: registers `bytes`, never written, as a file's, and removes them. May throw bad_alloc.
void AddMappedBytes(absl::string_view bytes);
void RemoveMappedBytes(absl::string_view bytes) noexcept;

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_FILE_PAGES_H_
