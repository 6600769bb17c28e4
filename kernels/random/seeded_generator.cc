#include "kernels/random/seeded_generator.h"

#include <random>

#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<SeededGenerator::Seeds> SeededGenerator::ReadSeeds(const KernelConstruction& construction) {
  Seeds seeds;
  SLUICE_ASSIGN_OR_RETURN(seeds.seed, construction.Get<int64_t>("seed"));
  SLUICE_ASSIGN_OR_RETURN(seeds.seed2, construction.Get<int64_t>("seed2"));
  return seeds.seed != 0 || seeds.seed2 != 0 ? seeds : SystemSeeds();
}

SeededGenerator::Seeds SeededGenerator::SystemSeeds() {
  std::random_device system;
  const auto number = [&system] { return static_cast<int64_t>((uint64_t{system()} << 32) | system()); };
  Seeds seeds;
  seeds.seed = number();
  seeds.seed2 = number();
  return seeds;
}

}  // namespace sluice
