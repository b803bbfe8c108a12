// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What NIR's description of a matrix type says, in this project's terms.

#pragma once

#include "nir_passes/component_type.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <optional>
#include <string>

namespace weft {

/// The component type of a matrix.  Whether the bits of an integer have a sign is for each
/// operation to say: is_signed is not asked for other types.
std::optional<ComponentType> component_type(glsl_base_type, bool is_signed);
/// As it was declared.
std::optional<ComponentType> component_type(const glsl_cmat_description &);

/// Bits of one component.
unsigned component_bits(const glsl_cmat_description &);
/// Whether its components were declared as signed integers.
bool has_signed_components(const glsl_cmat_description &);
bool has_real_components(const glsl_cmat_description &);

/// The bytes in which a matrix's stride in memory counts: what the pointer points to, scalars or
/// vectors, without padding between them.
uint32_t pointee_bytes(const nir_deref_instr *pointer);

/// The pointer as one to unsigned integers of a component's size; to words if the pointer is to
/// words or wider: memory that everybody else accesses in words can stay an array of words.
nir_deref_instr *cmat_unit_pointer(nir_builder *, nir_deref_instr *pointer,
                                   const glsl_cmat_description &);

/// "A", for messages.
const char *describe(glsl_cmat_use);
/// "16x8 f16 (A)", for messages.
std::string describe(const glsl_cmat_description &);

} // namespace weft
