// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/pack_factors.h"

#include "backend/cpu/kernels/tile_kernels.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_uses.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

namespace weft::cpu {

MatrixOperation operation_of_product(const nir_intrinsic_instr *muladd)
{
   return *matrix_operation(nir_intrinsic_cmat_desc(muladd), nir_intrinsic_a_cmat_desc(muladd),
                            nir_intrinsic_b_cmat_desc(muladd), nir_intrinsic_c_cmat_desc(muladd),
                            nir_intrinsic_cmat_signed_mask(muladd),
                            nir_intrinsic_saturate(muladd) != 0);
}

namespace {

unsigned source_of(TileFactor factor)
{
   return factor == TileFactor::a ? 1 : 2;
}

/// One of a muladd's factors, in the order that its kernel needs.
struct Packing {
   nir_intrinsic_instr *muladd;
   TileFactor factor;
   /// The unpacked tile's variable; null if it is unknown.
   nir_variable *var = nullptr;

   nir_deref_instr *tile() const { return nir_src_as_deref(muladd->src[source_of(factor)]); }
   glsl_cmat_description desc() const
   {
      return factor == TileFactor::a ? nir_intrinsic_a_cmat_desc(muladd)
                                     : nir_intrinsic_b_cmat_desc(muladd);
   }
   bool is_needed() const { return is_packed(operation_of_product(muladd), factor); }
   bool operator==(const Packing &other) const
   {
      return factor == other.factor &&
             same_packing(operation_of_product(muladd), operation_of_product(other.muladd), factor);
   }

   /// The type of the packed tile: an array of words, which no code indexes.
   const glsl_type *type(uint32_t subgroup_size) const
   {
      const uint32_t words_of_all = packed_bytes(operation_of_product(muladd), factor) / 4;
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

/// The variable of a deref that consists of array derefs only; null if it is another deref.
nir_variable *array_variable(nir_deref_instr *deref)
{
   while (deref && deref->deref_type == nir_deref_type_array)
      deref = nir_deref_instr_parent(deref);
   return deref && deref->deref_type == nir_deref_type_var ? deref->var : nullptr;
}

using Variables = std::unordered_map<nir_variable *, Packing>;

/// Finds the variables that are packed at their loads.
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
         return nir_instr_as_deref(parent)->deref_type == nir_deref_type_array; // its uses decide
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

/// Replaces the element type `from` in nested arrays by `to`.
const glsl_type *replace(const glsl_type *type, const glsl_type *from, const glsl_type *to)
{
   if (type == from)
      return to;
   return glsl_array_type(replace(glsl_get_array_element(type), from, to), glsl_get_length(type),
                          0);
}

bool is_inside(const nir_cf_node *node, const nir_loop *loop)
{
   while (node && node != &loop->cf_node)
      node = node->parent;
   return node;
}

/// Packed copies of factors that stay plain tiles.
class PackedCopies {
public:
   PackedCopies(nir_builder &b, uint32_t subgroup_size) : b(b), subgroup_size(subgroup_size) {}

   /// `all`: the packings of the shader.
   void use(const Packing &packing, const std::vector<Packing> &all)
   {
      nir_deref_instr *tile = packing.tile();
      const std::optional<Place> place = packing.var ? place_of_copies(packing, all) : std::nullopt;
      nir_deref_instr *copy;
      if (place) {
         nir_variable *copies = copies_at(*place, packing);
         b.cursor = nir_before_instr(&packing.muladd->instr);
         copy = element_of(copies, tile);
      } else {
         b.cursor = nir_before_instr(&packing.muladd->instr);
         copy = nir_build_deref_var(&b, temporary(packing));
         pack(packing, copy, tile);
      }
      nir_src_rewrite(&packing.muladd->src[source_of(packing.factor)], &copy->def);
   }

private:
   /// A place where all tiles of a variable are packed.
   struct Place {
      const void *loop_or_block; ///< contains the muladds; null: packs one tile, for one product
      nir_cursor before;
      bool may_loop; ///< the code may contain a loop; without one, blocks stay whole
   };

   struct Copy {
      const void *place; ///< Place::loop_or_block
      const nir_variable *of;
      Packing packing;
      nir_variable *copy;
   };

   /// Chooses the place: before loops in which the tiles do not change, or before a block that uses
   /// each of them several times. Nothing if each product packs its own tile.
   std::optional<Place> place_of_copies(const Packing &packing, const std::vector<Packing> &all)
   {
      if (nir_loop *loop = loop_without_changes(packing.muladd, packing.var))
         return Place{loop, nir_before_cf_node(&loop->cf_node), true};
      const nir_block *block = packing.muladd->instr.block;
      const std::vector<const nir_block *> &changing = changes(packing.var);
      if (std::ranges::find(changing, block) != changing.end())
         return std::nullopt;
      const auto shares = [&](const Packing &other) {
         return other.muladd->instr.block == block && other.var == packing.var && other == packing;
      };
      const uint32_t tiles =
         glsl_get_aoa_size(packing.var->type) / glsl_get_aoa_size(packing.tile()->type);
      if (std::ranges::count_if(all, shares) < 2 * tiles)
         return std::nullopt;
      return Place{block, nir_before_instr(&std::ranges::find_if(all, shares)->muladd->instr),
                   false};
   }

   /// The outermost loop around a muladd in which the variable is constant. Conditions do not
   /// matter: a loop's condition is part of its body.
   nir_loop *loop_without_changes(nir_intrinsic_instr *muladd, nir_variable *var)
   {
      nir_loop *found = nullptr;
      for (nir_cf_node *node = &muladd->instr.block->cf_node; node; node = node->parent) {
         if (node->type != nir_cf_node_loop)
            continue;
         nir_loop *loop = nir_cf_node_as_loop(node);
         if (std::ranges::any_of(changes(var), [&](const nir_block *block) {
                return is_inside(&block->cf_node, loop);
             }))
            break;
         found = loop;
      }
      return found;
   }

   /// The blocks that may do more with a variable than read it.
   const std::vector<const nir_block *> &changes(nir_variable *var)
   {
      const auto [at, is_new] = changes_of.try_emplace(var);
      if (!is_new)
         return at->second;
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_deref ||
                nir_deref_instr_get_variable(nir_instr_as_deref(instr)) != var)
               continue;
            nir_foreach_use_including_if(src, &nir_instr_as_deref(instr)->def) {
               if (!nir_src_is_if(src) && !is_read(src))
                  at->second.push_back(nir_src_parent_instr(src)->block);
            }
         }
      }
      return at->second;
   }

