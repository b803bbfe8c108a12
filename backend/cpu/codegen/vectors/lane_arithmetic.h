// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Arithmetic across the lanes of a vector: reductions, scans, permutations.
///
/// Vectors are <W x iN>, as in Translator; float operations interpret them as floats. Inactive
/// lanes count as the operation's identity.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// Whether NIR's reductions and scans may use the operation: iadd, imul, imin, imax, umin, umax,
/// iand, ior, ixor, fadd, fmul, fmin, fmax.
bool is_reduction(nir_op);

/// The operation on two scalars or vectors of ints.
llvm::Value *combine(Translator &, nir_op, llvm::Value *x, llvm::Value *y);

/// The operation's identity element, as a scalar.
llvm::Constant *identity(Translator &, nir_op, unsigned bits);

/// `v` with the identity in inactive lanes (null: all lanes are active).
llvm::Value *fill_inactive(Translator &, nir_op, llvm::Value *v, llvm::Value *active);

/// Reduces all lanes to a scalar.
llvm::Value *reduce(Translator &, nir_op, llvm::Value *v);
/// Reduces every aligned cluster of `size` lanes (a power of two, less than W); each lane gets its
/// cluster's result.
llvm::Value *reduce_clusters(Translator &, nir_op, llvm::Value *v, unsigned size);
/// Combines each lane with all lanes below it (inclusive), or only the lanes below it (exclusive).
llvm::Value *inclusive_scan(Translator &, nir_op, llvm::Value *v);
llvm::Value *exclusive_scan(Translator &, nir_op, llvm::Value *v);

/// Applies `f` to vectors longer than a register: `f` gets aligned parts of `lanes` lanes, and its
/// results are concatenated. `f` gets vectors of at most `lanes` lanes whole.
llvm::Value *in_parts(Translator &, llvm::ArrayRef<llvm::Value *> vectors, unsigned lanes,
                      llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> f);

/// Lane l gets v[index[l] mod W]. `index` is <W x i32>; a constant index becomes a fixed shuffle.
llvm::Value *permute(Translator &, llvm::Value *v, llvm::Value *index);

} // namespace weft::cpu
