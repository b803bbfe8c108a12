// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_decode_pointers.h"

#include "nir_passes/matrices/cmat_marks.h"

#include <vector>

namespace weft {

namespace {

/// The same step from another pointer.
nir_deref_instr *step(nir_builder *b, nir_deref_instr *from, const nir_deref_instr *like)
{
   const auto index = [&] { return nir_i2iN(b, like->arr.index.ssa, from->def.bit_size); };
   switch (like->deref_type) {
   case nir_deref_type_cast:
      return nir_build_deref_cast_with_alignment(b, &from->def, from->modes, like->type,
                                                 like->cast.ptr_stride, like->cast.align_mul,
                                                 like->cast.align_offset);
   case nir_deref_type_struct:
      return nir_build_deref_struct(b, from, like->strct.index);
   case nir_deref_type_array:
      return nir_build_deref_array(b, from, index());
   case nir_deref_type_ptr_as_array:
      return nir_build_deref_ptr_as_array(b, from, index());
   default:
      return nullptr;
   }
}

/// Whether an instruction accesses memory through this source, and does not store the pointer
/// itself.
bool is_access(nir_instr *instr, const nir_src *source)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   switch (intrinsic->intrinsic) {
   case nir_intrinsic_load_deref:
   case nir_intrinsic_store_deref:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
      return source == &intrinsic->src[0];
   case nir_intrinsic_copy_deref:
      return true;
   default:
      return false;
   }
}

/// Replaces a pointer by another one to the same memory; false if a use does not allow that.
bool replace_pointer(nir_builder *b, nir_def *old, nir_deref_instr *pointer)
{
   nir_foreach_use_including_if_safe(use, old)
   {
      if (nir_src_is_if(use))
         return false;
      nir_instr *user = nir_src_parent_instr(use);
      if (is_access(user, use)) {
         nir_src_rewrite(use, &pointer->def);
         continue;
      }
      if (user->type != nir_instr_type_deref)
         return false;
      nir_deref_instr *deref = nir_instr_as_deref(user);
      b->cursor = nir_before_instr(user);
      nir_deref_instr *next = use == &deref->parent ? step(b, pointer, deref) : nullptr;
      if (!next || !replace_pointer(b, &deref->def, next))
         return false;
      nir_instr_remove(user);
   }
   return true;
}

} // namespace

Result<bool> lower_decode_pointers(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   std::vector<nir_instr *> packs;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (weft_packed_decode_pointer(instr))
            packs.push_back(instr);
      }
   }
   nir_builder b = nir_builder_create(impl);
   for (nir_instr *pack : packs) {
      if (!replace_pointer(&b, nir_instr_def(pack), weft_packed_decode_pointer(pack)))
         return Error{"a decode function does something else with its pointer to a block of a "
                      "storage buffer than to read through it"};
      nir_instr_remove(pack);
   }
   nir_metadata_preserve(impl, packs.empty() ? nir_metadata_all : nir_metadata_control_flow);
   return !packs.empty();
}

} // namespace weft
