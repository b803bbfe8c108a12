// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Components of a matrix, one by one: length, extract and insert with constant and dynamic
/// indices, and matrices in arrays and structs. The device chooses the owners of an element; some
/// hardware gives an element of A or B to multiple invocations. But every element has an owner, and
/// all operations agree on it.

#include "tests/e2e/cmat_program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace weft::e2e {

using oracle::Expectation;
using oracle::Integer;
using oracle::Matrix;

TEST(CmatComponents, LengthsCoverTheMatrix)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const MatrixProgram program = {
         .inputs = {},
         .outputs = {type},
         .declarations = "",
         .body = "   r0 = $R0($T0(0));\n   side[gl_LocalInvocationIndex] = r0.length();\n",
         .words = {{"T0", oracle::format(type.type).glsl}},
         .subgroup_size = subgroup_size,
         .side_words = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, {});
      uint32_t total = 0;
      for (uint32_t length : result.side)
         total += length;
      EXPECT_GE(total, type.rows * type.cols);
      EXPECT_EQ(total % (type.rows * type.cols), 0u)
         << "not as many owners of one element as of another";
      EXPECT_MATRIX(Matrix(type.type, type.rows, type.cols), result.outputs[0]);
   });
}

/// Writes a unique number into every component. A stored element must have the number of one of its
/// owners, which a matrix of known numbers identifies.
TEST(CmatComponents, InsertAndExtractAgreeWithStore)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const uint32_t elements = type.rows * type.cols;
      const auto key = [&](uint32_t row, uint32_t col) { return (row * type.cols + col) % 128; };
      Matrix keys(type.type, type.rows, type.cols);
      for (uint32_t i = 0; i < elements; i++)
         oracle::encode_number(type.type, key(i / type.cols, i % type.cols),
                               keys.at(i / type.cols, i % type.cols));
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type, type},
         .declarations = "",
         // r0 gets its numbers by its components. r1 is a copy of m0 whose components are written
         // back unchanged, so its store must equal m0.
         .body = R"(   const uint length = r0.length();
   for (uint i = 0; i < length; i++)
      r0[i] = $T0((gl_SubgroupInvocationID * length + i) % 128u);
   r1 = m0;
   for (uint i = 0; i < length; i++)
      r1[i] = r1[i];
   for (uint i = 0; i < length; i++)
      side[1 + gl_SubgroupInvocationID * length + i] = (m0[i] == r1[i] && r0[i] == $T0((gl_SubgroupInvocationID * length + i) % 128u)) ? uint(m0[i]) : 999u;
   side[0] = length;
)",
         .subgroup_size = subgroup_size,
         .side_words = 1 + elements * subgroup_size,
      };
      const ProgramResult result = run_program(device, program, {keys});
      const uint32_t components = result.side[0] * subgroup_size;
      ASSERT_LE(components, elements * subgroup_size);
      std::map<uint32_t, std::multiset<long>> written; // by the owned element's key
      for (uint32_t i = 0; i < components; i++) {
         ASSERT_LT(result.side[1 + i], 128u) << "component " << i;
         written[result.side[1 + i]].insert(i % 128);
      }
      for (uint32_t i = 0; i < elements; i++) {
         const uint32_t row = i / type.cols, col = i % type.cols;
         const long stored = oracle::format(type.type).is_float
                                ? long(result.outputs[0].real(row, col))
                                : long(result.outputs[0].integer(row, col));
         std::multiset<long> &numbers = written[key(row, col)];
         const auto number = numbers.find(stored);
         ASSERT_NE(number, numbers.end())
            << "element " << row << ", " << col << " is " << stored << ", of none of its owners";
         numbers.erase(number);
      }
      EXPECT_MATRIX(keys, result.outputs[1]);
   });
}

