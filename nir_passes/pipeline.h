// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The whole pipeline from SPIR-V to the NIR that a back end translates.

#pragma once

#include "nir_passes/lower_descriptors.h"
#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"
#include "nir_passes/shader.h"
#include "nir_passes/spirv_to_nir.h"
#include "nir_passes/target.h"

#include <functional>
#include <string>
#include <vector>

namespace weft {

struct PipelineOptions {
   std::vector<BindingLayout> bindings; ///< not for FinalForm::spirv
   /// Called with the shader's text after each pass when set.
   std::function<void(const char *pass, const std::string &text)> dump;
   PassControl *control = nullptr; ///< of optional passes, if wanted
};

/// What a back end gets in FinalForm::machine:
/// * one function in SSA form, structured control flow, scalar instructions except for vec*, mov
///   and memory accesses; booleans have one bit;
/// * buffers as load/store_ssbo, load_ubo, ssbo_atomic*, get_ssbo_size, whose index is (slot,
///   offset of the descriptor); shared memory, scratch and push constants by 32-bit offsets; global
///   memory by 64-bit addresses;
/// * matrices as scratch memory under tile_*_weft (MatrixForm::private_tiles), or not at all;
/// * subgroup operations on scalars: ballot with 64 bits, vote_any/all, reduce, scans, shuffle,
///   read_invocation, read_first_invocation, first_invocation;
/// * invocation ids: subgroup_id, subgroup_invocation, workgroup_id, num_workgroups.
///
/// In FinalForm::spirv:
/// * one function in SSA form, structured control flow, scalar arithmetic; booleans have one bit;
/// * buffers, push constants and global memory in units (lower_access_units.h), where the index of
///   a buffer is (its number in own_bindings(), its index in the array of descriptors);
/// * shared memory (lower_shared_memory.h), images, samplers and private arrays as variables with
///   derefs;
/// * the driver's matrices as variables under cmat_* and tile_*_weft (MatrixForm::driver_tiles), or
///   none;
/// * subgroup operations on scalars, with ballots of 4×32 bits; system values as intrinsics.
Result<Shader> spirv_to_target(const ShaderSource &, const Target &, const PipelineOptions &);

/// nir_print_shader() into a string.
std::string shader_text(nir_shader *);

} // namespace weft
