// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/pack_factors.h"

#include "backend/cpu/kernels/tile_kernels.h"

#include "nir_passes/cmat_description.h"
#include "nir_passes/cmat_uses.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace weft::cpu {

namespace {

MatrixOperation operation(const nir_intrinsic_instr *muladd)
{
   return *matrix_operation(nir_intrinsic_cmat_desc(muladd), nir_intrinsic_a_cmat_desc(muladd),
                            nir_intrinsic_b_cmat_desc(muladd), nir_intrinsic_c_cmat_desc(muladd),
                            nir_intrinsic_cmat_signed_mask(muladd),
                            nir_intrinsic_saturate(muladd) != 0);
}

unsigned source_of(TileFactor factor)
{
   return factor == TileFactor::a ? 1 : 2;
}

/// One of a muladd's factors, as a kernel wants it.
struct Packing {
   nir_intrinsic_instr *muladd;
   TileFactor factor;

   nir_deref_instr *tile() const { return nir_src_as_deref(muladd->src[source_of(factor)]); }
   glsl_cmat_description desc() const
   {
      return factor == TileFactor::a ? nir_intrinsic_a_cmat_desc(muladd)
                                     : nir_intrinsic_b_cmat_desc(muladd);
   }
   bool is_needed() const
   {
      const MatrixOperation op = operation(muladd);
      return same_packing(op, op, factor);
   }
   bool operator==(const Packing &other) const
   {
      return factor == other.factor &&
             same_packing(operation(muladd), operation(other.muladd), factor);
   }

   /// What a tile's variable becomes: nothing looks into it.
   const glsl_type *type(uint32_t subgroup_size) const
   {
      const uint32_t words_of_all = packed_bytes(operation(muladd), factor) / 4;
      return glsl_array_type(glsl_uint_type(), (words_of_all + subgroup_size - 1) / subgroup_size,
                             0);
   }

   void build(nir_builder *b, nir_def *to, nir_def *from, nir_def *stride,
              glsl_matrix_layout layout, nir_variable_mode modes) const
   {
      _nir_build_tile_pack_weft(b, to, from, stride,
                                {._ = 0,
                                 .cmat_desc = desc(),
                                 .a_cmat_desc = nir_intrinsic_a_cmat_desc(muladd),
                                 .b_cmat_desc = nir_intrinsic_b_cmat_desc(muladd),
                                 .c_cmat_desc = nir_intrinsic_c_cmat_desc(muladd),
                                 .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(muladd),
                                 .matrix_layout = layout,
                                 .memory_modes = modes});
   }
};

template <typename Use>
void for_each_intrinsic(nir_function_impl *impl, nir_intrinsic_op op, Use use)
{
   nir_foreach_block(block, impl) {
      nir_foreach_instr_safe(instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == op)
            use(nir_instr_as_intrinsic(instr));
      }
   }
}

/// The variable whose elements a deref of nothing but arrays is of; null if there is none.
nir_variable *array_variable(nir_deref_instr *deref)
{
   while (deref && deref->deref_type == nir_deref_type_array)
      deref = nir_deref_instr_parent(deref);
   return deref && deref->deref_type == nir_deref_type_var ? deref->var : nullptr;
}

using Variables = std::unordered_map<nir_variable *, Packing>;

