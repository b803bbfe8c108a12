// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Elements of other invocations. With private tiles they are in the tile's memory, which all
/// invocations can read. With registers a shuffle reads them from their owner.

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_conversion.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/lowering/cmat_context.h"

#include <numeric>
#include <set>
#include <vector>

namespace weft::cmat {

namespace {

/* ---- private tiles ---- */

nir_def *tile_element(Context &s, const Matrix &matrix, const Coordinates &at)
{
   return _nir_build_tile_element_weft(&s.b, component_bits(matrix.desc), &matrix.deref->def,
                                       at.row, at.col, {._ = 0, .cmat_desc = matrix.desc});
}

/// The same element if it lies in the matrix, else any element of it, because components outside of
/// the matrix need some value.
Coordinates clamp(Context &s, const glsl_cmat_description &desc, const Coordinates &at)
{
   if (!has_outside(s.map, desc, s.target.subgroup_size))
      return at;
   return {nir_umin(&s.b, at.row, nir_imm_int(&s.b, desc.rows - 1)), at.col};
}

/* ---- registers ---- */

/// The most components that are shuffled to read one of them.
constexpr uint32_t max_candidates = 64;

/// The owner's value of the component that each invocation reads, which is one of `candidates`.
nir_def *read_from(Context &s, const Matrix &source, const Owner &owner, bool own,
                   const std::vector<uint32_t> &candidates)
{
   nir_builder *b = &s.b;
   nir_def *result = nullptr;
   for (const uint32_t candidate : candidates) {
      nir_def *value = s.load_component(source, nir_imm_int(b, int(candidate)));
      if (!own)
         value = shuffle(b, value, owner.invocation);
      nir_def *is_it = nir_ieq_imm(b, owner.component, candidate);
      result = result ? nir_bcsel(b, is_it, value, result) : value;
   }
   return result;
}

/// The same for too many candidates: in each of W steps, one invocation broadcasts its component's
/// number, and the owner returns the value.
nir_def *read_in_turn(Context &s, const Matrix &source, const Owner &owner)
{
   nir_builder *b = &s.b;
   const uint32_t W = s.target.subgroup_size;
   nir_def *wanted = nir_iadd(b, nir_imul_imm(b, owner.component, W), owner.invocation);
   nir_variable *result =
      nir_local_variable_create(b->impl, glsl_uintN_t_type(component_bits(source.desc)), "element");
   build_loop(b, W, [&](nir_def *asking) {
      nir_def *want = nir_shuffle(b, wanted, asking);
      nir_def *value = s.load_component(source, nir_udiv_imm(b, want, W));
      value = shuffle(b, value, nir_umod_imm(b, want, W));
      nir_if *mine = nir_push_if(b, nir_ieq(b, nir_load_subgroup_invocation(b), asking));
      nir_store_var(b, result, value, 1);
      nir_pop_if(b, mine);
   });
   return nir_load_var(b, result);
}

/// The sources of one component of all invocations.
struct Origins {
   std::vector<uint32_t> components; ///< of the source, without duplicates
   bool own = true;                  ///< each invocation has the element itself
};

Origins origins(const RegisterMap &source, const RegisterMap &result, uint32_t component,
                bool transposed)
{
   std::set<uint32_t> components;
   Origins o;
   for (uint32_t i = 0; i < result.subgroup_size; ++i) {
      RegisterMap::Element e = result.element(i, component);
      if (transposed)
         std::swap(e.row, e.col);
      components.insert(source.owner(e).component);
      o.own &= source.holds(i, e);
   }
   o.components.assign(components.begin(), components.end());
   return o;
}

} // namespace

nir_def *shuffle(nir_builder *b, nir_def *value, nir_def *invocation)
{
   if (value->bit_size == 64) {
      nir_def *low = nir_shuffle(b, nir_unpack_64_2x32_split_x(b, value), invocation),
              *high = nir_shuffle(b, nir_unpack_64_2x32_split_y(b, value), invocation);
      return nir_pack_64_2x32_split(b, low, high);
   }
   return nir_u2uN(b, nir_shuffle(b, nir_u2u32(b, value), invocation), value->bit_size);
}

void for_each_element(Context &s, const Matrix &result, const Matrix &source, bool transposed,
                      const std::function<void(nir_def *component, nir_def *element)> &body)
{
   nir_builder *b = &s.b;
   /* The dense map is the same for every use. */
   if (s.map == Map::dense && !transposed) {
      s.for_each_component(result.desc, [&](nir_def *i) { body(i, s.load_component(source, i)); });
      return;
   }
   const auto place = [&](nir_def *component) {
      const Coordinates at = coordinates(b, s.map, result.desc, s.target.subgroup_size, component);
      const Coordinates inside = clamp(s, result.desc, at);
      return transposed ? Coordinates{inside.col, inside.row} : inside;
   };
   if (s.map == Map::dense) {
      s.for_each_component(result.desc,
                           [&](nir_def *i) { body(i, tile_element(s, source, place(i))); });
      return;
   }
   const RegisterMap from = s.register_map(source.desc), to = s.register_map(result.desc);
   if (!s.is_unrolled(source.desc) || !s.is_unrolled(result.desc)) {
      s.for_each_component(result.desc, [&](nir_def *i) {
         body(i, read_in_turn(s, source, owner(b, from, place(i))));
      });
      return;
   }
   s.for_each_component_unrolled(result.desc, [&](uint32_t i) {
      nir_def *component = nir_imm_int(b, int(i));
      const Origins o = origins(from, to, i, transposed);
      body(component, read_from(s, source, owner(b, from, place(component)), o.own, o.components));
   });
}

void lower_convert(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   for_each_element(s, result, s.operand(instr, 1), false,
                    [&](nir_def *i, nir_def *value) { s.store_component(result, i, value); });
}

void lower_transpose(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   const auto from = glsl_base_type(source.desc.element_type),
              to = glsl_base_type(result.desc.element_type);
   for_each_element(s, result, source, true, [&](nir_def *i, nir_def *value) {
      s.store_component(result, i, convert_component(&s.b, instr, value, from, to));
   });
}

void lower_element(Context &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix source = s.operand(instr, 0);
   const Coordinates at = {instr->src[1].ssa, instr->src[2].ssa};
   nir_def *value;
   if (s.map == Map::dense) {
      value = tile_element(s, source, at);
   } else if (s.length(source.desc) > max_candidates) {
      value = read_in_turn(s, source, owner(b, s.register_map(source.desc), at));
   } else {
      std::vector<uint32_t> all(s.length(source.desc));
      std::iota(all.begin(), all.end(), 0u);
      value = read_from(s, source, owner(b, s.register_map(source.desc), at), false, all);
   }
   nir_def_rewrite_uses(&instr->def, value);
}

} // namespace weft::cmat
