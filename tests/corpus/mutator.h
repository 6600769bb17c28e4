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
// texts rather than in weights. The same seed damages the same bytes in the same way on every machine. Ownership:
// copies the bytes. Not thread-safe.
class Mutator {
 public:
  explicit Mutator(absl::string_view bytes);

  // The bytes with one to four changes: bits flipped, a length changed, a field deleted, doubled, moved or emptied, a
  // piece spliced in from elsewhere, a tail cut off.
  std::string Mutate(uint32_t seed) const;

 private:
  // A field somewhere in the message tree: tag to end, and where its payload begins.
  struct Field {
    size_t begin, payload, end;
  };

  void FindFields();
  void ChangeOnce(std::mt19937& random, std::string* bytes) const;

  const std::string bytes_;
  std::vector<Field> fields_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_CORPUS_MUTATOR_H_
