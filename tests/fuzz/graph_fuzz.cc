// Hostile graphs through import, check, conversion, preparing and running: see README.md.

#include "tests/fuzz/fuzz_loop.h"
#include "tests/fuzz/graph_subject.h"

int main(int argc, char** argv) {
  return sluice::FuzzMain(argc, argv, [](sluice::FuzzCounts* counts, const std::vector<std::string>& seed_dirs) {
    return std::make_unique<sluice::GraphSubject>(counts, seed_dirs);
  });
}
