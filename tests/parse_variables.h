// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Settings from environment variables, for tests that give the variables themselves.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {

/// The result of parse(lookup, problems) for these variables. Expects `problem_count` problems,
/// each of which names a variable and its value.
template <typename Parse>
auto parse_variables(const Parse &parse, std::map<std::string, std::string> variables,
                     size_t problem_count)
{
   static std::map<std::string, std::string> environment;
   environment = std::move(variables);
   const auto lookup = [](const char *name) -> const char * {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
   };
   std::vector<std::string> problems;
   auto result = parse(lookup, problems);
   EXPECT_EQ(problems.size(), problem_count) << (problems.empty() ? "" : problems[0]);
   for (const std::string &problem : problems) {
      bool named = false;
      for (const auto &[name, value] : environment)
         named |= problem.starts_with(name + "=");
      EXPECT_TRUE(named) << problem;
   }
   return result;
}

} // namespace weft::test
