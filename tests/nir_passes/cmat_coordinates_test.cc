// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares the builders' results for concrete invocations and components with the maps themselves.

#include "nir_passes/matrices/cmat_coordinates.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>
#include <set>

namespace weft {
namespace {

glsl_cmat_description matrix(uint32_t rows, uint32_t cols, glsl_cmat_use use)
{
   glsl_cmat_description desc = {};
   desc.element_type = GLSL_TYPE_FLOAT16;
   desc.scope = SCOPE_SUBGROUP;
   desc.rows = rows;
   desc.cols = cols;
   desc.use = use;
   return desc;
}

/// Stores pairs of numbers, and returns their values after constant folding.
class Folded : public test::Built {
public:
   void add(nir_def *x, nir_def *y)
   {
      nir_store_shared(&b, nir_vec2(&b, x, y), nir_imm_int(&b, 0));
   }

   std::vector<std::pair<uint32_t, uint32_t>> pairs()
   {
      nir_opt_constant_folding(b.shader);
      nir_copy_prop(b.shader);
      nir_opt_constant_folding(b.shader);
      std::vector<std::pair<uint32_t, uint32_t>> list;
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            const nir_src &pair = nir_instr_as_intrinsic(instr)->src[0];
            EXPECT_TRUE(nir_src_is_const(pair));
            list.emplace_back(nir_src_comp_as_uint(pair, 0), nir_src_comp_as_uint(pair, 1));
         }
      }
      return list;
   }

   /// The running invocation's number becomes this one's.
   void set_invocation(uint32_t number)
   {
      const auto replace = [](nir_builder *b, nir_intrinsic_instr *instr, void *number) {
         if (instr->intrinsic != nir_intrinsic_load_subgroup_invocation)
            return false;
         b->cursor = nir_before_instr(&instr->instr);
         nir_def_replace(&instr->def, nir_imm_int(b, int(*static_cast<uint32_t *>(number))));
         return true;
      };
      nir_shader_intrinsics_pass(b.shader, replace, nir_metadata_control_flow, &number);
   }
};

using Parameters = std::tuple<uint32_t, uint32_t, glsl_cmat_use, uint32_t>;

class Coordinates : public testing::TestWithParam<Parameters> {
protected:
   const uint32_t rows = std::get<0>(GetParam()), cols = std::get<1>(GetParam());
   const glsl_cmat_description desc = matrix(rows, cols, std::get<2>(GetParam()));
   const uint32_t W = std::get<3>(GetParam());
};

TEST_P(Coordinates, AreTheMaps)
{
   for (const cmat::Map map : {cmat::Map::dense, cmat::Map::registers}) {
      Folded shader;
      nir_builder *b = &shader.b;
      const uint32_t length = cmat::length(map, desc, W);
      for (uint32_t invocation = 0; invocation < W; ++invocation) {
         for (uint32_t component = 0; component < length; ++component) {
            const auto [row, col] = cmat::coordinates(
               b, map, desc, W, nir_imm_int(b, int(invocation)), nir_imm_int(b, int(component)));
            shader.add(row, col);
         }
      }
      const auto pairs = shader.pairs();
      ASSERT_EQ(pairs.size(), W * length);
      const ElementMap dense = cmat::element_map(desc, W);
      const RegisterMap registers = cmat::register_map(desc, W);
      for (uint32_t i = 0; i < pairs.size(); ++i) {
         const uint32_t invocation = i / length, component = i % length;
         if (map == cmat::Map::dense) {
            const ElementMap::Element e = dense.element(invocation, component);
            EXPECT_EQ(pairs[i], std::pair(e.row, e.col)) << invocation << "." << component;
            if (dense.contains(e)) {
               EXPECT_EQ(dense.owner(e), (ElementMap::Owner{invocation, component}));
            }
         } else {
            const RegisterMap::Element e = registers.element(invocation, component);
            EXPECT_EQ(pairs[i], std::pair(e.row, e.col)) << invocation << "." << component;
         }
      }
   }
}

