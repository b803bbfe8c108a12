// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/options.h"
#include "tests/parse_variables.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

Options parse(std::map<std::string, std::string> variables, size_t problem_count = 0)
{
   return test::parse_variables(parse_options, std::move(variables), problem_count);
}

TEST(Options, HaveDefaults)
{
   const Options options = parse({});
   EXPECT_TRUE(options.debug.empty());
   EXPECT_EQ(options.threads, 0u);
   EXPECT_EQ(options.isa, highest_isa_limit);
   // Empty is the same as not set.
   EXPECT_EQ(parse({{"WEFT_THREADS", ""}, {"WEFT_ISA", ""}, {"WEFT_DEBUG", ""}}).threads, 0u);
}

TEST(Options, TakeDebugWords)
{
   const Options options = parse({{"WEFT_DEBUG", "log,,asm,nonsense,perf"}}, 1);
   EXPECT_TRUE(options.has_debug("log"));
   EXPECT_TRUE(options.has_debug("asm"));
   EXPECT_TRUE(options.has_debug("perf"));
   EXPECT_FALSE(options.has_debug("llvm"));
   EXPECT_FALSE(options.has_debug("nonsense"));
}

TEST(Options, TakeThreads)
{
   EXPECT_EQ(parse({{"WEFT_THREADS", "1"}}).threads, 1u);
   EXPECT_EQ(parse({{"WEFT_THREADS", "4096"}}).threads, 4096u);
   for (const char *wrong : {"0", "4097", "99999999999999", "-1", "two", "3 "})
      EXPECT_EQ(parse({{"WEFT_THREADS", wrong}}, 1).threads, 0u) << wrong;
}

TEST(Options, TakeASeedOfTheOrder)
{
   EXPECT_EQ(parse({}).order, 0u);
   EXPECT_EQ(parse({{"WEFT_ORDER", "0"}}).order, 0u);
   EXPECT_EQ(parse({{"WEFT_ORDER", "1"}}).order, 1u);
   EXPECT_EQ(parse({{"WEFT_ORDER", "4294967295"}}).order, ~0u);
   for (const char *wrong : {"4294967296", "-1", "random", "3 "})
      EXPECT_EQ(parse({{"WEFT_ORDER", wrong}}, 1).order, 0u) << wrong;
}

TEST(Options, TakeInstructionSets)
{
   const std::pair<const char *, IsaLimit> words[] = {
      {"avx2", IsaLimit::avx2},       {"avx-vnni", IsaLimit::avx_vnni},
      {"avx512f", IsaLimit::avx512f}, {"avx512-vnni", IsaLimit::avx512_vnni},
      {"avx512", IsaLimit::avx512},   {"amx", IsaLimit::amx},
   };
   for (const auto &[word, limit] : words)
      EXPECT_EQ(parse({{"WEFT_ISA", word}}).isa, limit) << word;
   EXPECT_EQ(parse({{"WEFT_ISA", "sse"}}, 1).isa, IsaLimit::amx);
}

} // namespace
} // namespace weft::cpu
