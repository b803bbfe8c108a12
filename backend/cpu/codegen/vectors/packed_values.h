// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vectors with components as memory has them.
///
///      components     x0 x1 x2 x3     y0 y1 y2 y3          one vector per component
///      packed         x0 y0 x1 y1 x2 y2 x3 y3              one vector, lane by lane
///
/// Loads make packed vectors and stores take them.  Much of what a shader moves is not looked at on the way, or is
/// converted component by component; pack() notices and leaves the elements where they are.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// The components of a packed vector.
llvm::SmallVector<llvm::Value *, 16> unpack(Translator &, llvm::Value *all, unsigned components);

/// The inverse, from vectors of one type, where elements that were loaded stay where they are: what is one value
/// for all components is repeated.  Null if they have to be moved.
llvm::Value *pack_in_place(Translator &, llvm::ArrayRef<llvm::Value *> components);

/// Of every lane of a packed vector of integers, all components added up.
llvm::Value *add_components(Translator &, llvm::Value *all, unsigned components);

/// The inverse of unpack(), from vectors of one type.
llvm::Value *pack(Translator &, llvm::ArrayRef<llvm::Value *> components);

/// A vector's elements in another order.
llvm::Value *reorder(Translator &, llvm::Value *, llvm::ArrayRef<int> order);

/// Joins a power of two of scalars or vectors of one type.
llvm::Value *concatenate(Translator &, llvm::ArrayRef<llvm::Value *> parts);

} // namespace weft::cpu
