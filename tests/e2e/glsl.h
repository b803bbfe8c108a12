// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute shaders written by the tests as they run: text templates, and GLSL to SPIR-V in process.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace weft::e2e {

using Words = std::map<std::string, std::string>;

/// Replaces every $NAME (capitals, digits, underscores) by its word; an unknown name is a
/// std::logic_error.
std::string expand(const std::string &text, const Words &words);

/// #version and all the extensions that the tests use, for features that the device may or may not
/// have: a shader needs only those whose types it names.
extern const char *const glsl_header;

/// GLSL has no matrices of doubles, though SPIR-V does.  compile_glsl() therefore takes a source
/// with coopmat<float64_t, …> as if it said float, and widens every float of the module; such a
/// source cannot use single floats as well.  In the same way int16_t and uint16_t stand for
/// coopmat<int64_t, …> and coopmat<uint64_t, …>; constants of 64 bits have to fit into 16.  Returns
/// why this source cannot be expressed, or nothing.
std::string inexpressible(const std::string &source);

/// The glslang in reach knows neither bfloat16 nor float8.  bfloat16_t, floate4m3_t and floate5m2_t
/// therefore become integers of their size, of the sign of others beside them, in a source that
/// compile_glsl() takes, which has no other use for those; and in the module these become floats of
/// an encoding, with conversions of floats.  Of constants only whole numbers can be expressed.

/// Compiles for Vulkan 1.3; throws std::runtime_error with the numbered source.  With the
/// environment variable WEFT_DUMP_GLSL=FOLDER every source is also written there, named after the
/// running test.
std::vector<uint32_t> compile_glsl(const std::string &source);

/// Replaces, in every instruction of opcode `from` whose result type is a cooperative matrix, the
/// opcode by `to`; for instructions of equal form that GLSL cannot spell.  Returns how many.
uint32_t replace_matrix_opcode(std::vector<uint32_t> &spirv, uint16_t from, uint16_t to);

/// Makes dot products of packed bytes of all instructions `from`, which take the same two operands,
/// or three with the accumulator; returns how many there were.
uint32_t replace_by_packed_dot(std::vector<uint32_t> &spirv, uint16_t from, uint16_t to);

/// Makes SPV_QCOM_cooperative_matrix_conversion's instructions of calls of functions by the names of
/// bitcast_…, construct_…, extract_… and sub_array_….  Parameters have to be const, which are passed
/// as values.  Returns how many.
uint32_t replace_calls_by_array_conversions(std::vector<uint32_t> &spirv);

/// Declares SPV_ARM_cooperative_matrix_layouts, whose layouts GLSL takes as numbers.
void declare_blocked_layouts(std::vector<uint32_t> &spirv);

/// Makes the function NAME_vector(), which the module has to call somewhere, the DecodeVectorFunc of
/// all tensor loads with the decode function NAME(), and a vector of the struct of scalars that it
/// returns.  How many loads there were.
uint32_t add_vector_decode_functions(std::vector<uint32_t> &spirv);

/// Makes SPV_EXT_cooperative_matrix_maintenance1's form of SPV_NV_cooperative_matrix2's conversions of
/// the use and transposes.  How many there were.
uint32_t use_maintenance1_conversions(std::vector<uint32_t> &spirv);

/// Makes OpCooperativeMatrixGetCoordinateEXT of calls of functions by the names of coordinate_…, of a
/// matrix and the number of a component.  How many there were.
uint32_t replace_calls_by_coordinates(std::vector<uint32_t> &spirv);

/// Where both ways into a block end with storing a matrix to the same variable, makes it one OpPhi
/// and one store at the block's beginning, as an optimiser would.  Returns how many.
uint32_t insert_matrix_phis(std::vector<uint32_t> &spirv);

} // namespace weft::e2e
