// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sums of dot products over the components of loads, in memory order:
///
///      loaded       a0 a1 a2 a3  b0 b1 b2 b3  …       one vector, lane by lane (packed_values.h)
///      products     a0' …                             of two such vectors, element by element
///      sums         a0'+a1'+a2'+a3'  b0'+ …           one element per lane
///
/// A shader that multiplies packed bytes loads vectors of words, shifts and masks all components
/// alike, and adds the components' dot products to one sum. Unpacking both factors costs more
/// shuffles than unpacking one vector of products. Data that memory already holds in this order can
/// also be a memory operand of an instruction.

#pragma once

#include "compiler/nir/nir.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

namespace weft::cpu {

/// Dot products. The Nth multiplies values computed from the Nth components of two loads.
using PackedSum = llvm::SmallVector<nir_alu_instr *, 4>;

/// A chain of products that add to one sum. The key is the last product, which holds the sum.
struct DotChain {
   llvm::SmallVector<PackedSum, 2> packed;
   llvm::SmallVector<nir_alu_instr *, 4> others;
   nir_alu_instr *first; ///< adds to the initial sum
};

class PackedSums {
public:
   explicit PackedSums(nir_function_impl *);

   /// Null unless a chain with packed sums ends in `last`.
   const DotChain *ending_in(const nir_alu_instr *last) const
   {
      const auto found = chains.find(last);
      return found == chains.end() ? nullptr : &found->second;
   }
   /// Whether a load's components are factors in packed sums.
   bool has_factors(const nir_intrinsic_instr *load) const { return loads.contains(&load->instr); }

private:
   void add_chain(nir_alu_instr *last);

   llvm::DenseMap<const nir_alu_instr *, DotChain> chains;
   llvm::DenseSet<const nir_instr *> loads;
};

} // namespace weft::cpu
