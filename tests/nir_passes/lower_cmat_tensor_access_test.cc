// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The tensor loads that become cmat_load, and the tensor loads that become loads of elements.
/// tests/e2e/cmat_tensor_test.cc compares their results.

#include "nir_passes/matrices/tensors/lower_cmat_tensor_access.h"

#include "nir_passes/matrices/tensors/opt_cmat_tensor_access.h"
#include "nir_passes/stages.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// A load of 16 x 16 halves of a tensor with 64 in a row, from its `first` element on, in the form
/// that lower_matrices() has before opt_cmat_tensor_access.
Result<Shader> read(const std::string &first, const std::string &stride = "64")
{
   const test::Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_EXT_buffer_reference : enable
layout(buffer_reference, std430) buffer Halves { float16_t data[]; };
layout(set = 0, binding = 0) buffer Memory { float16_t data[]; } memory;
layout(set = 0, binding = 1) buffer Behind { float16_t one, data[]; } behind;
layout(set = 0, binding = 2) buffer Result { float16_t data[]; } result;
layout(push_constant) uniform Push { Halves halves; uint number; };
void main()
{
   tensorLayoutNV<2> t = createTensorLayoutNV(2);
   t = setTensorLayoutDimensionNV(t, 64, 64);
   t = setTensorLayoutStrideNV(t, )" + stride +
                                             R"(, 1);
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
   coopMatLoadTensorNV(a, )" + first + R"(, sliceTensorLayoutNV(t, 0, 16, 16, 16));
   coopMatStore(a, result.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 32);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_lower_vars_to_ssa(shader->get());
   nir_copy_prop(shader->get());
   nir_opt_constant_folding(shader->get());
   nir_opt_dce(shader->get());
   return shader;
}

struct Paths {
   bool whole, by_elements;
   bool operator==(const Paths &) const = default;
};

void PrintTo(const Paths &p, std::ostream *stream)
{
   *stream << (p.whole ? "whole " : "") << (p.by_elements ? "by elements" : "");
}

constexpr Paths whole = {true, false}, by_elements = {false, true}, either = {true, true};

/// The paths that remain once conditions are folded. opt_cmat_tensor_access expands exactly the
/// loads that are whole in any case.
Paths paths_to(const std::string &first, bool is_aligned = true, const std::string &stride = "64")
{
   const Result<Shader> shader = read(first, stride);
   nir_shader *nir = shader->get();
   EXPECT_EQ(test::count(test::body(nir), "@cmat_load_tensor_weft "), 1u);
   const WholeOptions options = {.is_aligned = is_aligned};
   const bool is_known = opt_cmat_tensor_access(nir, options);
   nir_validate_shader(nir, "opt_cmat_tensor_access");
   EXPECT_EQ(test::count(test::body(nir), "@cmat_load_tensor_weft "), is_known ? 0u : 1u);
   EXPECT_EQ(test::count(test::body(nir), "@cmat_load "), is_known ? 1u : 0u);
   EXPECT_EQ(lower_cmat_tensor_access(nir, options), !is_known);
   nir_validate_shader(nir, "lower_cmat_tensor_access");
   nir_lower_vars_to_ssa(nir);
   bool progress = true;
   while (progress) {
      progress = nir_copy_prop(nir);
      progress |= nir_opt_algebraic(nir);
      progress |= nir_opt_constant_folding(nir);
      progress |= nir_opt_dead_cf(nir);
      progress |= nir_opt_dce(nir);
   }
   const std::string text = test::body(nir);
   const Paths paths = {test::count(text, "@cmat_load ") > 0,
                        test::count(text, "@cmat_insert ") > 0};
   EXPECT_EQ(is_known, paths == whole);
   return paths;
}

TEST(LowerCmatTensorAccess, SlicesAreWhole)
{
   EXPECT_EQ(paths_to("memory.data, 0"), whole);
}

/// VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986: 16 bytes.
TEST(LowerCmatTensorAccess, WholeLoadsAreAligned)
{
   EXPECT_EQ(paths_to("memory.data, 8"), whole);
   EXPECT_EQ(paths_to("memory.data, 4"), by_elements);
   EXPECT_EQ(paths_to("memory.data, 1"), by_elements);
   EXPECT_EQ(paths_to("memory.data, number"), either);
   EXPECT_EQ(paths_to("behind.data, 0"), by_elements);
   EXPECT_EQ(paths_to("halves.data, 0"), either);
   EXPECT_EQ(paths_to("memory.data, 0", true, "60"), by_elements);
   EXPECT_EQ(paths_to("memory.data, 0", true, "number"), either);
}

TEST(LowerCmatTensorAccess, PrivateTilesNeedNoAlignment)
{
   for (const char *first : {"memory.data, 1", "memory.data, number", "halves.data, 0"})
      EXPECT_EQ(paths_to(first, false), whole) << first;
   EXPECT_EQ(paths_to("memory.data, 0", false, "60"), whole);
}

} // namespace
} // namespace weft
