// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "shader_cache/cache_settings.h"
#include "tests/parse_variables.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace weft {
namespace {

CacheSettings parse(std::map<std::string, std::string> variables, size_t problem_count = 0)
{
   return test::parse_variables(parse_cache_settings, std::move(variables), problem_count);
}

TEST(CacheSettings, FindTheFolder)
{
   EXPECT_EQ(parse({}).folder, "");
   EXPECT_EQ(parse({{"HOME", "/home/somebody"}}).folder, "/home/somebody/.cache/weft_shader_cache");
   EXPECT_EQ(parse({{"HOME", "/home/somebody"}, {"XDG_CACHE_HOME", "/var/caches"}}).folder,
             "/var/caches/weft_shader_cache");
   EXPECT_EQ(parse({{"XDG_CACHE_HOME", "/home/it"}, {"HOME", "/home/it"}}).folder,
             "/home/it/weft_shader_cache");
   EXPECT_EQ(parse({{"XDG_CACHE_HOME", "/var/caches"}, {"WEFT_SHADER_CACHE_DIR", "/here"}}).folder,
             "/here/weft_shader_cache");
   // Relative to where the program is now, wherever it goes later.
   EXPECT_EQ(parse({{"WEFT_SHADER_CACHE_DIR", "here"}}).folder,
             std::filesystem::current_path() / "here/weft_shader_cache");
   EXPECT_EQ(parse({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/home/somebody"}}).folder,
             "/home/somebody/.cache/weft_shader_cache");
   EXPECT_EQ(parse({{"HOME", "relative"}}).folder, "");
}

TEST(CacheSettings, SwitchItOff)
{
   for (const char *off : {"1", "true"})
      EXPECT_EQ(parse({{"HOME", "/h"}, {"WEFT_SHADER_CACHE_DISABLE", off}}).folder, "");
   for (const char *on : {"", "0", "false"})
      EXPECT_NE(parse({{"HOME", "/h"}, {"WEFT_SHADER_CACHE_DISABLE", on}}).folder, "");
   EXPECT_NE(parse({{"HOME", "/h"}, {"WEFT_SHADER_CACHE_DISABLE", "perhaps"}}, 1).folder, "");
}

TEST(CacheSettings, LimitTheSize)
{
   const auto limit = [](const char *text, size_t problem_count = 0) {
      return parse({{"WEFT_SHADER_CACHE_MAX_SIZE", text}}, problem_count).limit;
   };
   const uint64_t usual = parse({}).limit;
   EXPECT_EQ(usual, 1u << 30);
   EXPECT_EQ(limit(""), usual);
   EXPECT_EQ(limit("2"), uint64_t(2) << 30);
   EXPECT_EQ(limit("5G"), uint64_t(5) << 30);
   EXPECT_EQ(limit("17m"), 17u << 20);
   EXPECT_EQ(limit("300K"), 300u << 10);
   for (const char *wrong : {"0", "-1", "K", "1T", "1 G", "1GB", "0x10", "99999999999", "1e9"})
      EXPECT_EQ(limit(wrong, 1), usual) << wrong;
}

} // namespace
} // namespace weft
