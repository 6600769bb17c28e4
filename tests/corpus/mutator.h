#ifndef SLUICE_TESTS_CORPUS_MUTATOR_H_
#define SLUICE_TESTS_CORPUS_MUTATOR_H_

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// Damages bytes (of protobuf messages, but others too) at random, mostly where it hurts: at tags, lengths and short
// texts rather than in weights. The same seed damages the same bytes in the same way on every machine.
// Ownership: copies the bytes. Not thread-safe.
class Mutator {
 public:
  explicit Mutator(absl::string_view bytes);

  // The bytes with one to four changes: bits flipped, a length changed, a field deleted, doubled, moved or emptied, a
  // piece spliced in from elsewhere, a tail cut off.
  std::string Mutate(uint32_t seed) const;
  // The bytes with one to three fields deleted, doubled, emptied, given another one's payload or an extreme number; the
  // lengths around them are put right, so that what is wrong is what the fields say. For protobuf messages.
  std::string MutateTree(uint32_t seed) const;

 private:
  // A field somewhere in the message tree: tag to end, where its payload begins, and the field it stands in.
  struct Field {
    size_t begin, payload, end;
    size_t parent;  // kRoot for a field of the outermost message.
  };
  static constexpr size_t kRoot = static_cast<size_t>(-1);

  void FindFields();
  absl::string_view Bytes(const Field& field) const;
  // Everything with `field_bytes` in the place of the field at `index`, lengths around it put right.
  std::string Replace(size_t index, std::string field_bytes) const;
  std::string ChangeTreeOnce(std::mt19937& random) const;
  void ChangeOnce(std::mt19937& random, std::string* bytes) const;

  const std::string bytes_;
  std::vector<Field> fields_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_CORPUS_MUTATOR_H_
