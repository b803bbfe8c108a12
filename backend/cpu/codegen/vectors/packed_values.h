// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Packed vectors: the components of all lanes in memory order.
///
///      components     x0 x1 x2 x3     y0 y1 y2 y3          one vector per component
///      packed         x0 y0 x1 y1 x2 y2 x3 y3              one vector, lane by lane
///
/// Loads produce packed vectors and stores consume them. Shaders often only move values, or convert
/// them component by component. pack() recognizes this and leaves the elements in place.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// The components of a packed vector.
Values unpack(Translator &, llvm::Value *all, unsigned components);

/// The inverse of unpack() for vectors of one type, if no loaded element has to move; else null. A
/// value that all components share is repeated.
llvm::Value *pack_in_place(Translator &, llvm::ArrayRef<llvm::Value *> components);

/// Returns the sum of the components for each lane of a packed vector of integers.
llvm::Value *add_components(Translator &, llvm::Value *all, unsigned components);

/// The inverse of unpack(), from vectors of one type.
llvm::Value *pack(Translator &, llvm::ArrayRef<llvm::Value *> components);

/// A vector with elements in another order.
llvm::Value *reorder(Translator &, llvm::Value *, llvm::ArrayRef<int> order);

/// The elements [first, first + count) of a vector: a scalar if count is 1.
llvm::Value *elements_of(Translator &, llvm::Value *, unsigned first, unsigned count);

/// Concatenates a power of two of scalars or vectors of one type.
llvm::Value *concatenate(Translator &, llvm::ArrayRef<llvm::Value *> parts);

} // namespace weft::cpu
