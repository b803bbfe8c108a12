// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The list of all passes from SPIR-V to the NIR that becomes machine code.

#pragma once

#include "backend/cpu/specialize/branch_decisions.h"
#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/pass_runner.h"
#include "nir_passes/result.h"
#include "nir_passes/shader.h"
#include "nir_passes/shader_source.h"
#include "nir_passes/target.h"

#include <vector>

namespace weft::cpu {

struct PassOptions {
   Target target;
   MatrixSupport matrices;
   std::vector<BindingLayout> bindings;
   bool may_have_tiled_images = false;
   PassObserver observe = {};
   PassControl *control = nullptr; ///< skips optional passes; may be null
};

/// The passes up to the lowering of matrices, which find nearly all errors (later_refusals.h).
Result<Shader> read_for_cpu(const ShaderSource &, const PassOptions &);

/// The rest of the passes, with the same options. Lowers to the form that nir_to_llvm() translates,
/// except for find_uniform_values():
/// * one function in SSA form, structured control flow, scalar instructions except for vec*, mov
///   and memory accesses; booleans have one bit;
/// * buffers as load/store_ssbo, load_ubo, ssbo_atomic*, get_ssbo_size, whose index is (slot,
///   offset of the descriptor); shared memory, scratch and push constants by 32-bit offsets; global
///   memory by 64-bit addresses;
/// * matrices as scratch memory under tile_*_weft (MatrixForm::private_tiles), or not at all;
/// * subgroup operations on scalars: ballot with 64 bits, vote_any/all, reduce, scans, shuffle,
///   read_invocation, read_first_invocation, first_invocation;
/// * invocation ids: subgroup_id, subgroup_invocation, workgroup_id, num_workgroups.
Result<Shader> finish_for_cpu(Shader, const PassOptions &);

/// Removes from a lowered shader the code that dispatches with these branch decisions cannot reach,
/// and joins their workgroups if that gains (join_workgroups.h).
void specialize_for_dispatch(PassRunner &, const BranchConditions &, const BranchDecisions &,
                             uint32_t max_sums);

/// The last passes. Afterwards, values that leave loops go through phis (LCSSA form), and
/// nir_def::divergent is valid. Also usable for a shader in this form that does not come from
/// SPIR-V.
void find_uniform_values(PassRunner &, uint32_t subgroup_size);

} // namespace weft::cpu
