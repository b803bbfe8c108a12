// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/opt_cmat_copies.h"

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/tensors/opt_cmat_tensor_access.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

/// Whether the tensor load of the shader reads the matrix that it writes.
bool reads_object(nir_shader *nir)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_instr *load = nir_instr_as_intrinsic(instr);
         if (!is_tensor_access(load))
            continue;
         nir_deref_instr *object = nir_src_as_deref(load->src[1]);
         return object && object->var == nir_src_as_deref(load->src[0])->var;
      }
   }
   return false;
}

struct Optimized {
   std::string text;
   bool reads_object;
};

/// A loop over loads through a layout whose numbers are not known, in the form in which
/// lower_matrices() has it there.
Optimized optimized(const std::string &load)
{
   const test::Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
layout(set = 0, binding = 0) buffer Memory { float16_t data[]; } memory;
layout(set = 0, binding = 1) buffer Result { float data[]; } result;
layout(push_constant) uniform Push { uint stride, count, clip; };
void main()
{
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
   coopMatLoad(b, memory.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   tensorLayoutNV<2> t = createTensorLayoutNV(2);
   t = setTensorLayoutDimensionNV(t, count, count);
   t = setTensorLayoutStrideNV(t, stride, 1);
   tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
   for (uint k = 0; k < count; k += 16) {
      tensorLayoutNV<2> part = sliceTensorLayoutNV(t, 0, 16, k, 16);
      )" + load + R"(
      sum = coopMatMulAdd(a, b, sum);
   }
   coopMatStore(sum, result.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   const Result<Shader> shader =
      read_shader(source.shader_source(), Consumer::cpu, 32, {}, nullptr);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return {};
   }
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   nir_copy_prop(nir);
   nir_opt_constant_folding(nir);
   nir_opt_dead_cf(nir);
   nir_opt_dce(nir);
   opt_cmat_tensor_access(nir, {});
   opt_cmat_copies(nir);
   nir_validate_shader(nir, "opt_cmat_copies");
   nir_opt_dce(nir);
   return Optimized{test::body(nir), reads_object(nir)};
}

TEST(OptCmatCopies, TensorLoadsWriteWhereTheirResultGoes)
{
   for (const char *load : {"coopMatLoadTensorNV(a, memory.data, 0, part);",
                            "coopMatLoadTensorNV(a, memory.data, 0, part, turned);"}) {
      const auto [text, reads_object] = optimized(load);
      EXPECT_EQ(test::count(text, "@cmat_copy"), 0u) << load << "\n" << text;
      EXPECT_EQ(test::count(text, "@cmat_load "), 1u) << load << "\n" << text;
      EXPECT_EQ(test::count(text, "@cmat_load_tensor_weft "), 1u) << load << "\n" << text;
      EXPECT_FALSE(reads_object) << load << "\n" << text;
   }
}

/// A load reads the elements that a clip leaves out, from the matrix itself.
TEST(OptCmatCopies, ClippedElementsAreKeptInPlace)
{
   const auto [text, reads_object] = optimized("coopMatLoadTensorNV(a, memory.data, 0, part, "
                                               "setTensorViewClipNV(turned, 0, clip, 0, 16));");
   EXPECT_EQ(test::count(text, "@cmat_copy"), 0u) << text;
   EXPECT_TRUE(reads_object) << text;
}

/// The result of a per-element operation has no reader: the operation stays if its function has
/// effects.
TEST(OptCmatCopies, CallsWithEffectsStay)
{
   for (const bool stores : {false, true}) {
      const std::string body = stores ? "data[row] = x; return x;" : "return x * data[row];";
      const test::Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
layout(set = 0, binding = 0) buffer Memory { float data[]; };
float f(const in uint row, const in uint col, const in float x) { )" +
                                                body + R"( }
void main()
{
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, r;
   coopMatLoad(m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatPerElementNV(r, m, f);
}
)");
      const Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 32);
      ASSERT_TRUE(shader) << shader.error().message;
      nir_lower_vars_to_ssa(shader->get());
      nir_copy_prop(shader->get());
      nir_opt_dce(shader->get());
      opt_cmat_copies(shader->get());
      const std::string text = test::body(shader->get());
      EXPECT_EQ(test::count(text, "@cmat_per_element_weft"), stores ? 1u : 0u) << text;
      EXPECT_EQ(test::count(text, "@cmat_load "), stores ? 1u : 0u) << text;
   }
}

/// A matrix of 16×16 elements in a subgroup.
glsl_cmat_description description(glsl_base_type element, glsl_cmat_use use)
{
   glsl_cmat_description desc = {};
   desc.element_type = element;
   desc.scope = SCOPE_SUBGROUP;
   desc.rows = desc.cols = 16;
   desc.use = use;
   return desc;
}

/// A new variable; each call returns a deref of it.
auto matrix_variable(nir_builder *b, const glsl_cmat_description &desc, const char *name)
{
   nir_variable *variable = nir_local_variable_create(b->impl, glsl_cmat_type(&desc), name);
   return [=] { return &nir_build_deref_var(b, variable)->def; };
}

void binary_op(nir_builder *b, nir_def *result, nir_def *x, nir_def *y, nir_op op)
{
   _nir_build_cmat_binary_op(b, result, x, y, {._ = 0, .alu_op = op});
}

/// A matrix that is loaded again in each iteration, but is still a phi of the loop.
TEST(OptCmatCopies, WhatLoopsCarryForNobodyGoes)
{
   const glsl_cmat_description desc = description(GLSL_TYPE_FLOAT16, GLSL_CMAT_USE_A);
   for (const bool is_read : {false, true}) {
      test::Built shader;
      nir_builder *b = &shader.b;
      const auto matrix = [&](const char *name) { return matrix_variable(b, desc, name); };
      const auto phi = matrix("phi"), value = matrix("value"), next = matrix("next");
      nir_cmat_construct(b, phi(), nir_imm_intN_t(b, 0, 16));
      nir_loop *loop = nir_push_loop(b);
      nir_cmat_copy(b, value(), phi());
      nir_break_if(b, nir_ieq_imm(b, nir_load_subgroup_invocation(b), 0));
      nir_cmat_copy(b, next(), value());
      nir_break_if(b, nir_ieq_imm(b, nir_load_subgroup_invocation(b), 1));
      nir_cmat_copy(b, phi(), next());
      nir_pop_loop(b, loop);
      if (is_read)
         nir_store_shared(b, nir_cmat_extract(b, 16, phi(), nir_imm_int(b, 0)), nir_imm_int(b, 0));
      opt_cmat_copies(b->shader);
      nir_validate_shader(b->shader, "opt_cmat_copies");
      const std::string text = test::body(b->shader);
      EXPECT_EQ(text.find("@cmat_") != std::string::npos, is_read) << text;
   }
}

/// The same beside a reader of the loaded matrix. If the phi took the place of that matrix, the
/// loops would carry it.
TEST(OptCmatCopies, AMatrixThatIsReadDoesNotBecomeAPhi)
{
   const glsl_cmat_description desc = description(GLSL_TYPE_FLOAT, GLSL_CMAT_USE_ACCUMULATOR);
   test::Built shader;
   nir_builder *b = &shader.b;
   const auto matrix = [&](const char *name) { return matrix_variable(b, desc, name); };
   const auto outer_phi = matrix("outer_phi"), outer_value = matrix("outer_value"),
              inner_phi = matrix("inner_phi"), inner_value = matrix("inner_value"),
              loaded = matrix("loaded"), sum = matrix("sum");
   const auto break_if_lane = [&](int lane) {
      nir_break_if(b, nir_ieq_imm(b, nir_load_subgroup_invocation(b), lane));
   };
   nir_cmat_construct(b, sum(), nir_imm_float(b, 0));
   nir_cmat_construct(b, outer_phi(), nir_imm_float(b, 1));
   nir_loop *outer = nir_push_loop(b);
   nir_cmat_copy(b, outer_value(), outer_phi());
   break_if_lane(0);
   nir_cmat_copy(b, inner_phi(), outer_value());
   nir_loop *inner = nir_push_loop(b);
   nir_cmat_copy(b, inner_value(), inner_phi());
   break_if_lane(1);
   nir_cmat_construct(b, loaded(), nir_imm_float(b, 2));
   binary_op(b, sum(), sum(), loaded(), nir_op_fadd);
   nir_cmat_copy(b, inner_phi(), loaded());
   nir_pop_loop(b, inner);
   nir_cmat_copy(b, outer_phi(), inner_value());
   nir_pop_loop(b, outer);
   nir_store_shared(b, nir_cmat_extract(b, 32, sum(), nir_imm_int(b, 0)), nir_imm_int(b, 0));
   opt_cmat_copies(b->shader);
   nir_validate_shader(b->shader, "opt_cmat_copies");
   const std::string text = test::body(b->shader);
   EXPECT_EQ(test::count(text, "@cmat_copy"), 0u) << text;
   EXPECT_EQ(test::count(text, "@cmat_construct"), 2u) << text;
}

/// The front end's output for n additions: a temporary for each operand and each result.
uint64_t steps_of_additions(unsigned n, bool one_variable)
{
   const glsl_cmat_description desc = description(GLSL_TYPE_FLOAT, GLSL_CMAT_USE_ACCUMULATOR);
   test::Built shader;
   nir_builder *b = &shader.b;
   const auto matrix = [&] {
      return nir_local_variable_create(b->impl, glsl_cmat_type(&desc), "m");
   };
   const auto whole = [&](nir_variable *of) { return &nir_build_deref_var(b, of)->def; };
   nir_variable *addend = matrix(), *sum = matrix();
   nir_cmat_construct(b, whole(addend), nir_imm_float(b, 1));
   nir_cmat_construct(b, whole(sum), nir_imm_float(b, 2));
   for (unsigned i = 0; i < n; ++i) {
      nir_variable *x = matrix(), *y = matrix(), *result = matrix(),
                   *next = one_variable ? sum : matrix();
      nir_cmat_copy(b, whole(x), whole(sum));
      nir_cmat_copy(b, whole(y), whole(addend));
      binary_op(b, whole(result), whole(x), whole(y), nir_op_fadd);
      nir_cmat_copy(b, whole(next), whole(result));
      sum = next;
   }
   nir_store_shared(b, nir_cmat_extract(b, 32, whole(sum), nir_imm_int(b, 0)), nir_imm_int(b, 0));
   const uint64_t steps = opt_cmat_copies_steps(b->shader);
   nir_validate_shader(b->shader, "opt_cmat_copies");
   const std::string text = test::body(b->shader);
   EXPECT_EQ(test::count(text, "@cmat_copy"), 0u);
   EXPECT_EQ(test::count(text, "@cmat_binary_op"), n);
   return steps;
}

TEST(OptCmatCopies, WorkGrowsWithTheShader)
{
   for (const bool one_variable : {false, true}) {
      const uint64_t once = steps_of_additions(200, one_variable),
                     twice = steps_of_additions(400, one_variable);
      EXPECT_LT(twice, 2 * once + once / 4) << one_variable;
      EXPECT_LT(once, 200u * 50) << one_variable;
   }
}

/// All copies first, then all their readers; and all results are unused.
TEST(OptCmatCopies, WorkGrowsWithDistantUses)
{
   const glsl_cmat_description desc = description(GLSL_TYPE_FLOAT, GLSL_CMAT_USE_ACCUMULATOR);
   const auto steps = [&](unsigned n, bool needed) {
      test::Built shader;
      nir_builder *b = &shader.b;
      std::vector<nir_variable *> sources, copies;
      const auto matrix = [&](nir_variable *of) { return &nir_build_deref_var(b, of)->def; };
      for (unsigned i = 0; i < n; ++i) {
         sources.push_back(nir_local_variable_create(b->impl, glsl_cmat_type(&desc), "s"));
         copies.push_back(nir_local_variable_create(b->impl, glsl_cmat_type(&desc), "c"));
         nir_cmat_construct(b, matrix(sources[i]), nir_imm_float(b, i));
      }
      for (unsigned i = 0; i < n; ++i)
         nir_cmat_copy(b, matrix(copies[i]), matrix(sources[i]));
      nir_variable *last = copies[0];
      for (unsigned i = 1; i < n; ++i) {
         nir_variable *next = nir_local_variable_create(b->impl, glsl_cmat_type(&desc), "n");
         binary_op(b, matrix(next), matrix(last), matrix(copies[i]), nir_op_fadd);
         last = next;
      }
      if (needed)
         nir_store_shared(b, nir_cmat_extract(b, 32, matrix(last), nir_imm_int(b, 0)),
                          nir_imm_int(b, 0));
      const uint64_t count = opt_cmat_copies_steps(b->shader);
      const std::string text = test::body(b->shader);
      EXPECT_EQ(test::count(text, "@cmat_copy"), 0u);
      EXPECT_EQ(test::count(text, "@cmat_"), needed ? 2 * n : 0u);
      return count;
   };
   for (const bool needed : {false, true}) {
      const uint64_t once = steps(200, needed), twice = steps(400, needed);
      EXPECT_LT(twice, 2 * once + once / 4) << needed;
      EXPECT_LT(once, 200u * 50) << needed;
   }
}

/// A copy is not forwarded past a write of its source. A result is not computed early past a read
/// of its destination.
TEST(OptCmatCopies, CopiesThatAreNeededStay)
{
   const glsl_cmat_description desc = description(GLSL_TYPE_FLOAT, GLSL_CMAT_USE_ACCUMULATOR);
   enum Case { overwritten, element_overwritten, looked_at, index_behind };
   for (const Case c : {overwritten, element_overwritten, looked_at, index_behind}) {
      test::Built shader;
      nir_builder *b = &shader.b;
      const glsl_type *type = glsl_cmat_type(&desc);
      const auto variable = [&](const glsl_type *of) {
         return nir_local_variable_create(b->impl, of, "m");
      };
      nir_variable *x = variable(type), *t = variable(type), *r = variable(type),
                   *array = variable(glsl_array_type(type, 4, 0));
      const auto whole = [&](nir_variable *of) { return &nir_build_deref_var(b, of)->def; };
      const auto element = [&](nir_def *i) {
         return &nir_build_deref_array(b, nir_build_deref_var(b, array), i)->def;
      };
      nir_cmat_construct(b, whole(x), nir_imm_float(b, 1));
      nir_cmat_construct(b, element(nir_imm_int(b, 1)), nir_imm_float(b, 2));
      nir_def *id = nir_load_subgroup_id(b);
      switch (c) {
      case overwritten:
         nir_cmat_copy(b, whole(t), whole(x));
         nir_cmat_construct(b, whole(x), nir_imm_float(b, 3));
         binary_op(b, whole(r), whole(t), whole(x), nir_op_fadd);
         break;
      case element_overwritten:
         nir_cmat_copy(b, whole(t), element(nir_imm_int(b, 1)));
         nir_cmat_construct(b, element(id), nir_imm_float(b, 3));
         binary_op(b, whole(r), whole(t), whole(x), nir_op_fadd);
         break;
      case looked_at:
         binary_op(b, whole(t), whole(x), whole(x), nir_op_fadd);
         binary_op(b, whole(r), element(nir_imm_int(b, 1)), whole(x), nir_op_fmul);
         nir_cmat_copy(b, element(id), whole(t));
         break;
      case index_behind:
         nir_cmat_construct(b, whole(r), nir_imm_float(b, 4));
         binary_op(b, whole(t), whole(x), whole(x), nir_op_fadd);
         nir_cmat_copy(b, element(nir_load_subgroup_id(b)), whole(t));
         break;
      }
      for (nir_def *m : {whole(r), element(nir_imm_int(b, 0))})
         nir_store_shared(b, nir_cmat_extract(b, 32, m, nir_imm_int(b, 0)), nir_imm_int(b, 0));
      opt_cmat_copies(b->shader);
      nir_validate_shader(b->shader, "opt_cmat_copies");
      EXPECT_EQ(test::count(test::body(b->shader), "@cmat_copy"), 1u) << c;
   }
}

/// A temporary that is changed several times before its copy. Each case but the first has a reason
/// why the destination cannot take its place.
TEST(OptCmatCopies, ChangesOfATemporaryHappenInItsDestination)
{
   const glsl_cmat_description desc = description(GLSL_TYPE_FLOAT, GLSL_CMAT_USE_ACCUMULATOR);
   enum Case { changed, copied_first, read_behind, written_behind, read_before, replaced, unset };
   const std::map<Case, unsigned> copies = {
      {changed, 0},     {copied_first, 0}, {read_behind, 1}, {written_behind, 1},
      {read_before, 1}, {replaced, 1},     {unset, 1}};
   for (const auto &[c, count] : copies) {
      test::Built shader;
      nir_builder *b = &shader.b;
      const auto variable = [&] {
         return nir_local_variable_create(b->impl, glsl_cmat_type(&desc), "m");
      };
      nir_variable *t = variable(), *m = variable();
      const auto whole = [&](nir_variable *of) { return &nir_build_deref_var(b, of)->def; };
      const auto change = [&](float value, unsigned component) {
         nir_cmat_insert(b, whole(t), nir_imm_float(b, value), whole(t),
                         nir_imm_int(b, int(component)));
      };
      const auto show = [&](nir_variable *of) {
         nir_store_shared(b, nir_cmat_extract(b, 32, whole(of), nir_imm_int(b, 2)),
                          nir_imm_int(b, 0));
      };
      nir_cmat_construct(b, whole(m), nir_imm_float(b, 1));
      if (c == read_before)
         show(t);
      if (c == copied_first)
         nir_cmat_copy(b, whole(t), whole(m));
      else if (c != unset)
         nir_cmat_construct(b, whole(t), nir_imm_float(b, 2));
      change(3, 0);
      if (c == replaced)
         nir_cmat_construct(b, whole(m), nir_imm_float(b, 4));
      change(5, 1);
      nir_cmat_copy(b, whole(m), whole(t));
      if (c == written_behind)
         change(6, 2);
      show(m);
      if (c == read_behind)
         show(t);
      opt_cmat_copies(b->shader);
      nir_validate_shader(b->shader, "opt_cmat_copies");
      const std::string text = test::body(b->shader);
      EXPECT_EQ(test::count(text, "@cmat_copy"), count) << c << text;
      EXPECT_EQ(test::count(text, "@cmat_insert"), c == written_behind ? 3u : 2u) << c << text;
   }
}

} // namespace
} // namespace weft
