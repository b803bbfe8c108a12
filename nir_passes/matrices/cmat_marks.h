/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Marks: meanings that a field of NIR does not have by itself. Only the functions below set and
 * read a mark; validate_cmat_form() and validate_final_form() check its place. C, as the front end
 * sets some.
 *
 * | mark               | kept in                               | until                 |
 * |--------------------|---------------------------------------|-----------------------|
 * | decode pointer     | pack_64_2x32 of a deref               | lower_decode_pointers |
 * | workgroup's matrix | ACCESS_COHERENT of a private variable | opt_product_order     |
 * | shared tile        | 64 bits of a tile's deref or offset   | nir_to_llvm           |
 *
 * Below are also the encodings of whole operations' indices. vtn_tensors.c alone has the marks of
 * tensor types' operands. */

#pragma once

#include "compiler/nir/nir_builder.h"
#include "compiler/spirv/spirv.h"

/* ---- decode functions' pointers ---- */

/* A decode function takes a physical pointer of 64 bits. A pointer into a storage buffer has only a
 * descriptor, so it is packed into a 64-bit number. */
static inline nir_def *weft_pack_decode_pointer(nir_builder *b, nir_deref_instr *pointer)
{
   return nir_pack_64_2x32(b, &pointer->def);
}

/* The pointer that the instruction packs; NULL if it is no pack. */
static inline nir_deref_instr *weft_packed_decode_pointer(nir_instr *instr)
{
   if (instr->type != nir_instr_type_alu)
      return NULL;
   const nir_alu_instr *alu = nir_instr_as_alu(instr);
   return alu->op == nir_op_pack_64_2x32 ? nir_src_as_deref(alu->src[0].src) : NULL;
}

/* ---- workgroups' matrices ---- */

/* Marks a matrix, or the tiles of one, that lies once per workgroup in shared memory. Its variable
 * is function_temp nevertheless, like all variables that are tiles. lower_cmat_scope() makes each
 * subgroup fill a part of it, between barriers.
 *
 * Only cmat_insert_columns_weft, cmat_load_columns_weft and their lowered forms write it.
 * Multiplications before the next barrier read it as B, so two matrices of the
 * workgroup may share memory. */
static inline void weft_mark_workgroup_matrix(nir_variable *variable)
{
   variable->data.access = (enum gl_access_qualifier)(variable->data.access | ACCESS_COHERENT);
}

static inline bool weft_is_workgroup_matrix(const nir_variable *variable)
{
   return variable->data.mode == nir_var_function_temp &&
          (variable->data.access & ACCESS_COHERENT) != 0;
}

/* Removes a shader's own decorations of private variables as coherent, which have no meaning and
 * would pass for marks. Returns whether the shader had any. */
static inline bool weft_clear_decorations(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   bool progress = false;
   nir_foreach_function_temp_variable(variable, impl) {
      progress |= weft_is_workgroup_matrix(variable);
      variable->data.access = (enum gl_access_qualifier)(variable->data.access & ~ACCESS_COHERENT);
   }
   nir_metadata_preserve(impl, nir_metadata_all);
   return progress;
}

/* ---- shared tiles ---- */

/* The CPU back end keeps some tiles of factors in shared memory (opt_product_order.h). Their derefs
 * and offsets have 64 bits, unlike private tiles, which have 32. */
#define WEFT_SHARED_TILE_ADDRESS nir_address_format_32bit_offset_as_64bit

/* The deref of a shared variable with tiles. */
static inline nir_deref_instr *weft_build_shared_tiles(nir_builder *b, nir_variable *tiles)
{
   nir_deref_instr *all = nir_build_deref_var(b, tiles);
   all->def.bit_size = nir_address_format_bit_size(WEFT_SHARED_TILE_ADDRESS);
   return all;
}

static inline bool weft_is_shared_tile(nir_src tile)
{
   return tile.ssa->bit_size == nir_address_format_bit_size(WEFT_SHARED_TILE_ADDRESS);
}

/* ---- indices of whole operations ---- */

/* The value of CALLEE or RUN_CALLEE that names no function. */
#define WEFT_NO_CALLEE (~0u)

/* Tensors have at most five dimensions (SPV_NV_tensor_addressing). */
#define WEFT_MAX_TENSOR_DIM 5

/* PERMUTATION has three bits for each dimension. */
static inline unsigned weft_add_permuted_dimension(unsigned permutation, unsigned i,
                                                   unsigned dimension)
{
   return permutation | dimension << (3 * i);
}

static inline unsigned weft_permuted_dimension(unsigned permutation, unsigned i)
{
   return permutation >> (3 * i) & 7;
}
