// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's own cooperative matrices (SPV_KHR_cooperative_matrix).  In NIR they are variables
/// that intrinsics read and write; here a matrix is loaded where it is read.

#include "backend/spirv/translator.h"

#include "nir_passes/cmat_description.h"

namespace weft::spirv {

namespace {

Kind kind_of(const glsl_type *matrix)
{
   return has_real_components(*glsl_get_cmat_description(matrix)) ? Kind::real : Kind::integer;
}

/// Of unary_op, binary_op and scalar_op; OpNop for what SPIR-V does not do with matrices.
SpvOp matrix_op(nir_op op)
{
   switch (op) {
   case nir_op_fneg:
      return SpvOpFNegate;
   case nir_op_ineg:
      return SpvOpSNegate;
   case nir_op_fadd:
      return SpvOpFAdd;
   case nir_op_iadd:
      return SpvOpIAdd;
   case nir_op_fsub:
      return SpvOpFSub;
   case nir_op_isub:
      return SpvOpISub;
   case nir_op_fmul:
      return SpvOpFMul;
   case nir_op_imul:
      return SpvOpIMul;
   case nir_op_fdiv:
      return SpvOpFDiv;
   case nir_op_idiv:
      return SpvOpSDiv;
   case nir_op_udiv:
      return SpvOpUDiv;
   default:
      break;
   }
   if (!nir_op_infos[op].is_conversion)
      return SpvOpNop;
   const nir_alu_type from = nir_alu_type_get_base_type(nir_op_infos[op].input_types[0]),
                      to = nir_alu_type_get_base_type(nir_op_infos[op].output_type);
   switch (from) {
   case nir_type_float:
      return to == nir_type_float ? SpvOpFConvert
             : to == nir_type_int ? SpvOpConvertFToS
                                  : SpvOpConvertFToU;
   case nir_type_int:
      return to == nir_type_float ? SpvOpConvertSToF : SpvOpSConvert;
   case nir_type_uint:
      return to == nir_type_float ? SpvOpConvertUToF : SpvOpUConvert;
   default:
      return SpvOpNop;
   }
}

} // namespace

/* ---- types ---- */

/// Matrices tell signed integers from unsigned ones, as nothing else here does.
Id Translator::component_type_id(const glsl_type *matrix)
{
   const glsl_cmat_description &desc = *glsl_get_cmat_description(matrix);
   const unsigned bits = component_bits(desc);
   return has_signed_components(desc) ? m.type_int(bits, true) : type(kind_of(matrix), bits);
}

Id Translator::matrix_type(const glsl_type *matrix)
{
   const glsl_cmat_description &desc = *glsl_get_cmat_description(matrix);
   m.capability(SpvCapabilityCooperativeMatrixKHR);
   m.extension("SPV_KHR_cooperative_matrix");
   const SpvCooperativeMatrixUse use =
      desc.use == GLSL_CMAT_USE_A   ? SpvCooperativeMatrixUseMatrixAKHR
      : desc.use == GLSL_CMAT_USE_B ? SpvCooperativeMatrixUseMatrixBKHR
                                    : SpvCooperativeMatrixUseMatrixAccumulatorKHR;
   return m.type(SpvOpTypeCooperativeMatrixKHR,
                 {component_type_id(matrix), scope(SpvScopeSubgroup), m.constant_uint(desc.rows),
                  m.constant_uint(desc.cols), m.constant_uint(uint32_t(use))});
}

/* ---- whole matrices ---- */

Id Translator::load_matrix(const nir_src &source)
{
   nir_deref_instr *deref = nir_src_as_deref(source);
   return m.emit(SpvOpLoad, type(deref->type), {variable_pointer(deref).id});
}

void Translator::store_matrix(const nir_src &destination, Id matrix)
{
   m.emit(SpvOpStore, {variable_pointer(nir_src_as_deref(destination)).id, matrix});
}

Id Translator::matrix_scalar(const nir_src &source, const glsl_type *matrix)
{
   const Id value = get(source, kind_of(matrix));
   return has_signed_components(*glsl_get_cmat_description(matrix))
             ? m.emit(SpvOpBitcast, component_type_id(matrix), {value})
             : value;
}

/// Where a tile lies in memory: a pointer to units, which the stride counts, as
/// lower_access_units() and lower_shared_memory() leave them.
Pointer Translator::tile_pointer(nir_intrinsic_instr *instr, const nir_src &address)
{
   const auto modes = nir_variable_mode(nir_intrinsic_memory_modes(instr));
   if (modes & nir_var_mem_shared) {
      nir_deref_instr *element = nir_src_as_deref(address);
      assert(nir_intrinsic_stride_unit(instr) == pointee_bytes(element));
      return variable_pointer(element);
   }

   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const unsigned bits = component_bits(desc);
   assert(nir_intrinsic_stride_unit(instr) == bits / 8);
   const Id unit_type = m.type_uint(bits);
   if (modes & nir_var_mem_ssbo)
      return buffer_pointer(instr, address, unit_type, get(address, 2, Kind::integer), bits / 8);

   /* A pointer into an array is asked for. */
   physical_addresses = true;
   require_small_storage(bits);
   Id &block = global_arrays[unit_type];
   if (!block) {
      const Id array = m.distinct_type(SpvOpTypeRuntimeArray, {unit_type});
      m.decorate(array, SpvDecorationArrayStride, {bits / 8});
      block = m.distinct_type(SpvOpTypeStruct, {array});
      m.decorate(block, SpvDecorationBlock);
      m.decorate_member(block, 0, SpvDecorationOffset, {0});
   }
   const auto storage = SpvStorageClassPhysicalStorageBuffer;
   const Id base =
      m.emit(SpvOpConvertUToPtr, m.type_pointer(storage, block), {get(address, Kind::integer)});
   const Id zero = m.constant_uint(0);
   return {m.emit(SpvOpAccessChain, m.type_pointer(storage, unit_type), {base, zero, zero}),
           storage};
}

void Translator::emit_tile_access(nir_intrinsic_instr *instr)
{
   const bool store = instr->intrinsic == nir_intrinsic_tile_store_weft;
   const nir_src &matrix = instr->src[store ? 1 : 0], &address = instr->src[store ? 0 : 1];
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const Id type = this->type(nir_src_as_deref(matrix)->type);
   const Id object = store ? load_matrix(matrix) : 0;
   const Pointer pointer = tile_pointer(instr, address);
   const bool row_major = nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
   Words operands = {pointer.id};
   if (store)
      operands.push_back(object);
   operands.push_back(m.constant_uint(row_major ? SpvCooperativeMatrixLayoutRowMajorKHR
                                                : SpvCooperativeMatrixLayoutColumnMajorKHR));
   operands.push_back(get(instr->src[2], Kind::integer));
   const unsigned align =
      pointer.storage == SpvStorageClassPhysicalStorageBuffer ? component_bits(desc) / 8 : 0;
   for (uint32_t word : memory_operands(pointer.access, store, pointer.storage, align))
      operands.push_back(word);
   if (store)
      m.emit(SpvOpCooperativeMatrixStoreKHR, operands);
   else
      store_matrix(matrix, m.emit(SpvOpCooperativeMatrixLoadKHR, type, operands));
}

void Translator::emit_tile_muladd(nir_intrinsic_instr *instr)
{
   const Id type = this->type(nir_src_as_deref(instr->src[0])->type);
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
      operands.push_back(load_matrix(instr->src[i]));
   if (flags)
      operands.push_back(flags);
   store_matrix(instr->src[0], m.emit(SpvOpCooperativeMatrixMulAddKHR, type, operands));
}

void Translator::emit_matrix_op(nir_intrinsic_instr *instr)
{
   const glsl_type *result = nir_src_as_deref(instr->src[0])->type;
   const SpvOp op = matrix_op(nir_op(nir_intrinsic_alu_op(instr)));
   if (op == SpvOpNop) {
      return fail(std::string("the operation ") + nir_op_infos[nir_intrinsic_alu_op(instr)].name +
                  " on a matrix is not supported");
   }
   Words operands = {load_matrix(instr->src[1])};
   if (instr->intrinsic == nir_intrinsic_cmat_binary_op)
      operands.push_back(load_matrix(instr->src[2]));
   store_matrix(instr->src[0], m.emit(op, type(result), operands));
}

/* ---- components ---- */

/// A component of the running invocation's.
Pointer Translator::component_pointer(const nir_src &matrix, const nir_src &component)
{
   nir_deref_instr *deref = nir_src_as_deref(matrix);
   const Id pointer_type = m.type_pointer(SpvStorageClassFunction, component_type_id(deref->type));
   const Id base = variable_pointer(deref).id;
   return {m.emit(SpvOpAccessChain, pointer_type, {base, get(component, Kind::integer)}),
           SpvStorageClassFunction};
}

void Translator::emit_extract(nir_intrinsic_instr *instr)
{
   const glsl_type *matrix = nir_src_as_deref(instr->src[0])->type;
   const Kind kind = kind_of(matrix);
   const Id pointer = component_pointer(instr->src[0], instr->src[1]).id;
   Id value = m.emit(SpvOpLoad, component_type_id(matrix), {pointer});
   if (has_signed_components(*glsl_get_cmat_description(matrix)))
      value = m.emit(SpvOpBitcast, type(kind, instr->def.bit_size), {value});
   define(instr->def, 0, value, kind);
}

/// The result is the matrix that the component is replaced in, or has become a copy of it.
void Translator::emit_insert(nir_intrinsic_instr *instr)
{
   const glsl_type *matrix = nir_src_as_deref(instr->src[0])->type;
   m.emit(SpvOpStore, {component_pointer(instr->src[0], instr->src[3]).id,
                       matrix_scalar(instr->src[1], matrix)});
}

bool Translator::emit_matrix(nir_intrinsic_instr *instr)
{
   const auto matrix = [&](unsigned source) { return nir_src_as_deref(instr->src[source])->type; };
   switch (instr->intrinsic) {
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
      emit_tile_access(instr);
      return true;
   case nir_intrinsic_tile_muladd_weft:
      emit_tile_muladd(instr);
      return true;
   case nir_intrinsic_cmat_construct:
      store_matrix(instr->src[0], m.emit(SpvOpCompositeConstruct, type(matrix(0)),
                                         {matrix_scalar(instr->src[1], matrix(0))}));
      return true;
   case nir_intrinsic_cmat_unary_op:
   case nir_intrinsic_cmat_binary_op:
      emit_matrix_op(instr);
      return true;
   case nir_intrinsic_cmat_scalar_op:
      /* Of a matrix and a scalar there is the product only. */
      store_matrix(instr->src[0],
                   m.emit(SpvOpMatrixTimesScalar, type(matrix(0)),
                          {load_matrix(instr->src[1]), matrix_scalar(instr->src[2], matrix(1))}));
      return true;
   case nir_intrinsic_cmat_bitcast:
      store_matrix(instr->src[0],
                   m.emit(SpvOpBitcast, type(matrix(0)), {load_matrix(instr->src[1])}));
      return true;
   case nir_intrinsic_cmat_copy:
      store_matrix(instr->src[0], load_matrix(instr->src[1]));
      return true;
   case nir_intrinsic_cmat_extract:
      emit_extract(instr);
      return true;
   case nir_intrinsic_cmat_insert:
      emit_insert(instr);
      return true;
   case nir_intrinsic_cmat_length: {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      const Id length =
         m.emit(SpvOpCooperativeMatrixLengthKHR, m.type_uint(32), {type(glsl_cmat_type(&desc))});
      define(instr->def, 0, length, Kind::integer);
      return true;
   }
   default:
      return false;
   }
}

} // namespace weft::spirv
