// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/matrices/lowering/lower_cmat.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::compile;
using test::count;

/// The shader with its matrices, before any pass of ours.
Shader translate(const std::string &glsl, const Target &target, Consumer consumer = Consumer::cpu)
{
   Result<Shader> shader =
      read_shader(compile(glsl).shader_source(), consumer, target.subgroup_size);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_lower_vars_to_ssa(shader->get());
   nir_copy_prop(shader->get());
   nir_opt_constant_folding(shader->get());
   nir_opt_cse(shader->get());
   nir_opt_dce(shader->get());
   return std::move(*shader);
}

void tidy(nir_shader *nir)
{
   nir_opt_constant_folding(nir);
   nir_copy_prop(nir);
   nir_opt_algebraic(nir);
   nir_opt_constant_folding(nir);
   nir_opt_cse(nir);
   nir_remove_dead_variables(nir, nir_var_function_temp, nullptr);
   nir_opt_dce(nir);
   nir_validate_shader(nir, "the pass under test");
}

std::string lowered(const std::string &glsl, uint32_t subgroup_size, bool native_tiles)
{
   const Target target = test::target(subgroup_size, native_tiles);
   Shader shader = translate(glsl, target);
   opt_cmat_copies(shader.get());
   lower_cmat_inserts(shader.get());
   lower_cmat(shader.get(), target, target.form);
   tidy(shader.get());
   return test::body(shader.get());
}

std::string before_copies(const std::string &glsl)
{
   Shader shader = translate(glsl, test::target(64, true));
   tidy(shader.get());
   return test::body(shader.get());
}

std::string after_copies(const std::string &glsl)
{
   Shader shader = translate(glsl, test::target(64, true));
   opt_cmat_copies(shader.get());
   tidy(shader.get());
   return test::body(shader.get());
}

const std::string types =
   "layout(binding = 0, scalar) buffer Data { float16_t data[]; };\n"
   "layout(binding = 1, scalar) buffer Pairs { f16vec2 pairs[]; };\n"
   "#define MAT(use) coopmat<float16_t, gl_ScopeSubgroup, 8, 8, gl_MatrixUse##use>\n"
   "const int rows = gl_CooperativeMatrixLayoutRowMajor;\n"
   "const int columns = gl_CooperativeMatrixLayoutColumnMajor;\n";

const std::string accumulate = types + R"(
   void main() {
      MAT(Accumulator) sum = MAT(Accumulator)(0);
      MAT(A) a;
      MAT(B) b;
      coopMatLoad(a, data, 0, 8, rows);
      coopMatLoad(b, data, 64, 8, columns);
      sum = coopMatMulAdd(a, b, sum);
      coopMatStore(sum, data, 128, 8, rows);
   })";

const std::string one_component = types + R"(
   void main() {
      MAT(A) m[3];
      m[0] = MAT(A)(1);
      const uint i = gl_WorkGroupID.x;
      m[i][1] += float16_t(1);
      coopMatStore(m[2], data, 0, 8, rows);
   })";

const std::string two_matrices = types + R"(
   void main() {
      MAT(A) m = MAT(A)(1);
      const MAT(A) before = m;
      m[0] = float16_t(2);
      coopMatStore(before, data, 0, 8, rows);
      coopMatStore(m, data, 64, 8, rows);
   })";

const std::string pairs = types + R"(
   void main() {
      MAT(A) m;
      coopMatLoad(m, pairs, 4, 16, columns);
      coopMatStore(m, data, 0, 8, rows);
   })";

const std::string pair_sums = types + R"(
   void main() {
      MAT(Accumulator) m;
      coopMatLoad(m, pairs, 4, 16, columns);
      coopMatStore(m, data, 0, 8, rows);
   })";

const std::string negate = types + R"(
   void main() {
      MAT(A) m;
      coopMatLoad(m, data, 0, 8, rows);
      m = -m;
      coopMatStore(m, data, 0, 8, rows);
   })";

const std::string arithmetic = types + R"(
   void main() {
      MAT(Accumulator) m = MAT(Accumulator)(2);
      m = -m * m;
      m = m * float16_t(3);
      m[1] = m[0];
      data[0] = m[gl_WorkGroupID.x] + float16_t(m.length());
   })";

