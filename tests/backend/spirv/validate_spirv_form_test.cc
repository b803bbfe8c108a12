// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The list of translated operations matches the translator, and names each operation that it
/// lacks.

#include "backend/spirv/emit/validate_spirv_form.h"

#include "backend/spirv/nir_to_spirv.h"
#include "backend/spirv/words/spirv_text.h"
#include "tests/backend/spirv/compiled.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::Built;

unsigned size_of(nir_alu_type type, unsigned other)
{
   const unsigned size = nir_alu_type_get_type_size(type);
   return size ? size : other;
}

bool is_number(nir_alu_type type, unsigned bits)
{
   switch (nir_alu_type_get_base_type(type)) {
   case nir_type_float:
      return bits == 16 || bits == 32 || bits == 64;
   case nir_type_bool:
      return bits == 1;
   default:
      return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
   }
}

/// One operation on varying values; whether NIR has it at this size.
bool build(Built &built, nir_op op, unsigned bits)
{
   const nir_op_info &info = nir_op_infos[op];
   nir_builder *b = &built.b;
   nir_alu_instr *alu = nir_alu_instr_create(b->shader, op);
   nir_def *id = nir_load_subgroup_invocation(b);
   for (unsigned i = 0; i < info.num_inputs; ++i) {
      const unsigned size = size_of(info.input_types[i], bits);
      if (!is_number(info.input_types[i], size))
         return false;
      nir_def *value = size == 1 ? nir_ine_imm(b, id, 3) : nir_u2uN(b, id, size);
      alu->src[i].src =
         nir_src_for_ssa(nir_replicate(b, value, std::max<unsigned>(info.input_sizes[i], 1)));
      for (unsigned c = 0; c < NIR_MAX_VEC_COMPONENTS; ++c)
         alu->src[i].swizzle[c] = c < info.input_sizes[i] ? c : 0;
   }
   if (!is_number(info.output_type, size_of(info.output_type, bits)))
      return false;
   nir_def_init(&alu->instr, &alu->def, std::max<unsigned>(info.output_size, 1),
                size_of(info.output_type, bits));
   nir_builder_instr_insert(b, &alu->instr);
   return true;
}

TEST(ValidateSpirvForm, ListsTheArithmeticThatIsTranslated)
{
   unsigned listed = 0, refused = 0;
   for (int op = 0; op < nir_num_opcodes; ++op) {
      for (const unsigned bits : {1, 8, 16, 32, 64}) {
         Built built;
         if (!build(built, nir_op(op), bits))
            continue;
         SCOPED_TRACE(testing::Message() << nir_op_infos[op].name << " at " << bits << " bits");
         nir_shader *nir = built.shader.get();
         const Result<bool> form = spirv::validate_spirv_form(nir);
         (form ? listed : refused)++;
         if (!form) {
            EXPECT_TRUE(test::has(form.error().message, nir_op_infos[op].name));
            continue;
         }
         const auto words = spirv::nir_to_spirv(nir, spirv::full_driver(), {{}, "main", {}});
         ASSERT_TRUE(words) << words.error().message;
         const Result<bool> valid = spirv::validate(*words);
         EXPECT_TRUE(valid) << valid.error().message << spirv::disassemble(*words);
      }
   }
   EXPECT_GT(listed, 250u);
   EXPECT_GT(refused, 100u);
}

TEST(ValidateSpirvForm, NamesIntrinsicsThatAreNot)
{
   unsigned refused = 0;
   for (int op = 0; op < nir_num_intrinsics; ++op) {
      if (spirv::group_of(nir_intrinsic_op(op)) != spirv::IntrinsicGroup::unsupported)
         continue;
      Built built;
      nir_intrinsic_instr *instr = nir_intrinsic_instr_create(built.b.shader, nir_intrinsic_op(op));
      EXPECT_EQ(spirv::objection(&instr->instr),
                std::string("the intrinsic ") + nir_intrinsic_infos[op].name + " is not supported");
      ++refused;
   }
   EXPECT_GT(refused, 300u);
}

