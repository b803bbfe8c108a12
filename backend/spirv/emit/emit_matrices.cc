// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's own cooperative matrices (SPV_KHR_cooperative_matrix). In NIR, intrinsics read and
/// write them as variables; here each read loads the matrix.

#include "backend/spirv/emit/alu_table.h"
#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/matrix_types.h"
#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/copies/lower_cmat_inserts.h"

namespace weft::spirv {

namespace {

/// The instruction for unary_op and binary_op; OpNop for operations that SPIR-V does not define for
/// matrices.
SpvOp matrix_instruction(nir_op op, const glsl_type *matrix)
{
   const AluRule *rule = find_alu_rule(op, component_bits(*glsl_get_cmat_description(matrix)));
   return rule && rule->on_matrices ? rule->instruction : conversion_instruction(op);
}

/* ---- whole matrices ---- */

Id load_matrix(Translator &t, const nir_src &source)
{
   nir_deref_instr *deref = nir_src_as_deref(source);
   return t.m.emit(SpvOpLoad, t.type(deref->type), {t.variables.pointer_to(deref).id});
}

void store_matrix(Translator &t, const nir_src &destination, Id matrix)
{
   t.m.emit(SpvOpStore, {t.variables.pointer_to(nir_src_as_deref(destination)).id, matrix});
}

Id matrix_scalar(Translator &t, const nir_src &source, const glsl_type *matrix)
{
   const Id value = t.get(source, component_kind(matrix));
   return has_signed_components(*glsl_get_cmat_description(matrix))
             ? t.m.emit(SpvOpBitcast, matrix_component_type(t, matrix), {value})
             : value;
}

/// A tile's location in memory: a pointer to units, in which the stride counts.
/// lower_access_units() and lower_shared_memory() produced it.
Pointer tile_pointer(Translator &t, nir_intrinsic_instr *instr, const nir_src &address)
{
   const auto modes = nir_variable_mode(nir_intrinsic_memory_modes(instr));
   if (modes & nir_var_mem_shared) {
      nir_deref_instr *element = nir_src_as_deref(address);
      assert(nir_intrinsic_stride_unit(instr) == pointee_bytes(element));
      return t.variables.pointer_to(element);
   }

   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const unsigned bits = component_bits(desc);
   assert(nir_intrinsic_stride_unit(instr) == bits / 8);
   const Id unit_type = t.m.type_uint(bits);
   if (modes & nir_var_mem_ssbo)
      return t.buffers.pointer_to(instr, address, unit_type, t.get(address, 2, Kind::integer),
                                  bits / 8);

   return t.global_memory.array_pointer(t.get(address, Kind::integer), unit_type, bits);
}

void emit_tile_access(Translator &t, nir_intrinsic_instr *instr)
{
   const bool store = instr->intrinsic == nir_intrinsic_tile_store_weft;
   const nir_src &matrix = instr->src[store ? 1 : 0], &address = instr->src[store ? 0 : 1];
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const Id type = t.type(nir_src_as_deref(matrix)->type);
   const Id object = store ? load_matrix(t, matrix) : 0;
   const Pointer pointer = tile_pointer(t, instr, address);
   const bool row_major = nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
   Words operands = {pointer.id};
   if (store)
      operands.push_back(object);
   operands.push_back(t.m.constant_uint(row_major ? SpvCooperativeMatrixLayoutRowMajorKHR
                                                  : SpvCooperativeMatrixLayoutColumnMajorKHR));
   operands.push_back(t.get(instr->src[2], Kind::integer));
   const unsigned align =
      pointer.storage == SpvStorageClassPhysicalStorageBuffer ? component_bits(desc) / 8 : 0;
   for (uint32_t word : memory_operands(t, nir_intrinsic_access(instr) | pointer.access, store,
                                        pointer.storage, align))
      operands.push_back(word);
   if (store)
      t.m.emit(SpvOpCooperativeMatrixStoreKHR, operands);
   else
      store_matrix(t, matrix, t.m.emit(SpvOpCooperativeMatrixLoadKHR, type, operands));
}

void emit_tile_muladd(Translator &t, nir_intrinsic_instr *instr)
{
   const Id type = t.type(nir_src_as_deref(instr->src[0])->type);
   const unsigned mask = nir_intrinsic_cmat_signed_mask(instr);
   uint32_t flags = 0;
   flags |= mask & NIR_CMAT_A_SIGNED
               ? uint32_t(SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask)
               : 0;
   flags |= mask & NIR_CMAT_B_SIGNED
               ? uint32_t(SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask)
               : 0;
   flags |= mask & NIR_CMAT_C_SIGNED
               ? uint32_t(SpvCooperativeMatrixOperandsMatrixCSignedComponentsKHRMask)
               : 0;
   flags |= mask & NIR_CMAT_RESULT_SIGNED
               ? uint32_t(SpvCooperativeMatrixOperandsMatrixResultSignedComponentsKHRMask)
               : 0;
   flags |= nir_intrinsic_saturate(instr)
               ? uint32_t(SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask)
               : 0;
   Words operands;
   for (unsigned i = 1; i < 4; ++i)
      operands.push_back(load_matrix(t, instr->src[i]));
   if (flags)
      operands.push_back(flags);
   store_matrix(t, instr->src[0], t.m.emit(SpvOpCooperativeMatrixMulAddKHR, type, operands));
}

void emit_matrix_op(Translator &t, nir_intrinsic_instr *instr)
{
   const glsl_type *result = nir_src_as_deref(instr->src[0])->type;
   const SpvOp op = matrix_instruction(nir_op(nir_intrinsic_alu_op(instr)), result);
   if (op == SpvOpNop) {
      return t.fail(std::string("the operation ") + nir_op_infos[nir_intrinsic_alu_op(instr)].name +
                    " on a matrix is not supported");
   }
   Words operands = {load_matrix(t, instr->src[1])};
   if (instr->intrinsic == nir_intrinsic_cmat_binary_op)
      operands.push_back(load_matrix(t, instr->src[2]));
   store_matrix(t, instr->src[0], t.m.emit(op, t.type(result), operands));
}

/* ---- components ---- */

/// A pointer to one of the running invocation's components.
Pointer component_pointer(Translator &t, const nir_src &matrix, const nir_src &component)
{
   nir_deref_instr *deref = nir_src_as_deref(matrix);
   const Id pointer_type =
      t.m.type_pointer(SpvStorageClassFunction, matrix_component_type(t, deref->type));
   const Id base = t.variables.pointer_to(deref).id;
   return {t.m.emit(SpvOpAccessChain, pointer_type, {base, t.get(component, Kind::integer)}),
           SpvStorageClassFunction};
}

void emit_extract(Translator &t, nir_intrinsic_instr *instr)
{
   const glsl_type *matrix = nir_src_as_deref(instr->src[0])->type;
   const Kind kind = component_kind(matrix);
   const Id pointer = component_pointer(t, instr->src[0], instr->src[1]).id;
   Id value = t.m.emit(SpvOpLoad, matrix_component_type(t, matrix), {pointer});
   if (has_signed_components(*glsl_get_cmat_description(matrix)))
      value = t.m.emit(SpvOpBitcast, t.type(kind, instr->def.bit_size), {value});
   t.define(instr->def, 0, value, kind);
}

void emit_insert(Translator &t, nir_intrinsic_instr *instr)
{
   assert(is_in_place(instr));
   const glsl_type *matrix = nir_src_as_deref(instr->src[0])->type;
   t.m.emit(SpvOpStore, {component_pointer(t, instr->src[0], instr->src[3]).id,
                         matrix_scalar(t, instr->src[1], matrix)});
}

} // namespace

bool emit_matrix(Translator &t, nir_intrinsic_instr *instr)
{
   const auto matrix = [&](unsigned source) { return nir_src_as_deref(instr->src[source])->type; };
   switch (instr->intrinsic) {
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
      emit_tile_access(t, instr);
      return true;
   case nir_intrinsic_tile_muladd_weft:
      emit_tile_muladd(t, instr);
      return true;
   case nir_intrinsic_cmat_construct:
      store_matrix(t, instr->src[0],
                   t.m.emit(SpvOpCompositeConstruct, t.type(matrix(0)),
                            {matrix_scalar(t, instr->src[1], matrix(0))}));
      return true;
   case nir_intrinsic_cmat_unary_op:
   case nir_intrinsic_cmat_binary_op:
      emit_matrix_op(t, instr);
      return true;
   case nir_intrinsic_cmat_scalar_op:
      /* Matrix and scalar: only the product exists. */
      store_matrix(
         t, instr->src[0],
         t.m.emit(SpvOpMatrixTimesScalar, t.type(matrix(0)),
                  {load_matrix(t, instr->src[1]), matrix_scalar(t, instr->src[2], matrix(1))}));
      return true;
   case nir_intrinsic_cmat_bitcast:
      store_matrix(t, instr->src[0],
                   t.m.emit(SpvOpBitcast, t.type(matrix(0)), {load_matrix(t, instr->src[1])}));
      return true;
   case nir_intrinsic_cmat_copy:
      store_matrix(t, instr->src[0], load_matrix(t, instr->src[1]));
      return true;
   case nir_intrinsic_cmat_extract:
      emit_extract(t, instr);
      return true;
   case nir_intrinsic_cmat_insert:
      emit_insert(t, instr);
      return true;
   case nir_intrinsic_cmat_length: {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      const Id length = t.m.emit(SpvOpCooperativeMatrixLengthKHR, t.m.type_uint(32),
                                 {t.type(glsl_cmat_type(&desc))});
      t.define(instr->def, 0, length, Kind::integer);
      return true;
   }
   default:
      return false;
   }
}

} // namespace weft::spirv
