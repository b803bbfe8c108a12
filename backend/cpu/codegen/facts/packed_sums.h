// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sums of dot products over the components of loads, in the order that memory has:
///
///      loaded       a0 a1 a2 a3  b0 b1 b2 b3  …       one vector, lane by lane (packed_values.h)
///      products     a0' …                             of two such vectors, each element for itself
///      sums         a0'+a1'+a2'+a3'  b0'+ …           one element per lane
///
/// A shader that multiplies packed bytes takes vectors of words from memory, has each component shifted and
/// masked in the same way, and adds dot products of all components to one sum.  Taking both factors apart
/// costs more shuffles than taking one vector of products apart, and what lies in memory as it is wanted is
/// an operand of instructions then.

#pragma once

#include "compiler/nir/nir.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

namespace weft::cpu {

/// Dot products of which the Nth multiplies what was made of the Nth components of two loads.
using PackedSum = llvm::SmallVector<nir_alu_instr *, 4>;

/// All products that are added up in a row, by their last, which has the sum.
struct DotChain {
   llvm::SmallVector<PackedSum, 2> packed;
   llvm::SmallVector<nir_alu_instr *, 4> others;
   nir_alu_instr *first; ///< it adds to what there was before
};

class PackedSums {
public:
   explicit PackedSums(nir_function_impl *);

   /// Null unless a chain with packed sums ends there.
   const DotChain *ending_in(const nir_alu_instr *last) const
   {
      const auto found = chains.find(last);
      return found == chains.end() ? nullptr : &found->second;
   }
   /// Whether a load's components are factors in such sums.
   bool has_factors(const nir_intrinsic_instr *load) const { return loads.contains(&load->instr); }

private:
   void add_chain(nir_alu_instr *last);

   llvm::DenseMap<const nir_alu_instr *, DotChain> chains;
   llvm::DenseSet<const nir_instr *> loads;
};

} // namespace weft::cpu