/// The objection to an instruction after a change of its operands.
template <typename Change>
std::string objection_to(nir_intrinsic_instr *instr, Change change)
{
   EXPECT_EQ(spirv::objection(&instr->instr), "");
   change(instr);
   return spirv::objection(&instr->instr);
}

nir_intrinsic_instr *parent(nir_def *def)
{
   return nir_instr_as_intrinsic(def->parent_instr);
}

TEST(ValidateSpirvForm, LooksAtOperands)
{
   Built built;
   nir_builder *b = &built.b;
   nir_def *value = nir_load_subgroup_invocation(b);

   EXPECT_TRUE(test::has(objection_to(parent(nir_load_push_constant(b, 1, 32, value)),
                                      [](auto *i) { nir_intrinsic_set_base(i, 4); }),
                         "with a base"));
   EXPECT_TRUE(test::has(
      objection_to(parent(_nir_build_reduce(b, value, {._ = 0, .reduction_op = nir_op_iadd})),
                   [](auto *i) { nir_intrinsic_set_reduction_op(i, nir_op_idiv); }),
      "by idiv"));
   EXPECT_TRUE(test::has(objection_to(parent(nir_shuffle(b, value, value)),
                                      [](auto *i) { i->def.num_components = 2; }),
                         "of vectors"));
   EXPECT_TRUE(test::has(objection_to(parent(nir_ballot(b, 4, 32, nir_imm_true(b))),
                                      [](auto *i) { i->def.num_components = 1; }),
                         "of vectors"));
   EXPECT_TRUE(test::has(
      objection_to(parent(_nir_build_ssbo_atomic(b, 32, nir_imm_ivec2(b, 0, 0), value, value,
                                                 {._ = 0, .atomic_op = nir_atomic_op_iadd})),
                   [](auto *i) { nir_intrinsic_set_atomic_op(i, nir_atomic_op_inc_wrap); }),
      "SPIR-V lacks"));
   _nir_build_barrier(b, {._ = 0,
                          .execution_scope = SCOPE_WORKGROUP,
                          .memory_scope = SCOPE_WORKGROUP,
                          .memory_semantics = NIR_MEMORY_ACQ_REL,
                          .memory_modes = nir_var_mem_shared});
   EXPECT_TRUE(test::has(
      objection_to(nir_instr_as_intrinsic(nir_block_last_instr(nir_impl_last_block(b->impl))),
                   [](auto *i) { nir_intrinsic_set_memory_scope(i, SCOPE_SHADER_CALL); }),
      "of another scope"));
}

TEST(ValidateSpirvForm, LooksAtTexturesSources)
{
   Built built;
   nir_variable *image = nir_variable_create(
      built.b.shader, nir_var_uniform,
      glsl_sampler_type(GLSL_SAMPLER_DIM_2D, false, false, GLSL_TYPE_FLOAT), "image");
   nir_deref_instr *deref = nir_build_deref_var(&built.b, image);
   for (int type = 0; type < nir_num_tex_src_types; ++type) {
      nir_tex_instr *tex = nir_tex_instr_create(built.b.shader, 2);
      tex->op = nir_texop_txl;
      tex->src[0] = nir_tex_src_for_ssa(nir_tex_src_texture_deref, &deref->def);
      tex->src[1] = nir_tex_src_for_ssa(nir_tex_src_type(type), nir_imm_float(&built.b, 0));
      const std::string text = spirv::objection(&tex->instr);
      switch (type) {
      case nir_tex_src_coord:
      case nir_tex_src_comparator:
      case nir_tex_src_offset:
      case nir_tex_src_lod:
      case nir_tex_src_ms_index:
      case nir_tex_src_ddx:
      case nir_tex_src_ddy:
      case nir_tex_src_texture_deref:
      case nir_tex_src_sampler_deref:
         EXPECT_EQ(text, "") << type;
         break;
      default:
         EXPECT_TRUE(test::has(text, "is not supported")) << type;
      }
   }
}

} // namespace
} // namespace weft
