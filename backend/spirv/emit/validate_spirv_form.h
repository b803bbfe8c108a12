// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The form of NIR that becomes SPIR-V: structured control flow, registers in place of phis,
/// scalars in arithmetic and subgroup operations, buffers as units
/// (nir_passes/memory/lower_access_units.h).

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <string>

namespace weft::spirv {

/// The part of the translator that handles an intrinsic. Intrinsics outside of these groups are not
/// supported.
enum class IntrinsicGroup : uint8_t {
   unsupported,
   load_buffer,
   store_buffer,
   buffer_size,
   push_constant,
   load_global,
   store_global,
   load_variable,
   store_variable,
   atomic,
   barrier,
   declare_register,
   load_register,
   store_register,
   subgroup,
   system,
   image,
   matrix,
};

IntrinsicGroup group_of(nir_intrinsic_op);

/// The reason why an instruction, with its operands, has no translation; empty if it has one.
std::string objection(nir_instr *);

/// An Error for the first instruction outside of the form.
Result<bool> validate_spirv_form(nir_shader *);

} // namespace weft::spirv
