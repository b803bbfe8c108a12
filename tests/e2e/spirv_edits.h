// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Changes of glslang's SPIR-V, for instructions that GLSL or the supported glslang lacks.

#pragma once

#include <cstdint>
#include <vector>

namespace weft::e2e {

/// Gives instructions with a matrix as result the opcode `to` instead of `from`, for instructions
/// of the same form that GLSL lacks. Returns their number.
uint32_t replace_matrix_opcode(std::vector<uint32_t> &spirv, uint16_t from, uint16_t to);

/// Replaces each instruction `from` by a dot product of packed bytes `to` with the same operands:
/// two factors, or these and an accumulator. Returns their number.
uint32_t replace_by_packed_dot(std::vector<uint32_t> &spirv, uint16_t from, uint16_t to);

/// Replaces calls of functions named bitcast_…, construct_…, extract_… and sub_array_… by the
/// instructions of SPV_QCOM_cooperative_matrix_conversion. The parameters have to be const: GLSL
/// passes these as values. Returns the number of calls.
uint32_t replace_calls_by_array_conversions(std::vector<uint32_t> &spirv);

/// Declares SPV_ARM_cooperative_matrix_layouts, whose layouts are numbers in GLSL.
void declare_blocked_layouts(std::vector<uint32_t> &spirv);

/// Makes the function NAME_vector() the DecodeVectorFunc of each tensor load with the decode
/// function NAME(), and its result, a struct of scalars, a vector. The module has to call
/// NAME_vector(). Returns the number of loads.
uint32_t add_vector_decode_functions(std::vector<uint32_t> &spirv);

/// Replaces conversions of the use and transposes of SPV_NV_cooperative_matrix2 by the instructions
/// of SPV_EXT_cooperative_matrix_maintenance1. Returns their number.
uint32_t use_maintenance1_conversions(std::vector<uint32_t> &spirv);

/// Replaces calls of functions named coordinate_…, of a matrix and a component's number, by
/// OpCooperativeMatrixGetCoordinateEXT. Returns their number.
uint32_t replace_calls_by_coordinates(std::vector<uint32_t> &spirv);

/// If both branches into a block end with a store of a matrix to the same variable, replaces the
/// stores by an OpPhi and a store at the block's beginning. Optimizers do the same. Returns the
/// number of blocks.
uint32_t insert_matrix_phis(std::vector<uint32_t> &spirv);

} // namespace weft::e2e
