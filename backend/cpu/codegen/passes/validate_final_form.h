// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// The contract between lower_for_cpu() and nir_to_llvm(): these operations and intrinsics come, and
/// no others.  `bit_size` is that of the operation's result.
bool is_in_final_form(nir_op, unsigned bit_size);
bool is_in_final_form(nir_intrinsic_op);

/// An Error for the first instruction that is not in the form, such as those of images.
Result<bool> validate_final_form(nir_shader *);

/// Of private memory, while it still has derefs: an Error if some of it is accessed as another type
/// than the variable's.  It is laid out as [component][lane] of the element's size, as
/// the dense map of matrices assumes (element_map.h): then bytes of one invocation are not
/// neighbours, and only accesses of the element's own width find what was written.
Result<bool> validate_private_memory(nir_shader *);

} // namespace weft::cpu
