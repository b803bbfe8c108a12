// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_decode_pointers.h"

#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/tensors/lower_cmat_tensor_access.h"
#include "nir_passes/stages.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::Source;

/// A load of a matrix from a storage buffer through a decode function with this body.
Result<Shader> read(const std::string &body)
{
   const Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Block { uint16_t d; uint8_t q[16]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Words { uint16_t w[9]; };
layout(constant_id = 0) const bool as_number = false;
layout(set = 0, binding = 0) buffer Memory { uint data[]; } memory;
layout(set = 0, binding = 1) buffer Result { float data[]; } result;
float decode(const in Block b, const in uint block[2], const in uint in_block[2])
{
)" + body + R"(
}
void main()
{
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
   tensorLayoutNV<2> t = createTensorLayoutNV(2);
   t = setTensorLayoutBlockSizeNV(t, 1, 16);
   t = setTensorLayoutDimensionNV(t, 16, 16);
   coopMatLoadTensorNV(m, memory.data, 0, t, decode);
   coopMatStore(m, result.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   return read_shader(source.shader_source(), Consumer::cpu, 32);
}

/// The same in the form that the pass takes.
Result<Shader> read_inlined(const std::string &body)
{
   Result<Shader> shader = read(body);
   if (shader) {
      nir_shader *nir = shader->get();
      lower_cmat_tensor_access(nir, {});
      nir_inline_functions(nir);
      nir_copy_prop(nir);
      nir_opt_deref(nir);
      remove_unused_functions(nir);
      nir_lower_vars_to_ssa(nir);
      nir_copy_prop(nir);
      nir_opt_dce(nir);
   }
   return shader;
}

unsigned count_pointers(nir_shader *nir, nir_variable_mode mode)
{
   unsigned count = 0;
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         count += instr->type == nir_instr_type_deref &&
                  nir_deref_mode_may_be(nir_instr_as_deref(instr), mode);
      }
   }
   return count;
}

TEST(LowerDecodePointers, ReadsTheStorageBuffer)
{
   for (const char *body : {
           "return float(b.d) * float(b.q[in_block[1]]);",
           "Words words = Words(b);\n return float(words.w[1 + in_block[1] / 2u]);",
           "float sum = 0;\n for (uint i = 0; i < 16; i++) sum += float(b.q[i]);\n return sum;",
        }) {
      SCOPED_TRACE(body);
      TypeTable types;
      const Result<Shader> shader = read_inlined(body);
      ASSERT_TRUE(shader) << shader.error().message;
      nir_shader *nir = shader->get();
      EXPECT_GT(count_pointers(nir, nir_var_mem_global), 0u);
      const Result<bool> progress = lower_decode_pointers(nir);
      ASSERT_TRUE(progress) << progress.error().message;
      EXPECT_TRUE(*progress);
      nir_validate_shader(nir, "lower_decode_pointers");
      EXPECT_EQ(count_pointers(nir, nir_var_mem_global), 0u);
      const Result<bool> again = lower_decode_pointers(nir);
      EXPECT_TRUE(again && !*again);
   }
}

TEST(LowerDecodePointers, RefusesPointersThatAreNumbers)
{
   TypeTable types;
   const Result<Shader> shader = read_inlined("return float(uint(uint64_t(b)) & 255u);");
   ASSERT_TRUE(shader) << shader.error().message;
   const Result<bool> progress = lower_decode_pointers(shader->get());
   ASSERT_FALSE(progress);
   EXPECT_NE(progress.error().message.find("something else with its pointer"), std::string::npos);
}

/// llama.cpp's attention has an offset to a decode function's block that depends on a
/// specialization constant.
TEST(LowerDecodePointers, IgnoresCodeThatConstantsDisable)
{
   TypeTable types;
   const Result<Shader> shader =
      read("Block c = b;\n if (as_number) c = Block(uint64_t(b) + 2ul);\n return float(c.d);");
   ASSERT_TRUE(shader) << shader.error().message;
   PassRunner run(shader->get(), {});
   lower_matrices(run, {.subgroup_size = 32});
   EXPECT_FALSE(run.refused()) << run.error().message;
}

} // namespace
} // namespace weft