/// The variables that are packed where they are loaded.
Variables find_packed_variables(nir_function_impl *impl, const std::vector<Packing> &packings)
{
   Variables found;
   for (const Packing &packing : packings) {
      if (nir_variable *var = array_variable(packing.tile()))
         found.emplace(var, packing);
   }
   const auto is_use = [](const nir_src *src, const Packing &packing) {
      if (nir_src_is_if(src))
         return false;
      nir_instr *parent = nir_src_parent_instr(src);
      if (parent->type == nir_instr_type_deref)
         return true; // its uses tell
      if (parent->type != nir_instr_type_intrinsic)
         return false;
      nir_intrinsic_instr *instr = nir_instr_as_intrinsic(parent);
      return (instr->intrinsic == nir_intrinsic_tile_load_weft && src == &instr->src[0]) ||
             (instr->intrinsic == nir_intrinsic_tile_muladd_weft &&
              src == &instr->src[source_of(packing.factor)] &&
              Packing{instr, packing.factor} == packing);
   };
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_instr_as_deref(instr);
         nir_variable *var = nir_deref_instr_get_variable(deref);
         const auto at = found.find(var);
         if (at == found.end())
            continue;
         bool only_packed = array_variable(deref) == var;
         nir_foreach_use_including_if(src, &deref->def)
            only_packed &= is_use(src, at->second);
         if (!only_packed)
            found.erase(at);
      }
   }
   return found;
}

/// The same arrays of something else in place of `from`.
const glsl_type *replace(const glsl_type *type, const glsl_type *from, const glsl_type *to)
{
   if (type == from)
      return to;
   return glsl_array_type(replace(glsl_get_array_element(type), from, to), glsl_get_length(type),
                          0);
}

} // namespace

bool pack_factors(nir_shader *nir, uint32_t subgroup_size)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   std::vector<Packing> packings;
   for_each_intrinsic(impl, nir_intrinsic_tile_muladd_weft, [&](nir_intrinsic_instr *muladd) {
      for (const TileFactor factor : {TileFactor::a, TileFactor::b}) {
         const Packing packing = {muladd, factor};
         if (packing.is_needed())
            packings.push_back(packing);
      }
   });
   const Variables packed = find_packed_variables(impl, packings);

   nir_builder b = nir_builder_create(impl);
   for_each_intrinsic(impl, nir_intrinsic_tile_load_weft, [&](nir_intrinsic_instr *load) {
      const auto var = packed.find(array_variable(nir_src_as_deref(load->src[0])));
      if (var == packed.end())
         return;
      assert(nir_intrinsic_stride_unit(load) == 1);
      b.cursor = nir_before_instr(&load->instr);
      var->second.build(&b, load->src[0].ssa, load->src[1].ssa, load->src[2].ssa,
                        nir_intrinsic_matrix_layout(load), nir_intrinsic_memory_modes(load));
      nir_instr_remove(&load->instr);
   });

   std::vector<std::pair<Packing, nir_variable *>> temporaries;
   for (const Packing &packing : packings) {
      nir_deref_instr *tile = packing.tile();
      if (packed.contains(array_variable(tile)))
         continue;
      auto temporary = std::ranges::find(temporaries, packing, [](auto &t) { return t.first; });
      if (temporary == temporaries.end())
         temporary = temporaries.insert(
            temporaries.end(),
            {packing, nir_local_variable_create(impl, packing.type(subgroup_size), "packed")});
      const glsl_cmat_description desc = packing.desc();
      b.cursor = nir_before_instr(&packing.muladd->instr);
      nir_def *to = &nir_build_deref_var(&b, temporary->second)->def;
      packing.build(&b, to, &tile->def, nir_imm_int64(&b, desc.cols * component_bits(desc) / 8),
                    GLSL_MATRIX_LAYOUT_ROW_MAJOR, nir_var_function_temp);
      nir_src_rewrite(&packing.muladd->src[source_of(packing.factor)], to);
   }

   for (const auto &[var, packing] : packed)
      var->type = replace(var->type, packing.tile()->type, packing.type(subgroup_size));
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_instr_as_deref(instr);
         if (!packed.contains(nir_deref_instr_get_variable(deref)))
            continue;
         deref->type = deref->deref_type == nir_deref_type_var
                          ? deref->var->type
                          : glsl_get_array_element(nir_deref_instr_parent(deref)->type);
      }
   }

   nir_metadata_preserve(impl, packings.empty() ? nir_metadata_all : nir_metadata_control_flow);
   return !packings.empty();
}

} // namespace weft::cpu
