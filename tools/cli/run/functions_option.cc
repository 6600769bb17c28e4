#include "tools/cli/run/functions_option.h"

#include <string>
#include <vector>

#include "CLI/Validators.hpp"

namespace sluice {

void DeclareFunctions(CLI::App& app, CallPolicy* policy) {
  const auto choose = [policy](const std::string& word) {
    *policy = word == "inline" ? CallPolicy::kInline : word == "call" ? CallPolicy::kCall : CallPolicy::kByCost;
  };
  app.add_option_function<std::string>("--functions", choose,
                                       "put the bodies of functions in the place of their calls, call them wherever "
                                       "that changes no answer, or choose "
                                       "by what it costs")
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "inline", "call"}))
      ->option_text("inline|call|auto [auto]")
      ->group("How to run");
}

}  // namespace sluice
