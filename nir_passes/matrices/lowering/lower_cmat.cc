// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_cmat.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_conversion.h"
#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/lowering/cmat_context.h"

#include <algorithm>
#include <map>
#include <vector>

namespace weft {

namespace cmat {

namespace {

/// An operation on more components of a tile becomes a loop.
constexpr uint32_t max_unrolled_components = 8;

/// With registers, the most products of all unrolled multiplications of a shader.
constexpr uint32_t max_shader_products = 32 * 1024;

} // namespace

Context::Context(nir_shader *nir, const Target &target, MatrixForm form)
    : target(target), map(form == MatrixForm::private_tiles ? Map::dense : Map::registers),
      b(nir_builder_create(nir_shader_get_entrypoint(nir))),
      types(nir, [&](const glsl_cmat_description &desc) {
         const auto component = glsl_scalar_type(glsl_base_type(desc.element_type));
         return glsl_array_type(component, length(desc), 0);
      })
{
}

void Context::limit_products(const std::vector<nir_intrinsic_instr *> &muladds)
{
   std::multimap<uint32_t, const nir_intrinsic_instr *> by_size;
   for (const nir_intrinsic_instr *muladd : muladds) {
      const uint32_t count = products_in_registers(*this, muladd);
      if (count > 0 && count <= max_products)
         by_size.emplace(count, muladd);
   }
   uint64_t sum = 0;
   uint32_t most = max_products;
   for (const auto &[count, muladd] : by_size) {
      sum += count;
      if (sum > max_shader_products)
         most = std::min(most, count - 1);
   }
   /* All multiplications of one size are lowered alike, because their matrices are then in memory.
    * */
   for (auto i = by_size.upper_bound(most); i != by_size.end(); ++i) {
      for (unsigned source = 0; source < 4; ++source) {
         const glsl_cmat_description desc = operand(i->second, source).desc;
         loops.insert(glsl_cmat_type(&desc));
      }
   }
}

nir_def *Context::load_component(const Matrix &m, nir_def *component)
{
   return nir_load_deref(&b, nir_build_deref_array(&b, m.deref, component));
}

void Context::store_component(const Matrix &m, nir_def *component, nir_def *value)
{
   nir_store_deref(&b, nir_build_deref_array(&b, m.deref, component), value, 1);
}

void Context::for_each_component_unrolled(const glsl_cmat_description &desc,
                                          const std::function<void(uint32_t)> &body)
{
   for (uint32_t i = 0; i < length(desc); ++i)
      body(i);
}

void Context::for_each_component(const glsl_cmat_description &desc,
                                 const std::function<void(nir_def *)> &body)
{
   const uint32_t components = length(desc);
   if (map == Map::registers ? is_unrolled(desc) : components <= max_unrolled_components)
      for_each_component_unrolled(desc, [&](uint32_t i) { body(nir_imm_int(&b, int(i))); });
   else
      build_loop(&b, components, body);
}

} // namespace cmat

namespace {

using cmat::Context;

void lower_construct(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   s.for_each_component(result.desc,
                        [&](nir_def *i) { s.store_component(result, i, instr->src[1].ssa); });
}

void lower_unary_op(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   const auto from = glsl_base_type(source.desc.element_type),
              to = glsl_base_type(result.desc.element_type);
   const auto store = [&](nir_def *i, nir_def *value) {
      s.store_component(result, i, convert_component(&s.b, instr, value, from, to));
   };
   if (result.desc.use != source.desc.use)
      cmat::for_each_element(s, result, source, false, store);
   else
      s.for_each_component(result.desc, [&](nir_def *i) { store(i, s.load_component(source, i)); });
}

void lower_binary_op(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), x = s.operand(instr, 1), y = s.operand(instr, 2);
   const nir_op op = nir_op(nir_intrinsic_alu_op(instr));
   s.for_each_component(result.desc, [&](nir_def *i) {
      /* Separate statements have a fixed order. The order of a call's arguments would depend on the
       * compiler of this file. */
      nir_def *left = s.load_component(x, i);
      nir_def *right = s.load_component(y, i);
      s.store_component(result, i, nir_build_alu2(&s.b, op, left, right));
   });
}

void lower_scalar_op(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   const nir_op op = nir_op(nir_intrinsic_alu_op(instr));
   s.for_each_component(result.desc, [&](nir_def *i) {
      nir_def *value = nir_build_alu2(&s.b, op, s.load_component(source, i), instr->src[2].ssa);
      s.store_component(result, i, value);
   });
}

/// Copies, and casts to another component type of the same size.
void lower_copy(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   s.for_each_component(
      result.desc, [&](nir_def *i) { s.store_component(result, i, s.load_component(source, i)); });
}

void lower_length(Context &s, nir_intrinsic_instr *instr)
{
   const uint32_t length = s.length(nir_intrinsic_cmat_desc(instr));
   nir_def_rewrite_uses(&instr->def, nir_imm_int(&s.b, int(length)));
}

void lower_coordinates(Context &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const uint32_t W = s.target.subgroup_size;
   const cmat::Coordinates at =
      cmat::coordinates(b, s.map, desc, W, nir_u2u32(b, instr->src[0].ssa));
   nir_def *inside =
      cmat::has_outside(s.map, desc, W) ? nir_ult_imm(b, at.row, desc.rows) : nir_imm_true(b);
   nir_def_rewrite_uses(&instr->def, nir_vec3(b, at.row, at.col, nir_b2i32(b, inside)));
}

void lower_runs(Context &s, nir_intrinsic_instr *instr)
{
   const uint32_t count = cmat::run_count(s.map, nir_intrinsic_cmat_desc(instr),
                                          s.target.subgroup_size, cmat::runs_of(instr));
   nir_def_rewrite_uses(&instr->def, nir_imm_int(&s.b, int(count)));
}

void lower_run_coordinates(Context &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const uint32_t W = s.target.subgroup_size;
   const cmat::Runs runs = cmat::runs_of(instr);
   const cmat::Coordinates at = cmat::run_coordinates(b, s.map, desc, W, runs, instr->src[0].ssa);
   nir_def *inside = cmat::has_runs_outside(s.map, desc, W, runs)
                        ? nir_ult_imm(b, at.row, desc.rows)
                        : nir_imm_true(b);
   nir_def_rewrite_uses(&instr->def, nir_vec3(b, at.row, at.col, nir_b2i32(b, inside)));
}

void lower_extract(Context &s, nir_intrinsic_instr *instr)
{
   nir_def *component = nir_u2u32(&s.b, instr->src[1].ssa);
   nir_def_rewrite_uses(&instr->def, s.load_component(s.operand(instr, 0), component));
}

void lower_insert(Context &s, nir_intrinsic_instr *instr)
{
   assert(is_in_place(instr));
   s.store_component(s.operand(instr, 0), nir_u2u32(&s.b, instr->src[3].ssa), instr->src[1].ssa);
}

/// With private tiles, the run is written to the tile's memory beside runs of other invocations.
void lower_insert_run(Context &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   assert(is_in_place(instr));
   const Matrix result = s.operand(instr, 0);
   const cmat::Runs runs = cmat::runs_of(instr);
   const uint32_t W = s.target.subgroup_size;
   const uint32_t step = cmat::run_step(s.map, result.desc, W, runs);
   nir_def *value = instr->src[1].ssa,
           *begin = cmat::run_begin(b, s.map, result.desc, W, runs, instr->src[3].ssa);
   const auto insert = [&](nir_def *elements, nir_def *first) {
      _nir_build_tile_insert_weft(b, &result.deref->def, elements, first,
                                  {._ = 0, .cmat_desc = result.desc});
   };
   if (s.map == cmat::Map::dense && step == 1)
      return insert(value, begin);
   for (uint32_t i = 0; i < runs.length; ++i) {
      nir_def *component = nir_channel(b, value, i), *at = nir_iadd_imm(b, begin, i * step);
      if (s.map == cmat::Map::dense)
         insert(component, at);
      else
         s.store_component(result, at, component);
   }
}

using Lowering = void (*)(Context &, nir_intrinsic_instr *);

/// The lowering of a cmat intrinsic, or null for any other instruction.
Lowering lowering_of(nir_intrinsic_op op, cmat::Map map)
{
   switch (op) {
   case nir_intrinsic_cmat_construct:
      return lower_construct;
   case nir_intrinsic_cmat_load:
      return map == cmat::Map::dense ? cmat::lower_load_to_tiles : cmat::lower_load_to_registers;
   case nir_intrinsic_cmat_store:
      return map == cmat::Map::dense ? cmat::lower_store_to_tiles : cmat::lower_store_to_registers;
   case nir_intrinsic_cmat_muladd:
      return map == cmat::Map::dense ? cmat::lower_muladd_to_tiles
                                     : cmat::lower_muladd_to_registers;
   case nir_intrinsic_cmat_insert_columns_weft:
      return map == cmat::Map::dense ? cmat::lower_insert_columns_to_tiles : nullptr;
   case nir_intrinsic_cmat_length:
      return lower_length;
   case nir_intrinsic_cmat_coordinates_weft:
      return lower_coordinates;
   case nir_intrinsic_cmat_runs_weft:
      return lower_runs;
   case nir_intrinsic_cmat_run_coordinates_weft:
      return lower_run_coordinates;
   case nir_intrinsic_cmat_element_weft:
      return cmat::lower_element;
   case nir_intrinsic_cmat_convert_weft:
      return cmat::lower_convert;
   case nir_intrinsic_cmat_transpose_weft:
      return cmat::lower_transpose;
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
   case nir_intrinsic_cmat_insert_run_weft:
      return lower_insert_run;
   default:
      return nullptr;
   }
}

} // namespace

