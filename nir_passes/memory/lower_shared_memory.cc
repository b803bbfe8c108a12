// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/lower_shared_memory.h"

#include "nir_passes/memory/pointer_groups.h"
#include "nir_passes/memory/unit_index.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"
#include "util/u_math.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace weft {

namespace {

/// One resulting array and the variables that it replaces.
struct Block {
   std::vector<nir_variable *> variables;
   unsigned bytes = 0;
   unsigned width = 64;       ///< bits of the narrowest access
   unsigned atomic_width = 0; ///< 0: no atomic operations
   bool float_atomics = false, integer_atomics = false;
   nir_variable *array = nullptr;
};

struct SharedAccess {
   nir_intrinsic_instr *instr;
   Block *block;
};

bool is_atomic(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_deref_atomic ||
          instr->intrinsic == nir_intrinsic_deref_atomic_swap;
}

bool is_tile(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_tile_load_weft ||
          instr->intrinsic == nir_intrinsic_tile_store_weft;
}

/// The source with the deref; null if the instruction accesses no memory by one.
nir_src *pointer_source(nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_deref:
   case nir_intrinsic_store_deref:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
   case nir_intrinsic_tile_store_weft:
      return &instr->src[0];
   case nir_intrinsic_tile_load_weft:
      return &instr->src[1];
   default:
      return nullptr;
   }
}

/// Booleans have 32 bits in memory.
unsigned memory_bits(const nir_def *value)
{
   return value->bit_size == 1 ? 32 : value->bit_size;
}

const nir_def *accessed_value(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_store_deref ? instr->src[1].ssa : &instr->def;
}

class SharedMemoryLowering {
public:
   explicit SharedMemoryLowering(nir_shader *nir)
       : b(nir_builder_create(nir_shader_get_entrypoint(nir))),
         one_block(nir->info.shared_memory_explicit_layout), groups(nir, nir_var_mem_shared)
   {
   }

