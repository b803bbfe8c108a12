// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// From NIR to instructions of SPIR-V: one function per kind, in the file of its name.  What has a
/// memory of its own is a member of the Translator.

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

void emit_control_flow(Translator &, exec_list *);
/// Anything but jumps.
void emit_instruction(Translator &, nir_instr *);

void emit_alu(Translator &, nir_alu_instr *);
void emit_texture(Translator &, nir_tex_instr *);

// Intrinsics by IntrinsicGroup (validate_spirv_form.h); false for one of its group that the
// function does not know.
bool emit_image(Translator &, nir_intrinsic_instr *);
bool emit_matrix(Translator &, nir_intrinsic_instr *);
bool emit_subgroup(Translator &, nir_intrinsic_instr *);
bool emit_system(Translator &, nir_intrinsic_instr *);
/// Of buffers, shared and global memory, by address or deref.
void emit_atomic(Translator &, nir_intrinsic_instr *);

/// Atomic operations on a pointer to a scalar; data are the sources from `first` on.  What is there
/// has the type `stored`, if that is not the one that goes with the kind.
void emit_atomic_at(Translator &, nir_intrinsic_instr *, Pointer, unsigned first, Kind,
                    Id stored = 0);

/// Of the reductions and scans by a NIR operation; OpNop for those that SPIR-V has not.
SpvOp subgroup_arithmetic_op(nir_op, bool boolean);

} // namespace weft::spirv
