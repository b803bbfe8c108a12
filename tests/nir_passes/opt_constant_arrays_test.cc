// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_constant_arrays.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// 64 numbers of a table; tables differ by `first`.
std::string numbers(const std::string &type, unsigned first)
{
   std::string text = type + "[64](";
   for (unsigned i = 0; i < 64; ++i)
      text += (i ? ", " : "") + type + "(" + std::to_string((first + i * 37) % 251) + ")";
   return text + ")";
}

/// The shader once its functions are inlined, as text.
std::string read(const std::string &functions, const std::string &statements)
{
   const test::Source source = test::compile("layout(binding = 0) buffer B { uint data[]; };\n" +
                                             functions + "void main() {" + statements + "}");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 16, {}, nullptr);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return "";
   }
   nir_opt_dce(shader->get());
   return test::body(shader->get());
}

/// Stores of the numbers above to arrays, and loads from them.
unsigned stores(const std::string &text)
{
   return test::count(text, "@store_deref");
}

/// Stores to counters, sums and buffers.
constexpr unsigned others = 12;

/// Inliners of other compilers store the table before each use.
TEST(OptConstantArrays, TheSameStoresInSeveralBlocksAreMadeOnce)
{
   const std::string table = "table = " + numbers("uint", 3) + "; ";
   const std::string text =
      read("", "uint table[64]; uint sum = 0; " + table + "for (uint i = 0; i < data[0]; ++i) { " +
                  table + "sum += table[data[i] & 63]; } if (data[1] > 3) { " + table +
                  "sum += table[data[2] & 63]; } data[3] = sum;");
   EXPECT_GE(stores(text), 64u);
   EXPECT_LE(stores(text), 64 + others) << text;
}

TEST(OptConstantArrays, CopiesOfTablesAreTables)
{
   const std::string text = read(
      "const uint table[64] = " + numbers("uint", 5) + ";\n" +
         "uint look(uint values[64], uint i) { uint copy[64] = values; return copy[i & 63]; }\n",
      "uint sum = 0; for (uint i = 0; i < data[0]; ++i) sum += look(table, data[i]); "
      "if (sum > 7) sum += look(table, data[sum]); data[3] = sum;");
   /* Only the loop's accesses and the looked-up element are loaded: no element of a table. */
   EXPECT_LT(test::count(text, "@load_deref"), 40u) << text;
}

TEST(OptConstantArrays, TypesOfAllSizes)
{
   for (const char *type :
        {"uint8_t", "uint16_t", "uint", "uint64_t", "float16_t", "float", "double"}) {
      const std::string table = "table = " + numbers(type, 7) + "; ";
      const std::string text = read("", std::string(type) + " table[64]; uint sum = 0; " + table +
                                           "for (uint i = 0; i < data[0]; ++i) { " + table +
                                           "sum += uint(table[data[i] & 63]); } data[3] = sum;");
      EXPECT_LE(stores(text), 64 + others) << type << "\n" << text;
   }
}

TEST(OptConstantArrays, TablesInStructs)
{
   const std::string table = "s = S(" + numbers("uint", 9) + ", uvec3(1, 2, 3)); ";
   const std::string text =
      read("struct S { uint numbers[64]; uvec3 more; };\n",
           "S s; uint sum = 0; for (uint i = 0; i < data[0]; ++i) { " + table +
              "sum += s.numbers[data[i] & 63] + s.more.y; } if (sum > 7) { " + table +
              "sum += s.numbers[sum & 63]; } data[3] = sum;");
   EXPECT_LE(stores(text), 65 + others) << text;
   EXPECT_EQ(test::count(text, "more"), 1u) << text; // the store: each read became the number 2
}

/// The arrays change at run time.
TEST(OptConstantArrays, ArraysThatChangeStay)
{
   const std::string first = "table = " + numbers("uint", 3) + "; ";
   const std::string loop = "for (uint i = 0; i < data[0]; ++i) { " + first +
                            "sum += table[data[i] & 63]; } data[3] = sum;";
   for (const std::string &change :
        {"table = " + numbers("uint", 4) + "; ", std::string("table[data[1] & 63] = 28; "),
         std::string("table[5] = data[1]; "), std::string("table[5] = 1; ")}) {
      const std::string text = read("", "uint table[64]; uint sum = 0; " + change + loop +
                                           "if (sum > 9) { " + change + loop + "}");
      EXPECT_GE(stores(text), 2 * 64u) << change;
   }
}

} // namespace
} // namespace weft
