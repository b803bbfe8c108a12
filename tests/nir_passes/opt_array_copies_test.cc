// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_array_copies.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// The number of all instructions, and of some kinds, of a shader whose functions are inlined.
struct Counts {
   unsigned loads = 0, stores = 0, loops = 0;
};

std::string read(const std::string &glsl)
{
   const test::Source source = test::compile(glsl);
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 16, {}, nullptr);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return "";
   }
   nir_opt_dce(shader->get());
   return test::body(shader->get());
}

Counts count(const std::string &text)
{
   return {test::count(text, "@load_deref"), test::count(text, "@store_deref"),
           test::count(text, "loop {")};
}

const char *const buffers = R"(
   struct Pair { uvec2 a; float b; };
   layout(binding = 0) buffer Numbers { uint numbers[2000]; uint d[4]; } n;
   layout(binding = 1) buffer Nested { uint nested[400][5]; };
   layout(binding = 2) buffer Pairs { Pair pairs[300]; };
   layout(binding = 3) uniform Constants { uvec4 constants[500]; };
)";

/// A value that is only read is read from the copy's source.
TEST(OptArrayCopies, ArraysByValueThatAreOnlyReadAreNotCopied)
{
   const struct {
      const char *type, *size, *element, *value;
   } cases[] = {{"uint", "[2000]", "", "n.numbers"},
                {"uint", "[400][5]", "[2]", "nested"},
                {"Pair", "[300]", ".a.y", "pairs"},
                {"uvec4", "[500]", ".z", "constants"}};
   for (const auto &c : cases) {
      const std::string text = read(buffers + std::string("uint pick(") + c.type + " array" +
                                    c.size + ", uint i) { return array[i]" + c.element + "; }\n" +
                                    "void main() { n.d[2] = pick(" + c.value + ", n.d[1]); }");
      const Counts counts = count(text);
      EXPECT_LT(counts.loads, 10u) << c.value << "\n" << text;
      EXPECT_LT(counts.stores, 10u) << c.value << "\n" << text;
      EXPECT_EQ(counts.loops, 0u) << c.value << "\n" << text;
   }
}

/// A loop for each vector or scalar of an element.
TEST(OptArrayCopies, ArraysByValueThatChangeAreCopiedByLoops)
{
   const struct {
      const char *type, *size, *element, *value;
      unsigned loops;
   } cases[] = {{"uint", "[2000]", "", "n.numbers", 1},
                {"uint", "[400][5]", "[i % 3]", "nested", 5},
                {"Pair", "[300]", ".a.y", "pairs", 2}};
   for (const auto &c : cases) {
      const std::string text =
         read(buffers + std::string("uint pick(") + c.type + " array" + c.size +
              ", uint i) { array[i + 1]" + c.element + " = 7; return array[i]" + c.element +
              "; }\n" + "void main() { n.d[2] = pick(" + c.value + ", n.d[1]); }");
      const Counts counts = count(text);
      EXPECT_LT(counts.loads, 50u) << c.value << "\n" << text;
      EXPECT_LT(counts.stores, 50u) << c.value << "\n" << text;
      EXPECT_EQ(counts.loops, c.loops) << c.value << "\n" << text;
   }
}

/// The buffer changes before the copy is read.
TEST(OptArrayCopies, WhatIsWrittenMeanwhileIsCopiedBefore)
{
   const std::string text = read(buffers + std::string(R"(
      uint pick(uint array[2000], uint i) { n.numbers[i] = 7; return array[i]; }
      void main() { n.d[2] = pick(n.numbers, n.d[1]); })"));
   const Counts counts = count(text);
   EXPECT_EQ(counts.loops, 1u) << text;
   EXPECT_LT(text.find("loop {"), text.find("0x00000007")) << text;
}

/// Small enough for registers.
TEST(OptArrayCopies, SmallArraysAreCopiedElementByElement)
{
   const Counts counts = count(
      read(buffers +
           std::string("void main() { uint copy[200]; for (int i = 0; i < 200; ++i) copy[i] = i; "
                       "uint other[200] = copy; other[n.d[0]] = 1; "
                       "n.d[1] = other[n.d[2]] + copy[n.d[3]]; }")));
   EXPECT_GE(counts.loads, 200u);
   EXPECT_GE(counts.stores, 200u);
}

/// A loop fills an array that begins with zeros. An array that begins with a table is copied from
/// the one table.
TEST(OptArrayCopies, ArraysOfConstantsThatChange)
{
   std::string numbers = "uint[300](";
   for (unsigned i = 0; i < 300; ++i)
      numbers += (i ? ", " : "") + std::to_string(i * 7) + "u";
   numbers += ")";
   const std::string zero = read(buffers + std::string("const uint zero[300] = uint[300](") + [] {
      std::string zeros = "0";
      for (unsigned i = 1; i < 300; ++i)
         zeros += ", 0";
      return zeros;
   }() + ");\nvoid main() { uint a[300] = zero; a[n.d[0]] = 5; n.d[1] = a[n.d[2]]; }");
   EXPECT_LT(count(zero).stores, 10u) << zero;
   EXPECT_EQ(count(zero).loops, 1u) << zero;

   const std::string one_of_two = read(buffers + std::string("const uint t[300] = ") + numbers +
                                       ";\nvoid main() { uint a[300]; if (n.d[0] > 2) { a = t; "
                                       "a[3] = n.d[1]; } else { a = t; a[4] = n.d[2]; }"
                                       "n.d[1] = a[n.d[2]]; }");
   EXPECT_LT(count(one_of_two).stores, 320u) << one_of_two;
   EXPECT_EQ(count(one_of_two).loops, 2u) << one_of_two;
}

/// Elements in another order, of another array, with one missing, twice, or changed on the way: a
/// copy would be wrong.
TEST(OptArrayCopies, OnlyWholeCopiesAreCopies)
{
   enum Change { none, order, other_source, constant, write_between, other_length };
   for (const Change change : {none, order, other_source, constant, write_between, other_length}) {
      constexpr unsigned length = max_unrolled_copy + 44;
      test::Built built;
      nir_builder *b = &built.b;
      const auto array = [&](const char *name, unsigned size) {
         return nir_build_deref_var(
            b,
            nir_local_variable_create(b->impl, glsl_array_type(glsl_uint_type(), size, 0), name));
      };
      nir_deref_instr *from = array("from", change == other_length ? length + 1 : length),
                      *other = array("other", length), *to = array("to", length);
      const auto element = [&](nir_deref_instr *of, unsigned i) {
         return nir_build_deref_array_imm(b, of, i);
      };
      std::vector<nir_def *> values;
      for (unsigned i = 0; i < length; ++i)
         values.push_back(
            nir_load_deref(b, element(change == other_source && i == 7 ? other : from, i)));
      if (change == order)
         std::swap(values[8], values[9]);
      if (change == constant)
         values[length - 1] = nir_imm_int(b, 5);
      if (change == write_between)
         nir_store_deref(b, element(from, 250), nir_imm_int(b, 5), 1);
      for (unsigned i = 0; i < length; ++i)
         nir_store_deref(b, element(to, i), values[i], 1);
      EXPECT_EQ(opt_array_copies(built.shader.get()), change == none) << change;
      nir_validate_shader(built.shader.get(), "opt_array_copies");
      const std::string text = test::body(built.shader.get());
      EXPECT_EQ(test::count(text, "@copy_deref"), change == none ? 1u : 0u) << change;
   }
}

} // namespace
} // namespace weft
