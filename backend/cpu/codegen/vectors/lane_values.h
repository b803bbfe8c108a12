// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The other forms in which the module has a value of LLVM IR. Code that needs another form takes
/// it from here, so that no form is computed twice.
///
/// Each form is defined where the value is, so it dominates all uses of the value. A phi has no
/// other form.

#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

namespace weft::cpu {

using Values = llvm::SmallVector<llvm::Value *, 16>;

/// The most operations that an address is followed back.
constexpr unsigned max_address_depth = 64;

/// A sum of products of biased bytes, and the excess that the bias adds (emit_dot.cc).
struct BiasedSum {
   llvm::Value *sum = nullptr, *excess = nullptr;
};

/// A sum of products of small bytes: `before`, and both words of each lane of `words`, which are
/// from -bound to bound (emit_dot.cc).
struct WordSum {
   llvm::Value *before = nullptr, *words = nullptr;
   unsigned bound = 0;
};

/// The forms of one value; null if unknown.
struct LaneValue {
   llvm::Value *splat = nullptr;      ///< of a scalar: a vector of all lanes
   llvm::Value *first_lane = nullptr; ///< of a vector: its first element
   llvm::Value *packed = nullptr;     ///< a packed vector that has the value as a component
   unsigned component = 0;            ///< the component's number
   llvm::Value *upper_half = nullptr; ///< word is this value and upper_half
   llvm::Value *word = nullptr;
   BiasedSum biased = {}; ///< this value is sum − excess
   WordSum word_sum = {};
};

class LaneValues {
public:
   LaneValues(llvm::IRBuilder<> &b, unsigned lanes) : b(b), lanes(lanes) {}

   /// A vector of all lanes. Code of one block shares it.
   llvm::Value *splat(llvm::Value *scalar);
   /// Lane 0's value. Computes the value for that lane alone where possible.
   llvm::Value *first_lane(llvm::Value *vector) { return first_lane(vector, 0); }

   void set_component(llvm::Value *value, llvm::Value *packed, unsigned component);
   /// The packed vector of all these components in this order; null if there is none.
   llvm::Value *packed(llvm::ArrayRef<llvm::Value *> components) const;

   void set_word(llvm::Value *lower_half, llvm::Value *upper_half, llvm::Value *word);
   /// The whole number of these halves; null if no load defined it.
   llvm::Value *word(llvm::Value *lower_half, llvm::Value *upper_half) const;

   void set_biased(llvm::Value *value, const BiasedSum &sum) { values[value].biased = sum; }
   BiasedSum biased(llvm::Value *value) const { return values.lookup(value).biased; }
   void set_word_sum(llvm::Value *value, const WordSum &sum) { values[value].word_sum = sum; }
   WordSum word_sum(llvm::Value *value) const { return values.lookup(value).word_sum; }

private:
   llvm::Value *first_lane(llvm::Value *, unsigned depth);

   llvm::IRBuilder<> &b;
   const unsigned lanes;
   llvm::DenseMap<llvm::Value *, LaneValue> values;
};

} // namespace weft::cpu
