// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Translates NIR's description of matrix types to this project's terms.

#pragma once

#include "nir_passes/component_type.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <optional>
#include <string>

namespace weft {

/// The component type of a matrix. Each operation defines the signedness of integers; for other
/// types, is_signed is ignored.
std::optional<ComponentType> component_type(glsl_base_type, bool is_signed);
/// The component type as declared.
std::optional<ComponentType> component_type(const glsl_cmat_description &);

/// Bits of one component.
unsigned component_bits(const glsl_cmat_description &);
/// Whether the components were declared as signed integers.
bool has_signed_components(const glsl_cmat_description &);
bool has_real_components(const glsl_cmat_description &);

/// The unit, in bytes, of a matrix's stride in memory: the size of the pointer's target, a scalar
/// or a vector, without padding.
uint32_t pointee_bytes(const nir_deref_instr *pointer);

/// Casts the pointer to unsigned integers of a component's size, or to words if it points to words
/// or larger types. Memory with only word accesses can then stay an array of words.
nir_deref_instr *cmat_unit_pointer(nir_builder *, nir_deref_instr *pointer,
                                   const glsl_cmat_description &);

/// "A", for messages.
const char *describe(glsl_cmat_use);
/// "16x8 f16 (A)", for messages.
std::string describe(const glsl_cmat_description &);

} // namespace weft
