// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/setting_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

TEST(SettingWords, AreSeparatedByCommas)
{
   const auto words_of = [](std::string_view list) {
      std::vector<std::string> words;
      for_each_word(list, [&](std::string_view word) { words.emplace_back(word); });
      return words;
   };
   using Words = std::vector<std::string>;
   EXPECT_EQ(words_of("log"), Words{"log"});
   EXPECT_EQ(words_of("log,nir,asm"), (Words{"log", "nir", "asm"}));
   EXPECT_EQ(words_of(",log,,nir,"), (Words{"log", "nir"}));
   EXPECT_EQ(words_of(""), Words());
   EXPECT_EQ(words_of(","), Words());
}

} // namespace
} // namespace weft
