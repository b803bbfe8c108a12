// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/lower_cmat.h"

#include "nir_passes/cmat_state.h"

#include "compiler/nir/nir_deref.h"

#include <vector>

namespace weft {

namespace cmat {

namespace {

/// Element-wise operations on more components than this become loops.
constexpr uint32_t max_unrolled_components = 8;

} // namespace

State::State(nir_shader *nir, const Target &target)
    : target(target), b(nir_builder_create(nir_shader_get_entrypoint(nir))),
      types(nir, [&](const glsl_cmat_description &desc) {
         const auto component = glsl_scalar_type(glsl_base_type(desc.element_type));
         return glsl_array_type(component, length(desc), 0);
      })
{
}

RegisterMap State::register_map(const glsl_cmat_description &desc) const
{
   using Use = RegisterMap::Use;
   const Use use = desc.use == GLSL_CMAT_USE_A   ? Use::a
                   : desc.use == GLSL_CMAT_USE_B ? Use::b
                                                 : Use::accumulator;
   return {desc.rows, desc.cols, use, target.subgroup_size};
}

uint32_t State::length(const glsl_cmat_description &desc) const
{
   if (target.native_tiles)
      return ElementMap{desc.rows, desc.cols, target.subgroup_size}.length();
   return register_map(desc).length();
}

nir_def *State::load_component(const Matrix &m, nir_def *component)
{
   return nir_load_deref(&b, nir_build_deref_array(&b, m.deref, component));
}

void State::store_component(const Matrix &m, nir_def *component, nir_def *value)
{
   nir_store_deref(&b, nir_build_deref_array(&b, m.deref, component), value, 1);
}

void State::for_each_component_unrolled(const glsl_cmat_description &desc,
                                        const std::function<void(uint32_t)> &body)
{
   for (uint32_t i = 0; i < length(desc); ++i)
      body(i);
}

void State::for_each_component(const glsl_cmat_description &desc,
                               const std::function<void(nir_def *)> &body)
{
   const uint32_t components = length(desc);
   if (!target.native_tiles || components <= max_unrolled_components) {
      for_each_component_unrolled(desc, [&](uint32_t i) { body(nir_imm_int(&b, int(i))); });
      return;
   }

   loop(components, body);
}

void State::loop(uint32_t count, const std::function<void(nir_def *)> &body)
{
   nir_variable *counter = nir_local_variable_create(b.impl, glsl_uint_type(), "component");
   nir_store_var(&b, counter, nir_imm_int(&b, 0), 1);
   nir_loop *loop = nir_push_loop(&b);
   loop->control = nir_loop_control_dont_unroll;
   {
      nir_def *component = nir_load_var(&b, counter);
      nir_break_if(&b, nir_uge_imm(&b, component, count));
      body(component);
      nir_store_var(&b, counter, nir_iadd_imm(&b, component, 1), 1);
   }
   nir_pop_loop(&b, loop);
}

} // namespace cmat

namespace {

using cmat::State;

void lower_construct(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   s.for_each_component(result.desc,
                        [&](nir_def *i) { s.store_component(result, i, instr->src[1].ssa); });
}

void lower_unary_op(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   const nir_op op = nir_op(nir_intrinsic_alu_op(instr));
   s.for_each_component(result.desc, [&](nir_def *i) {
      s.store_component(result, i, nir_build_alu1(&s.b, op, s.load_component(source, i)));
   });
}

void lower_binary_op(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), x = s.operand(instr, 1), y = s.operand(instr, 2);
   const nir_op op = nir_op(nir_intrinsic_alu_op(instr));
   s.for_each_component(result.desc, [&](nir_def *i) {
      nir_def *value = nir_build_alu2(&s.b, op, s.load_component(x, i), s.load_component(y, i));
      s.store_component(result, i, value);
   });
}

void lower_scalar_op(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   const nir_op op = nir_op(nir_intrinsic_alu_op(instr));
   s.for_each_component(result.desc, [&](nir_def *i) {
      nir_def *value = nir_build_alu2(&s.b, op, s.load_component(source, i), instr->src[2].ssa);
      s.store_component(result, i, value);
   });
}

void copy_components(State &s, const Matrix &result, const Matrix &source)
{
   s.for_each_component(
      result.desc, [&](nir_def *i) { s.store_component(result, i, s.load_component(source, i)); });
}

/// Copies, and changes of the component type at the same size.
void lower_copy(State &s, nir_intrinsic_instr *instr)
{
   copy_components(s, s.operand(instr, 0), s.operand(instr, 1));
}

void lower_length(State &s, nir_intrinsic_instr *instr)
{
   const uint32_t length = s.length(nir_intrinsic_cmat_desc(instr));
   nir_def_rewrite_uses(&instr->def, nir_imm_int(&s.b, int(length)));
}

void lower_extract(State &s, nir_intrinsic_instr *instr)
{
   nir_def *component = nir_u2u32(&s.b, instr->src[1].ssa);
   nir_def_rewrite_uses(&instr->def, s.load_component(s.operand(instr, 0), component));
}

void lower_insert(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 2);
   /* In place, as opt_cmat_copies leaves it, nothing but the component changes. */
   if (!(nir_compare_derefs(result.deref, source.deref) & nir_derefs_equal_bit))
      copy_components(s, result, source);
   s.store_component(result, nir_u2u32(&s.b, instr->src[3].ssa), instr->src[1].ssa);
}

