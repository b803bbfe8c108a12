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
    : target(target), b(nir_builder_create(nir_shader_get_entrypoint(nir)))
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

Matrix State::operand(const nir_intrinsic_instr *instr, unsigned source) const
{
   nir_deref_instr *deref = nir_src_as_deref(instr->src[source]);
   return {deref, matrices.at(deref)};
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

using cmat::Matrix;
using cmat::State;

/// Gives variables and derefs of matrices their array types, and remembers what they were.
class TypeLowering {
public:
   explicit TypeLowering(State &state) : state(state) {}

   bool run(nir_shader *nir)
   {
      nir_foreach_function_temp_variable(var, state.b.impl)
         lower_variable(var);
      nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp)
         lower_variable(var);
      if (!progress)
         return false;
      /* Blocks are visited in dominance order: the parent of a deref is done before it. */
      nir_foreach_block(block, state.b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_deref)
               lower_deref(nir_instr_as_deref(instr));
         }
      }
      return true;
   }

private:
   void lower_variable(nir_variable *var)
   {
      const glsl_type *type = lower_type(var->type);
      progress |= type != var->type;
      var->type = type;
   }

   void lower_deref(nir_deref_instr *deref)
   {
      if (glsl_type_is_cmat(deref->type))
         state.matrices.emplace(deref, *glsl_get_cmat_description(deref->type));

      nir_deref_instr *parent = nir_deref_instr_parent(deref);
      switch (deref->deref_type) {
      case nir_deref_type_var:
         deref->type = deref->var->type;
         break;
      case nir_deref_type_array:
      case nir_deref_type_array_wildcard:
         if (glsl_type_is_array(parent->type))
            deref->type = glsl_get_array_element(parent->type);
         break;
      case nir_deref_type_struct:
         deref->type = glsl_get_struct_field(parent->type, deref->strct.index);
         break;
      case nir_deref_type_cast:
      case nir_deref_type_ptr_as_array:
         deref->type = lower_type(deref->type);
         break;
      }
   }

   const glsl_type *lower_type(const glsl_type *type)
   {
      if (glsl_type_is_cmat(type)) {
         const uint32_t length = state.length(*glsl_get_cmat_description(type));
         return glsl_array_type(glsl_get_cmat_element(type), length, 0);
      }
      if (glsl_type_is_array(type)) {
         const glsl_type *element = glsl_get_array_element(type);
         const glsl_type *lowered = lower_type(element);
         if (lowered == element)
            return type;
         return glsl_array_type(lowered, glsl_get_length(type), 0);
      }
      if (glsl_type_is_struct(type))
         return lower_struct(type);
      return type;
   }

   const glsl_type *lower_struct(const glsl_type *type)
   {
      bool changed = false;
      std::vector<glsl_struct_field> fields;
      for (unsigned i = 0; i < glsl_get_length(type); ++i) {
         fields.push_back(*glsl_get_struct_field_data(type, i));
         const glsl_type *lowered = lower_type(fields.back().type);
         changed |= lowered != fields.back().type;
         fields.back().type = lowered;
      }
      if (!changed)
         return type;
      return glsl_struct_type(fields.data(), fields.size(), glsl_get_type_name(type), false);
   }

   State &state;
   bool progress = false;
};

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
   bool progress = TypeLowering(state).run(nir);
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