TEST_P(Coordinates, OfTheRunningInvocation)
{
   const RegisterMap map = cmat::register_map(desc, W);
   for (uint32_t invocation = 0; invocation < W; ++invocation) {
      Folded shader;
      nir_builder *b = &shader.b;
      const auto [row, col] = cmat::origin(b, map);
      shader.add(row, col);
      const auto last =
         cmat::coordinates(b, cmat::Map::registers, desc, W, nir_imm_int(b, int(map.length() - 1)));
      shader.add(last.row, last.col);
      shader.add(nir_b2i32(b, cmat::stores(b, map)), nir_imm_int(b, 0));
      shader.set_invocation(invocation);
      const auto pairs = shader.pairs();
      ASSERT_EQ(pairs.size(), 3u);
      const auto first = map.element(invocation, 0u),
                 end = map.element(invocation, map.length() - 1);
      EXPECT_EQ(pairs[0], std::pair(first.row, first.col));
      EXPECT_EQ(pairs[1], std::pair(end.row, end.col));
      EXPECT_EQ(pairs[2].first, uint32_t(map.stores(invocation)));
   }
}

/// Every element is in one of a subgroup's runs. With registers, every element of an invocation is
/// in one of its runs. A run's elements follow from its beginning and its step.
TEST_P(Coordinates, RunsAreAllElements)
{
   const uint32_t length = 2u << (rows + cols) / 8 % 3;
   for (const cmat::Map map : {cmat::Map::dense, cmat::Map::registers}) {
      for (const bool in_columns : {false, true}) {
         const cmat::Runs runs = {length, in_columns};
         const uint32_t count = cmat::run_count(map, desc, W, runs),
                        step = cmat::run_step(map, desc, W, runs);
         const RegisterMap registers = cmat::register_map(desc, W);
         EXPECT_TRUE(map == cmat::Map::dense
                        ? (count == 0) == ((in_columns ? rows : cols) % length != 0)
                        : count == 0 || count * length == registers.length());
         std::vector<uint32_t> seen(rows * cols);
         for (uint32_t invocation = 0; invocation < W; ++invocation) {
            Folded shader;
            for (uint32_t i = 0; i < count; ++i) {
               nir_def *number = nir_imm_int(&shader.b, int(i));
               const auto [row, col] = cmat::run_coordinates(&shader.b, map, desc, W, runs, number);
               shader.add(row, col);
               shader.add(cmat::run_begin(&shader.b, map, desc, W, runs, number), row);
            }
            shader.set_invocation(invocation);
            const auto pairs = shader.pairs();
            ASSERT_EQ(pairs.size(), 2 * count);
            std::set<uint32_t> own; // components, of registers
            for (uint32_t i = 0; i < count; ++i) {
               const auto [row, col] = pairs[2 * i];
               for (uint32_t k = 0; k < length; ++k)
                  own.insert(pairs[2 * i + 1].first + k * step);
               if (row >= rows) {
                  EXPECT_TRUE(cmat::has_runs_outside(map, desc, W, runs));
                  continue;
               }
               for (uint32_t k = 0; k < length; ++k) {
                  const RegisterMap::Element e = {row + (in_columns ? k : 0),
                                                  col + (in_columns ? 0 : k)};
                  const uint32_t at = pairs[2 * i + 1].first + k * step;
                  EXPECT_TRUE(map == cmat::Map::dense ? at == e.row * cols + e.col
                                                      : registers.element(invocation, at) == e);
                  ASSERT_LT(e.row * cols + e.col, seen.size());
                  seen[e.row * cols + e.col]++;
               }
            }
            if (map == cmat::Map::registers && count > 0) {
               EXPECT_EQ(own.size(), registers.length());
               EXPECT_EQ(*own.rbegin(), registers.length() - 1);
            }
         }
         if (map == cmat::Map::dense && count > 0) {
            EXPECT_EQ(seen, std::vector<uint32_t>(rows * cols, 1));
         }
      }
   }
}

const auto uses = testing::Values(GLSL_CMAT_USE_A, GLSL_CMAT_USE_B, GLSL_CMAT_USE_ACCUMULATOR);

INSTANTIATE_TEST_SUITE_P(Shapes, Coordinates,
                         testing::Combine(testing::Values(8, 16, 32), testing::Values(8, 16, 32),
                                          uses, testing::Values(8, 16, 32, 64)));
INSTANTIATE_TEST_SUITE_P(Uneven, Coordinates,
                         testing::Combine(testing::Values(3, 6, 20), testing::Values(5, 12), uses,
                                          testing::Values(4, 32, 128)));

} // namespace
} // namespace weft