TEST(CmatComponents, ElementFunctions)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      std::vector<Matrix> m = {
         random_matrix(random, type, oracle::Inputs::whole),
         random_matrix(random, type, oracle::Inputs::whole),
      };
      // All elements differ, so that a replaced component is visible.
      for (uint32_t i = 0; i < type.rows * type.cols; i++) {
         const uint32_t row = i / type.cols, col = i % type.cols;
         if (memcmp(m[0].at(row, col), m[1].at(row, col), type.component_bytes()) == 0)
            oracle::encode_number(type.type, 9, m[1].at(row, col));
      }
      const MatrixProgram program = {
         .inputs = {type, type},
         .outputs = {type, type},
         .declarations = "$T0 twice_plus_one($T0 x) { return x + x + $T0(1); }\n",
         .body = R"(   for (int i = 0; i < r0.length(); i++)
      r0[i] = twice_plus_one(m0[i]) - m1[i];
   // A constant index touches one component of each invocation.
   r1 = m0;
   r1[0] = m1[0];
   r1[r1.length() - 1] += $T0(0);
)",
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      uint32_t replaced = 0;
      for (uint32_t i = 0; i < type.rows * type.cols; i++) {
         const uint32_t row = i / type.cols, col = i % type.cols;
         const auto number = [&](const Matrix &matrix) {
            return oracle::format(type.type).is_float ? long(matrix.real(row, col))
                                                      : long(matrix.integer(row, col));
         };
         const long wrapped = 2 * number(m[0]) + 1 - number(m[1]);
         std::byte bits[8];
         oracle::encode_number(type.type, double(wrapped), bits);
         EXPECT_EQ(memcmp(bits, result.outputs[0].at(row, col), type.component_bytes()), 0)
            << "element " << row << ", " << col << " is " << number(result.outputs[0])
            << ", expected " << wrapped;
         const long mixed = number(result.outputs[1]);
         EXPECT_TRUE(mixed == number(m[0]) || mixed == number(m[1]));
         replaced += number(m[0]) != number(m[1]) && mixed == number(m[1]);
      }
      EXPECT_LE(replaced, subgroup_size);
      EXPECT_GE(replaced, 1u);
   });
}

TEST(CmatComponents, DivergentExtract)
{
   // Reading a component is an ordinary operation of each invocation, so divergent control flow may
   // contain it.
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const Matrix m = random_matrix(random, type, oracle::Inputs::whole);
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type},
         .declarations = "",
         .body = R"(   r0 = m0;
   if (gl_SubgroupInvocationID % 3u == 1u) {
      for (int i = 0; i < r0.length(); i++) {
         if (i % 2 == int(gl_SubgroupInvocationID % 2u))
            r0[i] = $T0(9);
         else
            r0[i] += $T0(1);
      }
   }
   // Own elements: how many were changed.
   uint changed = 0;
   for (int i = 0; i < r0.length(); i++)
      changed += r0[i] != m0[i] ? 1 : 0;
   side[gl_SubgroupInvocationID] = changed;
   side[gl_SubgroupSize] = r0.length();
)",
         .subgroup_size = subgroup_size,
         .side_words = subgroup_size + 1,
      };
      const ProgramResult result = run_program(device, program, {m});
      uint32_t changed = 0;
      for (uint32_t i = 0; i < type.rows * type.cols; i++) {
         const uint32_t row = i / type.cols, col = i % type.cols;
         changed +=
            memcmp(m.at(row, col), result.outputs[0].at(row, col), type.component_bytes()) != 0;
      }
      const uint32_t length = result.side[subgroup_size];
      uint32_t counted = 0;
      for (uint32_t lane = 0; lane < subgroup_size; lane++) {
         EXPECT_EQ(result.side[lane], lane % 3 == 1 ? length : 0) << "invocation " << lane;
         counted += result.side[lane];
      }
      if (length * subgroup_size == type.rows * type.cols)
         EXPECT_EQ(changed, counted);
      else // multiple owners: the value of one of them
         EXPECT_LE(changed, counted);
   });
}

