// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// The contract between finish_for_cpu() and nir_to_llvm(): only these operations and intrinsics
/// occur. `bit_size` is the size of the operation's result.
bool is_in_final_form(nir_op, unsigned bit_size);
bool is_in_final_form(nir_intrinsic_op);

/// An Error for the first instruction outside of the form, such as an image operation.
Result<bool> validate_final_form(nir_shader *);

/// Checks private memory while it has derefs: an Error for an access of another type than the
/// variable's. Private memory has the layout [component][lane] of the element's size, which the
/// dense map of matrices assumes (element_map.h). An invocation's bytes are not adjacent there, so
/// only accesses of the element's own width find earlier stores.
Result<bool> validate_private_memory(nir_shader *);

} // namespace weft::cpu
