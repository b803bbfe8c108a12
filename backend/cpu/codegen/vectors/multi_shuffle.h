// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Multi-shuffle: assembles vectors from elements of several vectors with two-vector shuffles. Each
/// is one instruction if all vectors are AVX-512 registers.
///
/// If several results take elements from the same vectors, such as components of structs in memory,
/// the first shuffles gather the elements that several results need. Here four vectors hold the
/// components a, b, c, d of four lanes each. Eight shuffles make four results, not four times
/// three:
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
   unsigned vector; ///< the vector's number
   int place;       ///< the element's number in the vector

   auto operator<=>(const VectorElement &) const = default;
};

using Elements = llvm::SmallVector<VectorElement, 32>;

/// Returns a vector per list, which begins with the list's elements; a list has at most a vector's
/// length. All vectors, results included, have one type; a vector that no list names may be null.
Values multi_shuffle(Translator &, llvm::ArrayRef<llvm::Value *> vectors,
                     llvm::ArrayRef<Elements> wanted);

} // namespace weft::cpu