TEST(CmatComponents, ArraysOfMatrices)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   // Through the layer, an indexed array becomes bytes in private memory. For 64-bit integers, the
   // driver then generates code for half a minute; f64 tests the same.
   const auto fits = [&](const MatrixType &type, uint32_t subgroup_size) {
      return compiles_each_component(device, type.rows * type.cols / subgroup_size, 16) &&
             (type.component_bytes() < 8 || oracle::format(type.type).is_float);
   };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      const std::vector<Matrix> m = {
         random_matrix(random, type, oracle::Inputs::plain),
         random_matrix(random, type, oracle::Inputs::plain),
         random_matrix(random, type, oracle::Inputs::plain),
      };
      const MatrixProgram program = {
         .inputs = {type, type, type},
         .outputs = {type, type, type, type},
         .declarations = "",
         .body = R"(   $M0 all[3];
   all[0] = m0;
   all[1] = m1;
   all[2] = m2;
   // Rotated by a number of steps that the compiler does not know.
   for (uint step = 0; step < push.x; step++) {
      $M0 first = all[0];
      for (uint i = 0; i < 2; i++)
         all[i] = all[i + 1];
      all[2] = first;
   }
   $M0 pairs[2][2];
   pairs[1][0] = all[push.y];
   pairs[0][1] = pairs[1][0];
   pairs[1] = pairs[0];
   r0 = all[0];
   r1 = all[1];
   r2 = all[2];
   r3 = pairs[1][1];
)",
         .push = {4, 2, 0, 0},
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      EXPECT_EQ(result.outputs[0].data, m[1].data);
      EXPECT_EQ(result.outputs[1].data, m[2].data);
      EXPECT_EQ(result.outputs[2].data, m[0].data);
      EXPECT_EQ(result.outputs[3].data, m[0].data);
   });
}

TEST(CmatComponents, StructsWithMatrices)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const std::vector<Matrix> m = {
         random_matrix(random, type, oracle::Inputs::whole),
         random_matrix(random, type, oracle::Inputs::whole),
      };
      const MatrixProgram program = {
         .inputs = {type, type},
         .outputs = {type, type, type},
         .declarations = R"(
struct Inner { $M0 matrix; uint number; };
struct Outer { uint before; Inner inner[2]; $M0 other; };
Outer swapped(Outer o)
{
   Inner first = o.inner[0];
   o.inner[0] = o.inner[1];
   o.inner[1] = first;
   return o;
}
)",
         .body = R"(   Outer o;
   o.before = 7;
   o.inner[0].matrix = m0;
   o.inner[0].number = 1;
   o.inner[1].matrix = m1;
   o.inner[1].number = 2;
   o.other = m0;
   o.other[0] = m1[0];
   o.other = m0;
   Outer p = swapped(o);
   r0 = p.inner[0].matrix;
   r1 = p.inner[push.x].matrix;
   r2 = p.other * $T0(o.inner[0].number + p.inner[0].number);
   side[gl_LocalInvocationIndex] = p.before * 100 + p.inner[0].number * 10 + p.inner[1].number;
)",
         .push = {1, 0, 0, 0},
         .subgroup_size = subgroup_size,
         .side_words = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      EXPECT_EQ(result.outputs[0].data, m[1].data);
      EXPECT_EQ(result.outputs[1].data, m[0].data);
      for (uint32_t i = 0; i < type.rows * type.cols; i++) {
         const uint32_t row = i / type.cols, col = i % type.cols;
         if (oracle::format(type.type).is_float) {
            EXPECT_EQ(result.outputs[2].real(row, col), 3 * m[0].real(row, col));
         } else {
            EXPECT_TRUE(result.outputs[2].integer(row, col) == 3 * m[0].integer(row, col));
         }
      }
      for (uint32_t word : result.side)
         EXPECT_EQ(word, 721u);
   });
}

} // namespace weft::e2e