using Lowering = void (*)(State &, nir_intrinsic_instr *);

/// The lowering of a cmat intrinsic, or null for any other instruction.
Lowering lowering_of(nir_intrinsic_op op, bool native_tiles)
{
   switch (op) {
   case nir_intrinsic_cmat_construct:
      return lower_construct;
   case nir_intrinsic_cmat_load:
      return native_tiles ? cmat::lower_load_to_tiles : cmat::lower_load_to_registers;
   case nir_intrinsic_cmat_store:
      return native_tiles ? cmat::lower_store_to_tiles : cmat::lower_store_to_registers;
   case nir_intrinsic_cmat_muladd:
      return native_tiles ? cmat::lower_muladd_to_tiles : cmat::lower_muladd_to_registers;
   case nir_intrinsic_cmat_length:
      return lower_length;
   case nir_intrinsic_cmat_unary_op:
      return lower_unary_op;
   case nir_intrinsic_cmat_binary_op:
      return lower_binary_op;
   case nir_intrinsic_cmat_scalar_op:
      return lower_scalar_op;
   case nir_intrinsic_cmat_bitcast:
   case nir_intrinsic_cmat_copy:
      return lower_copy;
   case nir_intrinsic_cmat_extract:
      return lower_extract;
   case nir_intrinsic_cmat_insert:
      return lower_insert;
   default:
      return nullptr;
   }
}

} // namespace

bool lower_cmat(nir_shader *nir, const Target &target)
{
   State state(nir, target);
   bool progress = state.types.found();
   /* As matrices in memory are: see for_each_element() of the register lowering. */
   if (progress && !target.native_tiles) {
      nir_foreach_variable_with_modes(var, nir, nir_var_mem_shared)
         var->data.alignment = std::max(var->data.alignment, 16u);
   }

   /* Lowering adds control flow, so the list comes first. */
   std::vector<nir_intrinsic_instr *> work;
   nir_foreach_block(block, state.b.impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             lowering_of(nir_instr_as_intrinsic(instr)->intrinsic, target.native_tiles))
            work.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   for (nir_intrinsic_instr *instr : work) {
      state.b.cursor = nir_before_instr(&instr->instr);
      lowering_of(instr->intrinsic, target.native_tiles)(state, instr);
      nir_instr_remove(&instr->instr);
      progress = true;
   }

   nir_metadata_preserve(state.b.impl, progress ? nir_metadata_none : nir_metadata_all);
   return progress;
}

} // namespace weft
