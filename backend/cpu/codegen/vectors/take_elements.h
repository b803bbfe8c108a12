// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vectors put together from elements of several, with shuffles of two vectors at a time, each of
/// which is one instruction where all vectors are registers of AVX-512.
///
/// Where several results take their elements out of the same vectors, as components of structs in
/// memory do, what they want is brought together first.  Here four vectors hold the components a, b,
/// c, d of four lanes each, and eight shuffles make four results, not four times three:
///
///    abcd abcd abcd abcd  --  abab abab abab abab  --  aaaa aaaa aaaa aaaa
///    abcd abcd abcd abcd  --  cdcd cdcd cdcd cdcd  --  bbbb bbbb bbbb bbbb
///    abcd abcd abcd abcd  --  abab abab abab abab  --  cccc cccc cccc cccc
///    abcd abcd abcd abcd  --  cdcd cdcd cdcd cdcd  --  dddd dddd dddd dddd

#pragma once

#include "backend/cpu/codegen/translator.h"

#include <compare>

namespace weft::cpu {

struct VectorElement {
   unsigned vector; ///< its number
   int place;       ///< of the element in it

   auto operator<=>(const VectorElement &) const = default;
};

using Elements = llvm::SmallVector<VectorElement, 32>;

/// For each list a vector that begins with these elements, of no more than a vector holds.  All
/// vectors, those of the result too, have one type; one that no list names may be null.
llvm::SmallVector<llvm::Value *, 16>
take_elements(Translator &, llvm::ArrayRef<llvm::Value *> vectors, llvm::ArrayRef<Elements> wanted);

} // namespace weft::cpu
