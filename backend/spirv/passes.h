// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The list of all passes from SPIR-V to the NIR that becomes a driver's SPIR-V.

#pragma once

#include "backend/spirv/compiler.h"
#include "nir_passes/result.h"
#include "nir_passes/shader.h"
#include "nir_passes/shader_source.h"
#include "nir_passes/target.h"

namespace weft::spirv {

struct PassOptions {
   Target target;
   MatrixSupport matrices;
   const Driver &driver;
   bool blocks = false; ///< subgroups are blocks of the workgroup (lower_subgroup_blocks.h)
   uint32_t max_shared_bytes = UINT32_MAX;
   PassObserver observe = {};
   PassControl *control = nullptr; ///< skips optional passes; may be null
};

/// Lowers SPIR-V to the form that nir_to_spirv() translates. Operations that SPIR-V has stay whole:
/// * one function, structured control flow, registers in place of phis, scalar arithmetic; booleans
///   have one bit;
/// * buffers, push constants and global memory in units (lower_access_units.h), where the index of
///   a buffer is (its number in own_bindings(), its index in the array of descriptors);
/// * shared memory (lower_shared_memory.h), images, samplers and private arrays as variables with
///   derefs;
/// * the driver's matrices as variables under cmat_* and tile_*_weft (MatrixForm::driver_tiles), or
///   none;
/// * subgroup operations on scalars, with ballots of 4×32 bits, or none where subgroups are blocks;
///   system values as intrinsics.
Result<Shader> lower_for_driver(const ShaderSource &, const PassOptions &);

} // namespace weft::spirv
