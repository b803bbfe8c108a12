// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads, stores and multiplications of matrices for a back end with tile operations: tile_*_weft,
/// whose strides count bytes.

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/lowering/cmat_context.h"

namespace weft::cmat {

namespace {

/// The stride of cmat_load and cmat_store counts the pointer's target type.
nir_def *stride_in_bytes(nir_builder *b, const nir_deref_instr *pointer, nir_def *stride,
                         unsigned bits)
{
   return nir_imul_imm(b, nir_u2uN(b, stride, bits), pointee_bytes(pointer));
}

/// The form of pointers and strides that the back end takes.
enum class TileMemory {
   machine, ///< the program's pointers; strides of 64 bits
   units,   ///< pointers to units (cmat_unit_pointer()), strides of 32 bits
};

/// The operands of tile_load_weft and tile_store_weft.
struct Access {
   nir_deref_instr *pointer;
   nir_def *stride;
};

Access access(nir_builder *b, const glsl_cmat_description &desc, nir_intrinsic_instr *instr,
              unsigned pointer_source, TileMemory memory)
{
   nir_deref_instr *pointer = nir_src_as_deref(instr->src[pointer_source]);
   nir_def *stride = instr->src[2].ssa;
   if (memory == TileMemory::machine)
      return {pointer, stride_in_bytes(b, pointer, stride, 64)};
   return {cmat_unit_pointer(b, pointer, desc), stride_in_bytes(b, pointer, stride, 32)};
}

void build_load(nir_builder *b, const Matrix &result, nir_intrinsic_instr *instr, TileMemory memory)
{
   const Access from = access(b, result.desc, instr, 1, memory);
   _nir_build_tile_load_weft(b, &result.deref->def, &from.pointer->def, from.stride,
                             {._ = 0,
                              .cmat_desc = result.desc,
                              .matrix_layout = nir_intrinsic_matrix_layout(instr),
                              .memory_modes = from.pointer->modes,
                              .stride_unit = 1,
                              .access = nir_intrinsic_access(instr)});
}

void build_store(nir_builder *b, const Matrix &source, nir_intrinsic_instr *instr,
                 TileMemory memory)
{
   const Access to = access(b, source.desc, instr, 0, memory);
   _nir_build_tile_store_weft(b, &to.pointer->def, &source.deref->def, to.stride,
                              {._ = 0,
                               .cmat_desc = source.desc,
                               .matrix_layout = nir_intrinsic_matrix_layout(instr),
                               .memory_modes = to.pointer->modes,
                               .stride_unit = 1,
                               .access = nir_intrinsic_access(instr)});
}

void build_muladd(nir_builder *b, const Matrix &d, const Matrix &a, const Matrix &bm,
                  const Matrix &c, nir_intrinsic_instr *instr)
{
   _nir_build_tile_muladd_weft(b, &d.deref->def, &a.deref->def, &bm.deref->def, &c.deref->def,
                               {._ = 0,
                                .cmat_desc = d.desc,
                                .a_cmat_desc = a.desc,
                                .b_cmat_desc = bm.desc,
                                .c_cmat_desc = c.desc,
                                .saturate = nir_intrinsic_saturate(instr),
                                .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(instr)});
}

Matrix matrix_operand(nir_intrinsic_instr *instr, unsigned source)
{
   nir_deref_instr *deref = nir_src_as_deref(instr->src[source]);
   return {deref, *glsl_get_cmat_description(deref->type)};
}

bool select_driver_tile(nir_builder *b, nir_intrinsic_instr *instr, void *)
{
   b->cursor = nir_before_instr(&instr->instr);
   switch (instr->intrinsic) {
   case nir_intrinsic_cmat_load:
      build_load(b, matrix_operand(instr, 0), instr, TileMemory::units);
      break;
   case nir_intrinsic_cmat_store:
      build_store(b, matrix_operand(instr, 1), instr, TileMemory::units);
      break;
   case nir_intrinsic_cmat_muladd:
      build_muladd(b, matrix_operand(instr, 0), matrix_operand(instr, 1), matrix_operand(instr, 2),
                   matrix_operand(instr, 3), instr);
      break;
   default:
      return false;
   }
   nir_instr_remove(&instr->instr);
   return true;
}

} // namespace

void lower_load_to_tiles(Context &s, nir_intrinsic_instr *instr)
{
   build_load(&s.b, s.operand(instr, 0), instr, TileMemory::machine);
}

void lower_store_to_tiles(Context &s, nir_intrinsic_instr *instr)
{
   build_store(&s.b, s.operand(instr, 1), instr, TileMemory::machine);
}

void lower_muladd_to_tiles(Context &s, nir_intrinsic_instr *instr)
{
   build_muladd(&s.b, s.operand(instr, 0), s.operand(instr, 1), s.operand(instr, 2),
                s.operand(instr, 3), instr);
}

void lower_insert_columns_to_tiles(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0), source = s.operand(instr, 1);
   assert(result.desc.cols == source.desc.cols);
   const uint64_t stride = source.desc.cols * component_bits(source.desc) / 8;
   _nir_build_tile_load_weft(&s.b, &result.deref->def, &source.deref->def,
                             nir_imm_int64(&s.b, int64_t(stride)),
                             {._ = 0,
                              .cmat_desc = result.desc,
                              .matrix_layout = GLSL_MATRIX_LAYOUT_ROW_MAJOR,
                              .memory_modes = nir_var_function_temp,
                              .stride_unit = 1,
                              .access = {}});
}

bool lower_to_driver_tiles(nir_shader *nir)
{
   return nir_shader_intrinsics_pass(nir, select_driver_tile, nir_metadata_control_flow, nullptr);
}

} // namespace weft::cmat
