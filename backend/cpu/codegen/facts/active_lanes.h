// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The blocks that all lanes of a subgroup execute together. Code there needs no mask.

#pragma once

#include "compiler/nir/nir.h"

#include <llvm/ADT/DenseSet.h>

namespace weft::cpu {

class ActiveLanes {
public:
   /// The shader has divergence information. The analysis follows emit_control_flow.cc. A workgroup
   /// that does not fill its last subgroup has a mask. So have a side of a divergent if, a loop
   /// that lanes leave at different times, and code behind an if with a side that never ends.
   ActiveLanes(nir_shader *, uint32_t subgroup_size);

   /// Whether a block runs under a mask, so that some lanes may be inactive.
   bool has_mask(const nir_block *block) const { return masked.contains(block); }

private:
   bool visit_list(exec_list *, bool mask);
   bool visit_if(nir_if *, bool &mask);

   llvm::DenseSet<const nir_block *> masked;
};

} // namespace weft::cpu
