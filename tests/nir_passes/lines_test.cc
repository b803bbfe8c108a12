// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/nir_passes/lines.h"

namespace weft {
namespace {

using test::has_lines;

const std::string text = R"(
   32 %0 = load_const (0x00000000)
   32 %1 = iadd %0, %0
   loop {
   @store (%10, %1)
   @store (%1, %10)
   }
)";

TEST(HasLines, OthersMayStandBetween)
{
   EXPECT_TRUE(has_lines(text, "load_const\nloop {\n}"));
   EXPECT_TRUE(has_lines(text, ""));
   EXPECT_FALSE(has_lines(text, "loop {\nload_const"));
   EXPECT_FALSE(has_lines(text, "loop {\nloop {"));
   EXPECT_FALSE(has_lines(text, "imul"));
}

TEST(HasLines, NamesStandForOneWord)
{
   EXPECT_TRUE(has_lines(text, "$zero = load_const\n$sum = iadd $zero, $zero\n($to, $sum)"));
   EXPECT_FALSE(has_lines(text, "$zero = load_const\n@store ($to, $zero)"));
   EXPECT_FALSE(has_lines(text, "@store ($a, $a)"));
   // The whole word.
   EXPECT_FALSE(has_lines("%1 = a\nb %10", "$x = a\nb $x"));
}

TEST(HasLines, NextLine)
{
   EXPECT_TRUE(has_lines(text, "iadd\n+ loop {\n+ @store"));
   EXPECT_FALSE(has_lines(text, "load_const\n+ loop {"));
   EXPECT_FALSE(has_lines(text, "@store ($a, $b)\n}\n+ @store"));
}

TEST(HasLines, AbsentLines)
{
   EXPECT_TRUE(has_lines(text, "load_const\n- @store\nloop {\n- iadd"));
   EXPECT_FALSE(has_lines(text, "load_const\n- iadd\nloop {"));
   EXPECT_FALSE(has_lines(text, "iadd\n- @store"));
   EXPECT_FALSE(has_lines(text, "- load_const\nloop {"));
}

} // namespace
} // namespace weft