bool lower_cmat(nir_shader *nir, const Target &target, MatrixForm form)
{
   if (form == MatrixForm::driver_tiles)
      return cmat::lower_to_driver_tiles(nir);

   Context context(nir, target, form);
   bool progress = context.types.found();
   /* The units of 32 bits that for_each_unit() makes need bases of known alignment. */
   if (progress && form == MatrixForm::registers) {
      nir_foreach_variable_with_modes(var, nir, nir_var_mem_shared)
         var->data.alignment = std::max(var->data.alignment, 16u);
   }

   /* Lowering adds control flow, so the list comes first. */
   std::vector<nir_intrinsic_instr *> work, muladds;
   nir_foreach_block(block, context.b.impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             lowering_of(nir_instr_as_intrinsic(instr)->intrinsic, context.map))
            work.push_back(nir_instr_as_intrinsic(instr));
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_cmat_muladd)
            muladds.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   if (form == MatrixForm::registers)
      context.limit_products(muladds);
   for (nir_intrinsic_instr *instr : work) {
      context.b.cursor = nir_before_instr(&instr->instr);
      lowering_of(instr->intrinsic, context.map)(context, instr);
      nir_instr_remove(&instr->instr);
      progress = true;
   }

   nir_metadata_preserve(context.b.impl, progress ? nir_metadata_none : nir_metadata_all);
   return progress;
}

} // namespace weft
