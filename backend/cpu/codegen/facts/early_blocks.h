// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The blocks that a subgroup reaches before it has had any effect: it can still begin again, at
/// any later time. If the subgroups of a workgroup wait for each other at barriers, they begin
/// again together, so none of them may have had an effect.

#pragma once

#include "compiler/nir/nir.h"

#include <llvm/ADT/DenseSet.h>

#include <cstdint>
#include <vector>

namespace weft::cpu {

class EarlyBlocks {
public:
   /// The shader has divergence information and block indices. If subgroups can communicate by
   /// atomics or coherent memory, it has no such blocks. Another subgroup may wait for this one, or
   /// may change values that this one has read.
   EarlyBlocks(nir_shader *, uint32_t subgroup_size);

   /// Whether no effect precedes the block on any path. The sides of a divergent if run one after
   /// the other (emit_control_flow.cc), so an effect in one precedes the other.
   bool contains(const nir_block *block) const { return early.contains(block); }

private:
   void visit_list(exec_list *, bool after_effect);
   bool remove_overtaken(exec_list *, bool effect_follows);
   bool have_effect(const nir_block *first, const nir_block *last) const;
   bool has_effect(const nir_instr *) const;

   /// Whether the workgroup has other subgroups, and whether they share its barriers.
   bool has_others, has_barriers = false;
   /// Whether an effect follows the innermost loop, or its beginning, before a barrier.
   bool effect_follows_loop = false, effect_in_loop = false;
   std::vector<uint32_t> effects_before; ///< by block index: effects of all blocks before it
   llvm::DenseSet<const nir_block *> early;
};

} // namespace weft::cpu