   static bool is_read(const nir_src *src)
   {
      nir_instr *parent = nir_src_parent_instr(src);
      if (parent->type == nir_instr_type_deref)
         return nir_instr_as_deref(parent)->deref_type == nir_deref_type_array; // its uses decide
      if (parent->type != nir_instr_type_intrinsic)
         return false;
      nir_intrinsic_instr *instr = nir_instr_as_intrinsic(parent);
      switch (instr->intrinsic) {
      case nir_intrinsic_load_deref:
      case nir_intrinsic_tile_element_weft:
         return true;
      case nir_intrinsic_tile_muladd_weft:
         return src != &instr->src[0];
      case nir_intrinsic_tile_pack_weft:
      case nir_intrinsic_tile_store_weft:
         return src == &instr->src[1];
      default:
         return false;
      }
   }

   nir_variable *find(const void *place, const nir_variable *of, const Packing &packing) const
   {
      const auto found = std::ranges::find_if(copies, [&](const Copy &c) {
         return c.place == place && c.of == of && c.packing == packing;
      });
      return found == copies.end() ? nullptr : found->copy;
   }

   nir_variable *add(const void *place, const nir_variable *of, const Packing &packing,
                     const glsl_type *type)
   {
      nir_variable *copy = nir_local_variable_create(b.impl, type, "packed");
      copies.push_back({place, of, packing, copy});
      return copy;
   }

   nir_variable *temporary(const Packing &packing)
   {
      nir_variable *found = find(nullptr, nullptr, packing);
      return found ? found : add(nullptr, nullptr, packing, packing.type(subgroup_size));
   }

   /// Packs all tiles of a variable.
   nir_variable *copies_at(const Place &place, const Packing &packing)
   {
      if (nir_variable *found = find(place.loop_or_block, packing.var, packing))
         return found;
      const glsl_type *tile = packing.tile()->type;
      nir_variable *copy = add(place.loop_or_block, packing.var, packing,
                               replace(packing.var->type, tile, packing.type(subgroup_size)));
      b.cursor = place.before;
      pack_all(packing, nir_build_deref_var(&b, copy), nir_build_deref_var(&b, packing.var), tile,
               place.may_loop);
      return copy;
   }

   void pack_all(const Packing &packing, nir_deref_instr *to, nir_deref_instr *from,
                 const glsl_type *tile, bool may_loop)
   {
      if (from->type == tile)
         return pack(packing, to, from);
      const uint32_t count = glsl_get_length(from->type);
      const auto pack_element = [&](nir_def *i) {
         pack_all(packing, nir_build_deref_array(&b, to, i), nir_build_deref_array(&b, from, i),
                  tile, may_loop);
      };
      if (may_loop)
         return build_loop(&b, count, pack_element);
      for (uint32_t i = 0; i < count; i++)
         pack_element(nir_imm_int(&b, int(i)));
   }

   void pack(const Packing &packing, nir_deref_instr *to, nir_deref_instr *from)
   {
      const glsl_cmat_description desc = packing.desc();
      packing.build(&b, &to->def, &from->def,
                    nir_imm_int64(&b, desc.cols * component_bits(desc) / 8),
                    GLSL_MATRIX_LAYOUT_ROW_MAJOR, nir_var_function_temp);
   }

   /// The same element of another variable's arrays.
   nir_deref_instr *element_of(nir_variable *arrays, nir_deref_instr *element)
   {
      if (element->deref_type == nir_deref_type_var)
         return nir_build_deref_var(&b, arrays);
      return nir_build_deref_array(&b, element_of(arrays, nir_deref_instr_parent(element)),
                                   element->arr.index.ssa);
   }

   nir_builder &b;
   const uint32_t subgroup_size;
   std::vector<Copy> copies;
   std::unordered_map<nir_variable *, std::vector<const nir_block *>> changes_of;
};

} // namespace

bool pack_factors(nir_shader *nir, uint32_t subgroup_size)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   std::vector<Packing> packings;
   for_each_intrinsic(impl, nir_intrinsic_tile_muladd_weft, [&](nir_intrinsic_instr *muladd) {
      for (const TileFactor factor : {TileFactor::a, TileFactor::b}) {
         Packing packing = {muladd, factor};
         if (!packing.is_needed())
            continue;
         packing.var = array_variable(packing.tile());
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

   PackedCopies copies(b, subgroup_size);
   for (const Packing &packing : packings) {
      if (!packed.contains(packing.var))
         copies.use(packing, packings);
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

   nir_metadata_preserve(impl, packings.empty() ? nir_metadata_all : nir_metadata_none);
   return !packings.empty();
}

} // namespace weft::cpu
