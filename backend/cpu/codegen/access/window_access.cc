// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads of words in windows (strided_access.h). A window is one register of words, from the word
/// of the first of window_lanes lanes on. Filters of images, rows of a workgroup's block and
/// clamped indices have their words there:
///
///    lane     0  1  2  3  4  5  6  7 |  8  9 …        lanes of two windows
///    word     0  0  0  1  2  3  5  6 | 90 91 …        words of memory
///    window   0 … 15                   90 … 105
///
/// A permutation takes the words of one window, or of two if the CPU permutes two registers.

#include "backend/cpu/codegen/access/strided_access.h"
#include "backend/cpu/codegen/vectors/packed_values.h"
#include "backend/cpu/host/instructions.h"

#include <algorithm>

namespace weft::cpu {

using llvm::Value;

namespace {

/// One register with the largest of the corresponding lanes of all registers: one comparison then
/// serves all lanes.
Value *largest_lanes(Translator &t, Value *numbers)
{
   const unsigned lanes = std::min(t.W, t.options.target.vector_bits / 32);
   Value *largest = elements_of(t, numbers, 0, lanes);
   for (unsigned l = lanes; l < t.W; l += lanes)
      largest = t.b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, largest,
                                          elements_of(t, numbers, l, lanes));
   return largest;
}

} // namespace

/// The number of each lane's word in its window. Lanes of other windows have larger numbers.
Value *StridedAccess::window_index()
{
   llvm::SmallVector<int, 64> first_lanes;
   for (unsigned l = 0; l < t.W; l++)
      first_lanes.push_back(int(l / window_lanes * window_lanes));
   Value *distance = b.CreateSub(offsets, b.CreateShuffleVector(offsets, first_lanes));
   // A rotation puts the lowest bits, zeros if a lane has a word of its window, above all others.
   return b.CreateIntrinsic(llvm::Intrinsic::fshr, {distance->getType()},
                            {distance, distance, t.splat(b.getInt32(2))});
}

/// Requires that all lanes are active, and have words of their windows, which are in bounds.
void StridedAccess::require_windows(BranchCondition &condition, Value *index)
{
   const unsigned words = t.options.target.vector_bits / 32;
   const auto require_at_most = [&](Value *numbers, Value *limit) {
      Value *largest = largest_lanes(t, numbers);
      const unsigned lanes =
         llvm::cast<llvm::FixedVectorType>(largest->getType())->getNumElements();
      Value *beyond = b.CreateICmpUGT(largest, b.CreateVectorSplat(lanes, limit));
      condition.require(b.CreateIsNull(b.CreateBitCast(beyond, t.int_type(lanes))));
   };
   if (region.size) {
      const OffsetLimit limit = offset_limit(t, region, words * window_word_bytes);
      condition.require(limit.any_fits);
      require_at_most(offsets, limit.last);
   }
   require_at_most(index, b.getInt32(words - 1));
   if (t.mask)
      condition.require(are_all(t, t.mask));
}

Value *StridedAccess::load_windows(Value *index)
{
   const unsigned words = t.options.target.vector_bits / 32, at_once = words / window_lanes;
   Values windows;
   for (unsigned l = 0; l < t.W; l += window_lanes)
      windows.push_back(load(llvm::FixedVectorType::get(b.getInt32Ty(), words),
                             pointer_to(t, region, b.CreateExtractElement(offsets, uint64_t(l)))));
   llvm::SmallVector<uint32_t, 64> first_words;
   for (unsigned l = 0; l < t.W; l++)
      first_words.push_back(l / window_lanes % at_once * words);
   index = b.CreateAdd(index, llvm::ConstantDataVector::get(t.context, first_words));
   Values parts;
   for (unsigned i = 0; i < windows.size(); i += at_once) {
      Value *part = elements_of(t, index, i * window_lanes, words);
      parts.push_back(at_once == 2 ? permute_two_registers(b, windows[i], windows[i + 1], part)
                                   : permute_register(b, windows[i], part));
   }
   return b.CreateBitCast(concatenate(t, parts), packed_type());
}

} // namespace weft::cpu
