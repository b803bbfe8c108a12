// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft {

/// A barrier of the workgroup that makes each invocation's writes to shared memory visible to all.
inline nir_intrinsic_instr *workgroup_barrier(nir_builder *b)
{
   return _nir_build_barrier(
      b, {._ = 0,
          .execution_scope = SCOPE_WORKGROUP,
          .memory_scope = SCOPE_WORKGROUP,
          .memory_semantics = nir_memory_semantics(NIR_MEMORY_ACQ_REL | NIR_MEMORY_MAKE_AVAILABLE |
                                                   NIR_MEMORY_MAKE_VISIBLE),
          .memory_modes = nir_var_mem_shared});
}

} // namespace weft
