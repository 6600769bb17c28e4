// Damaged files: npy, npz, value, text, checkpoint or saved_model, the first argument. See README.md.

#include <iostream>

#include "tests/fuzz/file_subjects.h"
#include "tests/fuzz/fuzz_loop.h"

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  sluice::FuzzCounts none;
  if (sluice::MakeFileSubject(name, &none, {}) == nullptr) {
    std::cout << "usage: file_fuzz npy|npz|value|text|checkpoint|saved_model OPTION...\n";
    return 2;
  }
  return sluice::FuzzMain(argc - 1, argv + 1,
                          [&](sluice::FuzzCounts* counts, const std::vector<std::string>& seed_dirs) {
                            return sluice::MakeFileSubject(name, counts, seed_dirs);
                          });
}
