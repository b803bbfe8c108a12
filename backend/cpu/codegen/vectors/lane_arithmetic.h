// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Arithmetic across the lanes of a vector: reductions, scans, permutations.
///
/// Vectors are <W x iN>, as the Translator keeps values; float operations look at them as floats.
/// Inactive lanes count as the operation's identity.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// Is this one of the operations that NIR's reductions and scans may have: iadd, imul, imin, imax,
/// umin, umax, iand, ior, ixor, fadd, fmul, fmin, fmax?
bool is_reduction(nir_op);

/// The operation on two scalars or vectors of ints.
llvm::Value *combine(Translator &, nir_op, llvm::Value *x, llvm::Value *y);

/// The scalar that changes nothing.
llvm::Constant *identity(Translator &, nir_op, unsigned bits);

/// `v` with the identity in lanes that are not active (null: all are).
llvm::Value *fill_inactive(Translator &, nir_op, llvm::Value *v, llvm::Value *active);

/// All lanes combined: a scalar.
llvm::Value *reduce(Translator &, nir_op, llvm::Value *v);
/// In every aligned cluster of `size` lanes (a power of two, less than W), all of them combined.
llvm::Value *reduce_clusters(Translator &, nir_op, llvm::Value *v, unsigned size);
/// Each lane and all below it combined; or only those below it.
llvm::Value *inclusive_scan(Translator &, nir_op, llvm::Value *v);
llvm::Value *exclusive_scan(Translator &, nir_op, llvm::Value *v);

/// What `f` makes of vectors that are longer than a register: it gets aligned parts of `lanes` lanes
/// each, and its results stand side by side.  Vectors of no more than `lanes` lanes it gets whole.
llvm::Value *in_parts(Translator &, llvm::ArrayRef<llvm::Value *> vectors, unsigned lanes,
                      llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> f);

/// Lane l gets v[index[l] mod W].  `index` is <W x i32>; constants become fixed permutations.
llvm::Value *permute(Translator &, llvm::Value *v, llvm::Value *index);

} // namespace weft::cpu
