#include "tools/cli/run/functions_option.h"

#include <string>
#include <vector>

#include "CLI/Validators.hpp"

namespace sluice {

void DeclareFunctions(CLI::App& app, CallPolicy* policy) {
  const auto choose = [policy](const std::string& word) {
    *policy = word == "inline" ? CallPolicy::kInline : word == "call" ? CallPolicy::kCall : CallPolicy::kByCost;
  };
  app.add_option_function<std::string>(
         "--functions", choose,
         "replace calls of functions by their bodies, keep calls wherever that changes no "
         "result, or choose by cost")
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "inline", "call"}))
      ->option_text("inline|call|auto [auto]")
      ->group("How to run");
}

}  // namespace sluice
