// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/pointer_groups.h"

#include "compiler/nir/nir_deref.h"

#include <utility>

namespace weft {

namespace {

constexpr unsigned follows_uses = 1, follows_sources = 2;

/// Whether the result is one of the sources (conditions aside).
bool passes_on(const nir_alu_instr *alu)
{
   return alu->op == nir_op_mov || alu->op == nir_op_bcsel || nir_op_is_vec(alu->op);
}

/// Whether a pointer is null or undefined.
bool is_null(const nir_def *def)
{
   const nir_instr_type type = def->parent_instr->type;
   return type == nir_instr_type_load_const || type == nir_instr_type_undef;
}

bool is_access(const nir_intrinsic_instr *instr, const nir_src *src)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_deref:
   case nir_intrinsic_store_deref:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
   case nir_intrinsic_tile_store_weft:
      return src == &instr->src[0];
   case nir_intrinsic_tile_load_weft:
      return src == &instr->src[1];
   default:
      return false;
   }
}

} // namespace

bool PointerGroups::is_value(const nir_src *src)
{
   if (nir_src_is_if(src))
      return true;
   nir_instr *user = nir_src_parent_instr(src);
   if (user->type == nir_instr_type_deref)
      return src != &nir_instr_as_deref(user)->parent;
   return user->type != nir_instr_type_intrinsic || !is_access(nir_instr_as_intrinsic(user), src);
}

PointerGroups::PointerGroups(nir_shader *nir, nir_variable_mode mode)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_instr_as_deref(instr);
         if (!nir_deref_mode_may_be(deref, mode))
            continue;
         forwards.push_back(&deref->def);
         if (deref->deref_type == nir_deref_type_var) {
            unite(&deref->def, deref->var);
         } else if (!is_null(deref->parent.ssa)) {
            unite(&deref->def, deref->parent.ssa);
            backwards.push_back(deref->parent.ssa);
         }
      }
   }
   while (!forwards.empty() || !backwards.empty()) {
      const bool is_use = !forwards.empty();
      std::vector<nir_def *> &list = is_use ? forwards : backwards;
      nir_def *def = list.back();
      list.pop_back();
      unsigned &done = followed[def];
      const unsigned direction = is_use ? follows_uses : follows_sources;
      if (done & direction)
         continue;
      done |= direction;
      is_use ? add_uses(def) : add_sources(def);
   }
   nir_foreach_variable_with_modes(var, nir, mode)
      groups[find(var)].push_back(var);
}

/// Follows a pointer to its uses.
void PointerGroups::add_uses(nir_def *def)
{
   nir_foreach_use(src, def) {
      if (!is_value(src))
         continue;
      nir_instr *user = nir_src_parent_instr(src);
      if (user->type == nir_instr_type_phi) {
         unite(def, &nir_instr_as_phi(user)->def);
         forwards.push_back(&nir_instr_as_phi(user)->def);
         backwards.push_back(&nir_instr_as_phi(user)->def);
      } else if (user->type == nir_instr_type_alu) {
         nir_alu_instr *alu = nir_instr_as_alu(user);
         const bool compares = alu->def.bit_size == 1;
         unite(def, compares || passes_on(alu) ? static_cast<const void *>(&alu->def) : &memory);
         if (passes_on(alu)) {
            forwards.push_back(&alu->def);
            backwards.push_back(&alu->def);
         }
      } else {
         unite(def, &memory);
      }
   }
}

/// Follows a pointer to its sources.
void PointerGroups::add_sources(nir_def *def)
{
   const auto add = [&](nir_def *source) {
      if (is_null(source))
         return;
      unite(def, source);
      backwards.push_back(source);
   };
   nir_instr *instr = def->parent_instr;
   switch (instr->type) {
   case nir_instr_type_phi:
      nir_foreach_phi_src(source, nir_instr_as_phi(instr)) add(source->src.ssa);
      break;
   case nir_instr_type_alu: {
      const nir_alu_instr *alu = nir_instr_as_alu(instr);
      if (!passes_on(alu)) {
         unite(def, &memory);
         break;
      }
      const unsigned first = alu->op == nir_op_bcsel ? 1 : 0;
      for (unsigned i = first; i < nir_op_infos[alu->op].num_inputs; ++i)
         add(alu->src[i].src.ssa);
      break;
   }
   case nir_instr_type_deref:
      break;
   default:
      unite(def, &memory);
   }
}

const std::vector<nir_variable *> &PointerGroups::variables_of(const nir_deref_instr *deref)
{
   return groups[find(&deref->def)];
}

const void *PointerGroups::find(const void *node)
{
   const void *root = node;
   for (auto at = parents.find(root); at != parents.end(); at = parents.find(root))
      root = at->second;
   while (node != root)
      node = std::exchange(parents[node], root);
   return root;
}

void PointerGroups::unite(const void *x, const void *y)
{
   const void *root = find(x), *other = find(y);
   if (root != other)
      parents[root] = other;
}

} // namespace weft
