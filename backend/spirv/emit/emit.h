// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Translates NIR to instructions of SPIR-V: one function per kind, in the file of its name.
/// Translators with state are members of Translator.

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

void emit_control_flow(Translator &, exec_list *);
/// Emits any instruction except jumps.
void emit_instruction(Translator &, nir_instr *);

void emit_alu(Translator &, nir_alu_instr *);
void emit_texture(Translator &, nir_tex_instr *);

// Emit the intrinsics of an IntrinsicGroup (validate_spirv_form.h); false for an intrinsic of the
// group that the function does not handle.
bool emit_image(Translator &, nir_intrinsic_instr *);
bool emit_matrix(Translator &, nir_intrinsic_instr *);
bool emit_subgroup(Translator &, nir_intrinsic_instr *);
bool emit_system(Translator &, nir_intrinsic_instr *);
/// Atomic operations on buffers, shared and global memory, by address or deref.
void emit_atomic(Translator &, nir_intrinsic_instr *);

/// An atomic operation on a pointer to a scalar; the data are the sources from `first` on. The
/// scalar in memory has the type `stored`, if it differs from the type of the kind.
void emit_atomic_at(Translator &, nir_intrinsic_instr *, Pointer, unsigned first, Kind,
                    Id stored = 0);

/// The opcode for reductions and scans by a NIR operation; OpNop if SPIR-V lacks the operation.
SpvOp subgroup_arithmetic_op(nir_op, bool boolean);

} // namespace weft::spirv