TEST(OptCmatCopies, TheFrontEndCopies)
{
   EXPECT_EQ(before_copies(accumulate), R"(impl main {
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR> sum
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> tempArg
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> a
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B> tempArg#1
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B> b
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR> cmat_constant
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> cmat_bitcast
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> cmat_ssa
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B> cmat_bitcast#2
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B> cmat_ssa#3
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> cmat_ssa#4
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B> cmat_ssa#5
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR> cmat_ssa#6
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR> cmat_muladd
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR> cmat_ssa#7
32 %0 = deref_var &cmat_constant (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>)
16 %1 = load_const (0x0000 = 0.000000)
@cmat_construct (%0, %1 (0x0))
32 %2 = deref_var &sum (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>)
@cmat_copy (%2, %0)
32 %3 = load_const (0x00000000 = 0.000000)
32x3 %4 = @vulkan_resource_index (%3 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %5 = @load_vulkan_descriptor (%4) (desc_type=SSBO)
32x3 %6 = deref_cast (Data *)%5 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %7 = deref_struct &%6->data (ssbo float16_t[])
32x3 %8 = deref_array &(*%7)[0] (ssbo float16_t)
32 %9 = load_const (0x00000008 = 0.000000)
32 %10 = deref_var &cmat_bitcast (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_load (%10, %8, %9 (0x8)) (matrix_layout=row_major, access=none)
32 %11 = deref_var &tempArg (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_copy (%11, %10)
32 %12 = deref_var &cmat_ssa (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_copy (%12, %11)
32 %13 = deref_var &a (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_copy (%13, %12)
32 %14 = load_const (0x00000040 = 0.000000 = 64)
32x3 %15 = deref_array &(*%7)[64] (ssbo float16_t)
32 %16 = deref_var &cmat_bitcast#2 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
@cmat_load (%16, %15, %9 (0x8)) (matrix_layout=col_major, access=none)
32 %17 = deref_var &tempArg#1 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
@cmat_copy (%17, %16)
32 %18 = deref_var &cmat_ssa#3 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
@cmat_copy (%18, %17)
32 %19 = deref_var &b (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
@cmat_copy (%19, %18)
32 %20 = deref_var &cmat_ssa#4 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_copy (%20, %13)
32 %21 = deref_var &cmat_ssa#5 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
@cmat_copy (%21, %19)
32 %22 = deref_var &cmat_ssa#6 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>)
@cmat_copy (%22, %2)
32 %23 = deref_var &cmat_muladd (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>)
@cmat_muladd (%23, %20, %21, %22) (saturate=0, cmat_signed=0)
@cmat_copy (%2, %23)
32 %24 = deref_var &cmat_ssa#7 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>)
@cmat_copy (%24, %2)
32 %25 = load_const (0x00000080 = 0.000000 = 128)
32x3 %26 = deref_array &(*%7)[128] (ssbo float16_t)
@cmat_store (%26, %24, %9 (0x8)) (matrix_layout=row_major, access=none)
}
)");
}

TEST(OptCmatCopies, RunningSumStaysWhereItIs)
{
   EXPECT_EQ(after_copies(accumulate), R"(impl main {
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR> sum
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> cmat_bitcast
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B> cmat_bitcast#1
16 %0 = load_const (0x0000 = 0.000000)
32 %1 = deref_var &sum (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>)
@cmat_construct (%1, %0 (0x0))
32 %2 = load_const (0x00000000 = 0.000000)
32x3 %3 = @vulkan_resource_index (%2 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %4 = @load_vulkan_descriptor (%3) (desc_type=SSBO)
32x3 %5 = deref_cast (Data *)%4 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %6 = deref_struct &%5->data (ssbo float16_t[])
32x3 %7 = deref_array &(*%6)[0] (ssbo float16_t)
32 %8 = load_const (0x00000008 = 0.000000)
32 %9 = deref_var &cmat_bitcast (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_load (%9, %7, %8 (0x8)) (matrix_layout=row_major, access=none)
32 %10 = load_const (0x00000040 = 0.000000 = 64)
32x3 %11 = deref_array &(*%6)[64] (ssbo float16_t)
32 %12 = deref_var &cmat_bitcast#1 (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
@cmat_load (%12, %11, %8 (0x8)) (matrix_layout=col_major, access=none)
@cmat_muladd (%1, %9, %12, %1) (saturate=0, cmat_signed=0)
32 %13 = load_const (0x00000080 = 0.000000 = 128)
32x3 %14 = deref_array &(*%6)[128] (ssbo float16_t)
@cmat_store (%14, %1, %8 (0x8)) (matrix_layout=row_major, access=none)
}
)");
}

TEST(OptCmatCopies, ComponentsAreReadAndWrittenInPlace)
{
   EXPECT_EQ(after_copies(one_component), R"(impl main {
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>[3] m
32 %0 = deref_var &m (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>[3])
32 %1 = load_const (0x00000000 = 0.000000)
32 %2 = deref_array &(*%0)[0] (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
16 %3 = load_const (0x3c00 = 1.000000)
@cmat_construct (%2, %3 (1.000000))
32 %4 = deref_var &gl_WorkGroupID (system uvec3)
32x3 %5 = @load_deref (%4) (access=none)
32 %6 = mov %5.x
32 %7 = deref_array &(*%0)[%6] (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
32 %8 = load_const (0x00000001 = 0.000000)
16 %9 = @cmat_extract (%7, %8 (0x1))
16 %10 = fadd %9, %3 (1.000000)
@cmat_insert (%7, %10, %7, %8 (0x1))
32 %11 = load_const (0x00000002 = 0.000000)
32 %12 = deref_array &(*%0)[2] (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
32x3 %13 = @vulkan_resource_index (%1 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %14 = @load_vulkan_descriptor (%13) (desc_type=SSBO)
32x3 %15 = deref_cast (Data *)%14 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %16 = deref_struct &%15->data (ssbo float16_t[])
32x3 %17 = deref_array &(*%16)[0] (ssbo float16_t)
32 %18 = load_const (0x00000008 = 0.000000)
@cmat_store (%17, %12, %18 (0x8)) (matrix_layout=row_major, access=none)
}
)");
}

TEST(OptCmatCopies, CopiesThatMatterStay)
{
   EXPECT_EQ(after_copies(two_matrices), R"(impl main {
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> m
decl_var INTERP_MODE_NONE none coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A> before
16 %0 = load_const (0x3c00 = 1.000000 = 15360)
32 %1 = deref_var &m (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_construct (%1, %0 (0x3c00))
32 %2 = deref_var &before (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
@cmat_copy (%2, %1)
32 %3 = load_const (0x00000000 = 0.000000)
16 %4 = load_const (0x4000 = 2.000000 = 16384)
@cmat_insert (%1, %4 (0x4000), %1, %3 (0x0))
32x3 %5 = @vulkan_resource_index (%3 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %6 = @load_vulkan_descriptor (%5) (desc_type=SSBO)
32x3 %7 = deref_cast (Data *)%6 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %8 = deref_struct &%7->data (ssbo float16_t[])
32x3 %9 = deref_array &(*%8)[0] (ssbo float16_t)
32 %10 = load_const (0x00000008 = 0.000000)
@cmat_store (%9, %2, %10 (0x8)) (matrix_layout=row_major, access=none)
32 %11 = load_const (0x00000040 = 0.000000 = 64)
32x3 %12 = deref_array &(*%8)[64] (ssbo float16_t)
@cmat_store (%12, %1, %10 (0x8)) (matrix_layout=row_major, access=none)
}
)");
}

TEST(LowerCmatToTiles, MulAdd)
{
   EXPECT_EQ(lowered(accumulate, 64, true), R"(impl main {
decl_var INTERP_MODE_NONE none float16_t[1] sum
decl_var INTERP_MODE_NONE none float16_t[1] cmat_bitcast
decl_var INTERP_MODE_NONE none float16_t[1] cmat_bitcast#1
16 %0 = load_const (0x0000 = 0.000000)
32 %1 = deref_var &sum (function_temp float16_t[1])
32 %2 = load_const (0x00000000 = 0.000000)
32 %3 = deref_array &(*%1)[0] (function_temp float16_t)
@store_deref (%3, %0 (0.000000)) (wrmask=x, access=none)
32x3 %4 = @vulkan_resource_index (%2 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %5 = @load_vulkan_descriptor (%4) (desc_type=SSBO)
32x3 %6 = deref_cast (Data *)%5 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %7 = deref_struct &%6->data (ssbo float16_t[])
32x3 %8 = deref_array &(*%7)[0] (ssbo float16_t)
32 %9 = deref_var &cmat_bitcast (function_temp float16_t[1])
64 %10 = load_const (0x0000000000000010 = 0.000000 = 16)
@tile_load_weft (%9, %8, %10 (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
32 %11 = load_const (0x00000040 = 0.000000 = 64)
32x3 %12 = deref_array &(*%7)[64] (ssbo float16_t)
32 %13 = deref_var &cmat_bitcast#1 (function_temp float16_t[1])
@tile_load_weft (%13, %12, %10 (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>, matrix_layout=col_major, mem_modes=ssbo, stride_unit=1, access=none)
@tile_muladd_weft (%1, %9, %13, %1) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>, a=coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, b=coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>, c=coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>, saturate=0, cmat_signed=0)
32 %14 = load_const (0x00000080 = 0.000000 = 128)
32x3 %15 = deref_array &(*%7)[128] (ssbo float16_t)
@tile_store_weft (%15, %1, %10 (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
}
)");
}

/// Of a matrix that nobody looks at too.
TEST(LowerCmatToTiles, VolatileAccessesStay)
{
   const auto volatile_tiles = [](const std::string &qualifier) {
      const std::string text =
         lowered("layout(binding = 0) " + qualifier + R"( buffer Data { float16_t data[]; };
         void main() {
            coopmat<float16_t, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> m, n;
            coopMatLoad(n, data, 64, 8, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(m, data, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
            coopMatStore(m, data, 128, 8, gl_CooperativeMatrixLayoutRowMajor);
         })",
                 4, true);
      return std::pair(count(text, "@tile_"), count(text, "access=volatile"));
   };
   EXPECT_EQ(volatile_tiles(""), std::pair(2u, 0u));
   EXPECT_EQ(volatile_tiles("volatile"), std::pair(3u, 3u));
}

TEST(LowerCmatToTiles, StrideCountsPairs)
{
   EXPECT_EQ(lowered(pairs, 32, true), R"(impl main {
decl_var INTERP_MODE_NONE none float16_t[2] cmat_bitcast
32 %0 = load_const (0x00000000 = 0.000000)
32x3 %1 = @vulkan_resource_index (%0 (0x0)) (desc_set=0, binding=1, desc_type=SSBO)
32x3 %2 = @load_vulkan_descriptor (%1) (desc_type=SSBO)
32x3 %3 = deref_cast (Pairs *)%2 (ssbo Pairs) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %4 = deref_struct &%3->pairs (ssbo f16vec2[])
32 %5 = load_const (0x00000004 = 0.000000)
32x3 %6 = deref_array &(*%4)[4] (ssbo f16vec2)
32 %7 = deref_var &cmat_bitcast (function_temp float16_t[2])
64 %8 = load_const (0x0000000000000010 = 0.000000 = 16)
64 %9 = load_const (0x0000000000000040 = 0.000000 = 64)
@tile_load_weft (%7, %6, %9 (0x40)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=col_major, mem_modes=ssbo, stride_unit=1, access=none)
32x3 %10 = @vulkan_resource_index (%0 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %11 = @load_vulkan_descriptor (%10) (desc_type=SSBO)
32x3 %12 = deref_cast (Data *)%11 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %13 = deref_struct &%12->data (ssbo float16_t[])
32x3 %14 = deref_array &(*%13)[0] (ssbo float16_t)
@tile_store_weft (%14, %7, %8 (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
}
)");
}

TEST(LowerCmatToTiles, ManyComponentsMakeALoop)
{
   EXPECT_EQ(lowered(negate, 4, true), R"(impl main {
decl_var INTERP_MODE_NONE none float16_t[16] m
decl_var INTERP_MODE_NONE none uint component
32 %0 = load_const (0x00000000)
32x3 %1 = @vulkan_resource_index (%0 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %2 = @load_vulkan_descriptor (%1) (desc_type=SSBO)
32x3 %3 = deref_cast (Data *)%2 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %4 = deref_struct &%3->data (ssbo float16_t[])
32x3 %5 = deref_array &(*%4)[0] (ssbo float16_t)
32 %6 = deref_var &m (function_temp float16_t[16])
32 %7 = load_const (0x00000001)
64 %8 = load_const (0x0000000000000010 = 0.000000 = 16)
@tile_load_weft (%6, %5, %8 (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
32 %9 = load_const (0x00000010 = 16)
32 %10 = deref_var &component (function_temp uint)
@store_deref (%10, %0 (0x0)) (wrmask=x, access=none)
loop {
32 %11 = @load_deref (%10) (access=none)
32 %12 = deref_array &(*%6)[%11] (function_temp float16_t)
16 %13 = @load_deref (%12) (access=none)
16 %14 = fneg %13
@store_deref (%12, %14) (wrmask=x, access=none)
32 %15 = iadd %11, %7 (0x1)
@store_deref (%10, %15) (wrmask=x, access=none)
1 %16 = uge %15, %9 (0x10)
if %16 {
break
} else {
}
}
@tile_store_weft (%5, %6, %8 (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
}
)");
}

TEST(LowerCmatToRegisters, StrideCountsPairs)
{
   EXPECT_EQ(lowered(pair_sums, 64, false), R"(impl main {
decl_var INTERP_MODE_NONE none float16_t[1] cmat_bitcast
32 %0 = load_const (0x00000000 = 0.000000)
32x3 %1 = @vulkan_resource_index (%0 (0x0)) (desc_set=0, binding=1, desc_type=SSBO)
32x3 %2 = @load_vulkan_descriptor (%1) (desc_type=SSBO)
32x3 %3 = deref_cast (Pairs *)%2 (ssbo Pairs) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %4 = deref_struct &%3->pairs (ssbo f16vec2[])
32 %5 = load_const (0x00000004 = 0.000000)
32x3 %6 = deref_array &(*%4)[4] (ssbo f16vec2)
32 %7 = deref_var &cmat_bitcast (function_temp float16_t[1])
32x3 %8 = deref_cast (float16_t *)%6 (ssbo float16_t) (ptr_stride=2, align_mul=0, align_offset=0)
32 %9 = @load_subgroup_invocation
32 %10 = load_const (0x00000003)
32 %11 = ushr %9, %10 (0x3)
32 %12 = load_const (0x00000007)
32 %13 = iand %9, %12 (0x7)
32 %14 = iand %11, %12 (0x7)
32 %15 = load_const (0x00000005)
32 %16 = ishl %13, %15 (0x5)
32 %17 = iadd %16, %14
32x3 %18 = deref_ptr_as_array &(*%8)[%17] (ssbo float16_t)
32x3 %19 = deref_cast (float16_t *)%18 (ssbo float16_t) (ptr_stride=2, align_mul=2, align_offset=0)
32x3 %20 = deref_ptr_as_array &(*%19)[0] (ssbo float16_t)
16 %21 = @load_deref (%20) (access=none)
32 %22 = deref_array &(*%7)[0] (function_temp float16_t)
@store_deref (%22, %21) (wrmask=x, access=none)
32x3 %23 = @vulkan_resource_index (%0 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %24 = @load_vulkan_descriptor (%23) (desc_type=SSBO)
32x3 %25 = deref_cast (Data *)%24 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %26 = deref_struct &%25->data (ssbo float16_t[])
32x3 %27 = deref_array &(*%26)[0] (ssbo float16_t)
32x3 %28 = deref_cast (float16_t *)%27 (ssbo float16_t) (ptr_stride=2, align_mul=0, align_offset=0)
1 %29 = load_const (true)
if %29 (true) {
32 %30 = ishl %14, %10 (0x3)
32 %31 = iadd %30, %13
32x3 %32 = deref_ptr_as_array &(*%28)[%31] (ssbo float16_t)
32x3 %33 = deref_cast (float16_t *)%32 (ssbo float16_t) (ptr_stride=2, align_mul=2, align_offset=0)
32x3 %34 = deref_ptr_as_array &(*%33)[0] (ssbo float16_t)
16 %35 = @load_deref (%22) (access=none)
@store_deref (%34, %35) (wrmask=x, access=none)
} else {
}
}
)");
}

TEST(LowerCmatToRegisters, Arithmetic)
{
   EXPECT_EQ(lowered(arithmetic, 32, false), R"(impl main {
decl_var INTERP_MODE_NONE none float16_t[2] m
decl_var INTERP_MODE_NONE none float16_t[2] cmat_unary
16 %0 = load_const (0x4000 = 2.000000)
32 %1 = deref_var &m (function_temp float16_t[2])
32 %2 = load_const (0x00000000 = 0.000000)
32 %3 = deref_array &(*%1)[0] (function_temp float16_t)
@store_deref (%3, %0 (2.000000)) (wrmask=x, access=none)
32 %4 = load_const (0x00000001 = 0.000000)
32 %5 = deref_array &(*%1)[1] (function_temp float16_t)
@store_deref (%5, %0 (2.000000)) (wrmask=x, access=none)
32 %6 = deref_var &cmat_unary (function_temp float16_t[2])
16 %7 = @load_deref (%3) (access=none)
16 %8 = fneg %7
32 %9 = deref_array &(*%6)[0] (function_temp float16_t)
@store_deref (%9, %8) (wrmask=x, access=none)
16 %10 = @load_deref (%5) (access=none)
16 %11 = fneg %10
32 %12 = deref_array &(*%6)[1] (function_temp float16_t)
@store_deref (%12, %11) (wrmask=x, access=none)
16 %13 = @load_deref (%9) (access=none)
16 %14 = @load_deref (%3) (access=none)
16 %15 = fmul %13, %14
@store_deref (%3, %15) (wrmask=x, access=none)
16 %16 = @load_deref (%12) (access=none)
16 %17 = @load_deref (%5) (access=none)
16 %18 = fmul %16, %17
@store_deref (%5, %18) (wrmask=x, access=none)
16 %19 = load_const (0x4200 = 3.000000)
16 %20 = @load_deref (%3) (access=none)
16 %21 = fmul %20, %19 (3.000000)
@store_deref (%3, %21) (wrmask=x, access=none)
16 %22 = @load_deref (%5) (access=none)
16 %23 = fmul %22, %19 (3.000000)
@store_deref (%5, %23) (wrmask=x, access=none)
16 %24 = @load_deref (%3) (access=none)
@store_deref (%5, %24) (wrmask=x, access=none)
32 %25 = deref_var &gl_WorkGroupID (system uvec3)
32x3 %26 = @load_deref (%25) (access=none)
32 %27 = mov %26.x
32 %28 = deref_array &(*%1)[%27] (function_temp float16_t)
16 %29 = @load_deref (%28) (access=none)
16 %30 = fadd %29, %0 (2.000000)
32x3 %31 = @vulkan_resource_index (%2 (0x0)) (desc_set=0, binding=0, desc_type=SSBO)
32x3 %32 = @load_vulkan_descriptor (%31) (desc_type=SSBO)
32x3 %33 = deref_cast (Data *)%32 (ssbo Data) (ptr_stride=0, align_mul=16, align_offset=0)
32x3 %34 = deref_struct &%33->data (ssbo float16_t[])
32x3 %35 = deref_array &(*%34)[0] (ssbo float16_t)
@store_deref (%35, %30) (wrmask=x, access=none)
}
)");
}

/// Every product of A's rows and B's columns that an invocation holds, and no word between
/// invocations: of 8×8×8 with a grid of 2×4, 4×2 elements of sums of 8.
TEST(LowerCmatToRegisters, MulAddNeedsNoOtherInvocation)
{
   const std::string narrow = lowered(accumulate, 8, false);
   EXPECT_EQ(count(narrow, "fmul"), 64u);
   EXPECT_EQ(count(narrow, "f2f32"), 8u * 4 + 8 * 2 + 8);
   const std::string wide = lowered(accumulate, 64, false);
   EXPECT_EQ(count(wide, "fmul"), 8u);
   for (const char *word : {"@shuffle", "@read_invocation", "@barrier"})
      EXPECT_EQ(count(narrow + wide, word), 0u) << word;
}

/// A is held by the four invocations of a row of the grid; one of them stores it.  Each holds four
/// rows, which begin at multiples of 16 bytes.
TEST(LowerCmatToRegisters, OneHolderStores)
{
   const std::string text = lowered(negate, 8, false);
   EXPECT_EQ(count(text, "if "), 1u);
   EXPECT_EQ(count(text, "= ieq "), 1u);
   EXPECT_EQ(count(text, "(ssbo float16_t) (ptr_stride=2, align_mul=16, align_offset=0)"), 4u);
}

/// With robust access, accesses to storage buffers come in two ways: for blocks that lie inside as
/// ever, element by element in a loop for the others.
TEST(LowerCmatToRegisters, RobustAccess)
{
   const auto robust = [](const std::string &glsl, bool enabled) {
      Target target = test::target(32, false);
      target.robust_access = enabled;
      Shader shader = translate(glsl, target);
      opt_cmat_copies(shader.get());
      lower_cmat_inserts(shader.get());
      lower_cmat(shader.get(), target, target.form);
      tidy(shader.get());
      return test::body(shader.get());
   };
   const std::string text = robust(accumulate, true);
   EXPECT_EQ(count(text, "@get_ssbo_size"), 1u) << text; // of one buffer
   EXPECT_EQ(count(text, "loop {"), 3u);
   EXPECT_EQ(count(text, " edge"), 3u);
   const std::string plain = robust(accumulate, false);
   EXPECT_EQ(count(plain, "@get_ssbo_size"), 0u);
   EXPECT_EQ(count(plain, "loop {"), 0u);
   for (const char *pointer : {"(ssbo float16_t) (ptr_stride=2, align_mul=16",
                               "(ssbo float16_t) (ptr_stride=2, align_mul=8"})
      EXPECT_EQ(count(text, pointer), count(plain, pointer));

   const std::string shared = robust(types + R"(
      shared float16_t tile[64];
      layout(buffer_reference, scalar) buffer Data16 { float16_t data[]; };
      layout(push_constant) uniform Push { Data16 pointer; };
      void main() {
         MAT(A) m;
         coopMatLoad(m, tile, 0, 8, rows);
         coopMatStore(m, pointer.data, 0, 8, rows);
      })",
                                     true);
   EXPECT_EQ(count(shared, "@get_ssbo_size"), 0u);
   EXPECT_EQ(count(shared, "loop {"), 0u);
}

/// 8-bit integers of a 16×16×32 multiplication in a subgroup of 32: 4×2 sums of 32 products each.
std::string multiplied(bool dots, const std::string &a, const std::string &b, const std::string &c,
                       bool saturate)
{
   Target target = test::target(32, false);
   target.dot_product_4x8 = dots;
   const auto matrix = [](const std::string &type, int rows, int cols, const std::string &use) {
      return "coopmat<" + type + ", gl_ScopeSubgroup, " + std::to_string(rows) + ", " +
             std::to_string(cols) + ", gl_MatrixUse" + use + "> ";
   };
   Shader shader =
      translate("layout(binding = 0, scalar) buffer Data { " + c + " data[]; };\n" +
                   "layout(binding = 1, scalar) buffer A { " + a + " a[]; };\n" +
                   "layout(binding = 2, scalar) buffer B { " + b + " b[]; };\n" + "void main() {" +
                   matrix(a, 16, 32, "A") + "ma; " + matrix(b, 32, 16, "B") + "mb; " +
                   matrix(c, 16, 16, "Accumulator") + R"(sum;
      coopMatLoad(sum, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(ma, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(mb, b, 0, 32, gl_CooperativeMatrixLayoutColumnMajor);
      sum = coopMatMulAdd(ma, mb, sum)" +
                   (saturate ? ", gl_MatrixOperandsSaturatingAccumulation" : "") +
                   R"();
      coopMatStore(sum, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   })",
                target, Consumer::driver);
   opt_cmat_copies(shader.get());
   lower_cmat_inserts(shader.get());
   lower_cmat(shader.get(), target, target.form);
   tidy(shader.get());
   return test::body(shader.get());
}

TEST(LowerCmatToRegisters, DotProducts)
{
   const auto s8 = "int8_t", u8 = "uint8_t", s32 = "int", u32 = "uint";
   const std::string both_signed = multiplied(true, s8, s8, s32, false);
   EXPECT_EQ(count(both_signed, "= sdot_4x8_iadd"), 8u * 32 / 4);
   EXPECT_EQ(count(both_signed, "= pack_32_4x8"), (4u + 2) * 32 / 4);
   EXPECT_EQ(count(both_signed, "= imul"), 0u);
   EXPECT_EQ(count(multiplied(true, u8, u8, u32, false), "= udot_4x8_uadd"), 64u);
   EXPECT_EQ(count(multiplied(true, s8, u8, s32, false), "= sudot_4x8_iadd"), 64u);
   EXPECT_EQ(count(multiplied(true, u8, s8, s32, false), "= sudot_4x8_iadd"), 64u);

   /* One saturating addition for each sum (which nir_opt_algebraic takes apart for SPIR-V). */
   const std::string saturating = multiplied(true, s8, s8, s32, true);
   EXPECT_EQ(count(saturating, "= sdot_4x8_iadd"), 64u);
   EXPECT_GT(count(saturating, "= bcsel"), 0u);

   const std::string without = multiplied(false, s8, s8, s32, false);
   EXPECT_EQ(count(without, "dot_4x8"), 0u);
   EXPECT_EQ(count(without, "= imul"), 8u * 32);
}

/// The signed factor of a mixed product comes first, whichever matrix has it.
TEST(LowerCmatToRegisters, MixedDotProducts)
{
   const std::string first = multiplied(true, "int8_t", "uint8_t", "int", false),
                     second = multiplied(true, "uint8_t", "int8_t", "int", false);
   const auto factors = [](const std::string &text) {
      const size_t at = text.find("= sudot_4x8_iadd ") + 17;
      return text.substr(at, text.find(", %", text.find(", %", at) + 1) - at);
   };
   const std::string a_b = factors(first), b_a = factors(second);
   const size_t comma = a_b.find(", ");
   EXPECT_EQ(a_b.substr(comma + 2) + ", " + a_b.substr(0, comma), b_a);
}

/// Nothing joins narrow accesses to shared memory later.
TEST(LowerCmatToRegisters, SharedMemoryIsLoadedInWords)
{
   const std::string text = lowered(types + R"(
      shared uvec4 tile[8];
      void main() {
         MAT(A) m;
         coopMatLoad(m, tile, 0, 1, rows);
         coopMatStore(m, data, 0, 8, rows);
      })",
                                    32, false);
   EXPECT_EQ(count(text, "(shared uint) (ptr_stride=4, align_mul=16"), 2u) << text;
   EXPECT_EQ(count(text, "= unpack_32_2x16"), 2u * 8 / 2);

   /* Two rows of eight columns: each column is a word. */
   const std::string across = lowered(types + R"(
      shared float16_t tile[64];
      void main() {
         MAT(A) m;
         coopMatLoad(m, tile, 0, 8, columns);
         coopMatStore(m, data, 0, 8, rows);
      })",
                                      32, false);
   EXPECT_EQ(count(across, "= unpack_32_2x16"), 8u);
   EXPECT_EQ(count(lowered(types + R"(
      shared float16_t tile[64];
      void main() {
         MAT(B) m;
         coopMatLoad(m, tile, 0, 8, rows);
         coopMatStore(m, data, 0, 8, rows);
      })",
                           64, false),
                   "= unpack_32_2x16"),
             0u); // one column of eight
}

/// Code for many multiplications is loops, for one of the same size it is not.
TEST(LowerCmat, ProductsOfAShaderHaveABudget)
{
   constexpr unsigned small = 8 * 8 * 8 / 8, large = 16 * 16 * 16 / 8, budget = 32 * 1024;
   const auto products = [](unsigned small_muladds, unsigned large_muladds) {
      const auto type = [](unsigned size, const std::string &use) {
         const std::string n = std::to_string(size);
         return "coopmat<float16_t, gl_ScopeSubgroup, " + n + ", " + n + ", gl_MatrixUse" + use +
                "> ";
      };
      std::string glsl = types + "void main() {";
      for (unsigned size : {8, 16}) {
         const std::string n = std::to_string(size);
         glsl += type(size, "A") + "a" + n + "; " + type(size, "B") + "b" + n + "; " +
                 type(size, "Accumulator") + "c" + n + "; coopMatLoad(c" + n +
                 ", data, 0, 8, rows);\n";
         for (unsigned i = 0; i < (size == 8 ? small_muladds : large_muladds); ++i)
            glsl += "coopMatLoad(a" + n + ", data, " + std::to_string(i * 64) +
                    ", 16, rows); coopMatLoad(b" + n + ", data, 64, 16, columns); c" + n +
                    " = coopMatMulAdd(a" + n + ", b" + n + ", c" + n + ");\n";
         glsl += "coopMatStore(c" + n + ", data, 1024, 16, rows);\n";
      }
      const Target target = test::target(8, false);
      Shader shader = translate(glsl + "}", target, Consumer::driver);
      opt_cmat_copies(shader.get());
      lower_cmat(shader.get(), target, target.form);
      nir_validate_shader(shader.get(), "lower_cmat");
      return count(test::body(shader.get()), " ffma ");
   };
   EXPECT_EQ(products(10, 2), 10 * small + 2 * large);
   /* Each loop has a few products. */
   const unsigned loops = products(0, budget / large + 1);
   EXPECT_GT(loops, 0u);
   EXPECT_LT(loops, budget / 16);
   /* The small ones, and two loops. */
   const unsigned both = products(10, budget / large);
   EXPECT_GE(both, 10 * small);
   EXPECT_LT(both, budget / 16);
}

} // namespace
} // namespace weft
