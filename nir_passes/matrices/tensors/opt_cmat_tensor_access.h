// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/tensors/tensor_whole.h"

namespace weft {

/// Expands the accesses that are cmat_load or cmat_store in any case, as constants show. Removes
/// the object of loads whose clip leaves no element out. Other accesses stay one instruction.
///
/// Runs once most numbers are constants, before the passes that do more with a cmat_load.
bool opt_cmat_tensor_access(nir_shader *, WholeOptions);

} // namespace weft