   Result<bool> run()
   {
      nir_foreach_variable_with_modes(var, b.shader, nir_var_mem_shared)
         old.push_back(var);
      if (old.empty())
         return false;
      collect();
      for (nir_variable *var : old) {
         if (const auto block = blocks.find(var); block != blocks.end())
            make_array(block->second);
      }
      if (!error.empty())
         return Error{error};

      rewrite_values();
      for (const SharedAccess &access : accesses) {
         b.cursor = nir_before_instr(&access.instr->instr);
         rewrite(access);
      }
      nir_remove_dead_derefs(b.shader);
      for (nir_variable *var : old)
         exec_node_remove(&var->node);
      nir_metadata_preserve(b.impl, nir_metadata_control_flow);
      return true;
   }

private:
   void collect()
   {
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (is_shared_deref(instr))
               place(variables_of(nir_instr_as_deref(instr)));
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
            nir_src *pointer = pointer_source(intrinsic);
            nir_deref_instr *deref = pointer ? nir_src_as_deref(*pointer) : nullptr;
            if (deref && nir_deref_mode_may_be(deref, nir_var_mem_shared))
               collect(intrinsic, deref);
         }
      }
   }

   void collect(nir_intrinsic_instr *instr, nir_deref_instr *deref)
   {
      const std::vector<nir_variable *> &variables = variables_of(deref);
      if (variables.empty()) {
         error = "a pointer into shared memory that points to no variable is not supported";
         return;
      }
      Block &block = blocks[variables.front()];
      block.variables = variables;
      accesses.push_back({instr, &block});
      const unsigned bits =
         is_tile(instr) ? glsl_get_bit_size(deref->type) : memory_bits(accessed_value(instr));
      block.width = std::min(block.width, bits);
      if (is_atomic(instr)) {
         block.atomic_width = std::max(block.atomic_width, bits);
         const nir_atomic_op op = nir_intrinsic_atomic_op(instr);
         /* 16-bit atomics are always on floats. A wider exchange takes the type of the array's
          * other atomics. */
         if (bits == 16 || nir_atomic_op_type(op) == nir_type_float)
            block.float_atomics = true;
         else if (op != nir_atomic_op_xchg)
            block.integer_atomics = true;
      }
   }

   static bool is_shared_deref(const nir_instr *instr)
   {
      return instr->type == nir_instr_type_deref &&
             nir_deref_mode_may_be(nir_instr_as_deref(instr), nir_var_mem_shared);
   }

   const std::vector<nir_variable *> &variables_of(const nir_deref_instr *deref)
   {
      return one_block ? old : groups.variables_of(deref);
   }

   /// Places variables that one pointer may point to one after the other; variables with an
   /// explicit layout all at the same offset.
   void place(const std::vector<nir_variable *> &variables)
   {
      if (variables.empty() || begins.contains(variables.front()))
         return;
      unsigned end = 0;
      for (const nir_variable *var : variables) {
         const unsigned begin = one_block ? 0 : align(end, largest_alignment);
         begins[var] = begin;
         end = begin + glsl_get_explicit_size(var->type, false);
      }
   }

   void make_array(Block &block)
   {
      if (block.atomic_width && block.atomic_width != block.width)
         error =
            "shared memory with atomic operations and accesses to parts of it is not supported";
      if (block.float_atomics && block.integer_atomics)
         error =
            "shared memory with atomic operations on both floats and integers is not supported";
      unsigned access = 0;
      for (const nir_variable *var : block.variables) {
         block.bytes =
            std::max(block.bytes, begins[var] + glsl_get_explicit_size(var->type, false));
         access |= var->data.access;
      }
      const glsl_type *scalar =
         block.float_atomics ? glsl_floatN_t_type(block.width) : glsl_uintN_t_type(block.width);
      const unsigned length = std::max(DIV_ROUND_UP(block.bytes * 8, block.width), 1u);
      block.array =
         nir_variable_create(b.shader, nir_var_mem_shared, glsl_array_type(scalar, length, 0),
                             block.variables.front()->name);
      block.array->data.access = access;
      b.shader->info.shared_size += length * block.width / 8;
   }

   /// Turns pointers that are values into offsets.
   void rewrite_values()
   {
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr_safe(instr, block) {
            if (!is_shared_deref(instr))
               continue;
            nir_deref_instr *deref = nir_instr_as_deref(instr);
            std::vector<nir_src *> uses;
            nir_foreach_use_including_if(src, &deref->def) {
               if (PointerGroups::is_value(src))
                  uses.push_back(src);
            }
            if (uses.empty())
               continue;
            b.cursor = nir_after_instr(instr);
            nir_def *bytes = offset(deref);
            for (nir_src *use : uses)
               nir_src_rewrite(use, bytes);
         }
      }
   }

   nir_def *offset(nir_deref_instr *deref)
   {
      if (deref->deref_type == nir_deref_type_var)
         return nir_imm_int(&b, int(begins[deref->var]));
      nir_deref_instr *parent = nir_src_as_deref(deref->parent);
      if (!parent)
         return deref->parent.ssa;
      nir_def *base = offset(parent);
      return nir_explicit_io_address_from_deref(&b, deref, base, nir_address_format_32bit_offset);
   }

   void rewrite(const SharedAccess &access)
   {
      nir_intrinsic_instr *instr = access.instr;
      nir_src *pointer = pointer_source(instr);
      nir_deref_instr *deref = nir_src_as_deref(*pointer);
      nir_def *bytes = offset(deref);
      if (is_tile(instr)) {
         nir_src_rewrite(pointer, &element(access, bytes)->def);
         nir_src_rewrite(&instr->src[2], units(access, instr->src[2].ssa));
         nir_intrinsic_set_stride_unit(instr, access.block->width / 8);
         return;
      }
      if (is_atomic(instr)) {
         nir_src_rewrite(&instr->src[0], &element(access, bytes)->def);
         return;
      }
      /* The columns of a row-major matrix are vectors with a stride. */
      const unsigned stride =
         glsl_type_is_vector(deref->type) ? glsl_get_explicit_stride(deref->type) : 0;
      if (instr->intrinsic == nir_intrinsic_load_deref)
         load(access, bytes, stride);
      else
         store(access, bytes, stride);
      nir_instr_remove(&instr->instr);
   }

   nir_deref_instr *element(const SharedAccess &access, nir_def *bytes)
   {
      return nir_build_deref_array(&b, nir_build_deref_var(&b, access.block->array),
                                   units(access, bytes));
   }

   nir_def *units(const SharedAccess &access, nir_def *bytes)
   {
      return unit_index(&b, bytes, util_logbase2(access.block->width / 8));
   }

   void load(const SharedAccess &access, nir_def *bytes, unsigned stride)
   {
      nir_intrinsic_instr *instr = access.instr;
      const unsigned bits = memory_bits(&instr->def), width = access.block->width;
      nir_def *components[NIR_MAX_VEC_COMPONENTS];
      for (unsigned c = 0; c < instr->def.num_components; ++c) {
         nir_def *pieces[8];
         for (unsigned p = 0; p < bits / width; ++p) {
            const unsigned at = c * (stride ? stride : bits / 8) + p * width / 8;
            pieces[p] = nir_load_deref_with_access(&b, element(access, nir_iadd_imm(&b, bytes, at)),
                                                   nir_intrinsic_access(instr));
         }
         components[c] = nir_extract_bits(&b, pieces, bits / width, 0, 1, bits);
         if (instr->def.bit_size == 1)
            components[c] = nir_ine_imm(&b, components[c], 0);
      }
      nir_def_rewrite_uses(&instr->def, nir_vec(&b, components, instr->def.num_components));
   }

   void store(const SharedAccess &access, nir_def *bytes, unsigned stride)
   {
      nir_intrinsic_instr *instr = access.instr;
      nir_def *value = instr->src[1].ssa;
      if (value->bit_size == 1)
         value = nir_b2i32(&b, value);
      const unsigned bits = value->bit_size, width = access.block->width;
      for (unsigned c = 0; c < value->num_components; ++c) {
         if (!(nir_intrinsic_write_mask(instr) & 1u << c))
            continue;
         for (unsigned p = 0; p < bits / width; ++p) {
            const unsigned at = c * (stride ? stride : bits / 8) + p * width / 8;
            nir_def *piece = nir_extract_bits(&b, &value, 1, c * bits + p * width, 1, width);
            nir_store_deref_with_access(&b, element(access, nir_iadd_imm(&b, bytes, at)), piece, 1,
                                        nir_intrinsic_access(instr));
         }
      }
   }

   nir_builder b;
   /// The largest alignment of any access, including accesses to matrices (lower_cmat.cc).
   static constexpr unsigned largest_alignment = 16;

   const bool one_block;
   PointerGroups groups;
   std::vector<nir_variable *> old;
   std::map<const nir_variable *, unsigned> begins; ///< byte offset in the block
   std::map<nir_variable *, Block> blocks;
   std::vector<SharedAccess> accesses;
   std::string error;
};

} // namespace

Result<bool> lower_shared_memory(nir_shader *nir)
{
   if (!nir->info.shared_memory_explicit_layout)
      nir_lower_vars_to_explicit_types(nir, nir_var_mem_shared, glsl_get_natural_size_align_bytes);
   nir->info.shared_size = 0;
   return SharedMemoryLowering(nir).run();
}

} // namespace weft
