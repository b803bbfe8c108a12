// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores.
///
/// One address for all lanes is a scalar access.  Where lane analysis knows how addresses run from
/// lane to lane, the access is made of one piece per group of lanes (`Pieces`): a vector when the
/// lanes' elements touch, a scalar when they are the same, else elements at constant distances.
/// Those pieces may read what belongs to inactive lanes, so they stand behind one check that all of
/// it is in bounds; if not, and where a store has inactive lanes, lane_memory.h does it component
/// by component.  Where even the distances from lane 0's address are constants (lane_offsets.h), all
/// pieces have one scalar address, and what lies closely together is loaded as whole vectors, of
/// which shuffles take the elements.  Everything else is gathered and scattered, behind the same
/// kind of check; inactive lanes go to a harmless place.

#include "backend/cpu/codegen/loop_step.h"
#include "backend/cpu/codegen/memory_access.h"
#include "backend/cpu/codegen/packed_values.h"
#include "backend/cpu/runtime/lane_memory.h"

#include "util/bitscan.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>

namespace weft::cpu {

using llvm::Value;
using Values = llvm::SmallVector<Value *, 16>;

namespace {

/// The widest vectors'.
constexpr unsigned chunk_bytes = 64;

/// A vector of elements of several: each (number of the vector, element).  Two vectors at a time, which
/// is one instruction.
Value *take(Translator &t, llvm::ArrayRef<Value *> vectors, llvm::FixedVectorType *type,
            llvm::ArrayRef<std::pair<unsigned, int>> from)
{
   const int n = int(type->getNumElements());
   Value *result = nullptr;
   for (unsigned v = 0; v < vectors.size();) {
      // The next two that are wanted.
      unsigned pair[2] = {v, v};
      unsigned found = 0;
      for (; v < vectors.size() && found < 2; v++) {
         if (std::ranges::count(from, v, &std::pair<unsigned, int>::first))
            pair[found++] = v;
      }
      if (found == 0)
         break;
      llvm::SmallVector<int, 64> order(unsigned(n), llvm::PoisonMaskElem), select;
      for (int i = 0; i < n; i++) {
         const bool inside = unsigned(i) < from.size();
         if (inside && from[unsigned(i)].first == pair[0])
            order[unsigned(i)] = from[unsigned(i)].second;
         else if (inside && found == 2 && from[unsigned(i)].first == pair[1])
            order[unsigned(i)] = n + from[unsigned(i)].second;
         select.push_back(order[unsigned(i)] == llvm::PoisonMaskElem ? i : n + i);
      }
      Value *second = found == 2 ? vectors[pair[1]] : llvm::PoisonValue::get(type);
      Value *taken = t.b.CreateShuffleVector(vectors[pair[0]], second, order);
      result = result ? t.b.CreateShuffleVector(result, taken, select) : taken;
   }
   return result;
}

/// How the addresses of an access run from lane to lane.
struct Reach {
   LanePattern pattern;
   const LaneOffsets *fixed = nullptr; ///< all from lane 0's; null: they are no constants
};

/// An access whose addresses differ from lane to lane.
struct Pieces {
   Translator &t;
   Region region;
   Value *offsets; ///< <W x i32 or i64>
   Reach reach;
   unsigned components, bytes;
   bool check; ///< offsets may be out of bounds
   bool is_volatile, invariant;
   GuardedLoad decided = {};
   int64_t ahead = 0; ///< bytes to what will be loaded next time, where it is worth to ask for it

   llvm::IRBuilder<> &b = t.b;
   const LanePattern &pattern() const { return reach.pattern; }
   unsigned element() const { return components * bytes; }
   unsigned groups() const { return t.W / pattern().group; }
   /// Bytes from a group's first address to its end; of all groups if they are fixed.
   uint64_t extent() const
   {
      if (reach.fixed)
         return uint64_t(std::ranges::max(reach.fixed->from_first)) + element();
      return uint64_t(pattern().group - 1) * uint64_t(pattern().step) + element();
   }
   /// Loads, if not of chunks.
   size_t pieces() const
   {
      return pattern().step == element() || pattern().step == 0 ? groups() : t.W;
   }
   /// Components that are loaded for each group: where it is one element for all its lanes, a power
   /// of two, so that the elements are whole parts of vectors; what lies behind is in bounds then.
   unsigned loaded() const
   {
      return pattern().step == 0 && region.size ? std::bit_ceil(components) : components;
   }
   void count() const
   {
      AccessCounts &counts = t.accesses;
      (!regular()                    ? counts.gathered
       : pattern().step == element() ? counts.contiguous
                                     : counts.strided)++;
   }
   bool regular() const
   {
      return reach.fixed || (pattern().group > 1 && pattern().step >= 0 && pattern().step < 65536);
   }
   llvm::Type *component_type() const { return t.int_type(bytes * 8); }
   llvm::Type *vector_type(unsigned n) const
   {
      return n == 1 ? component_type() : llvm::FixedVectorType::get(component_type(), n);
   }

   Value *load(llvm::Type *, Value *pointer);
   void prefetch(llvm::Type *, Value *pointer);
   Value *load_beginning(llvm::FixedVectorType *, Value *pointer, uint64_t count);
   void store(Value *, Value *pointer);
   Value *group_pointer(unsigned group);
   void require_assumed(const LaneAssumption &, Conditions &);
   void require_regular(Conditions &);
   void require_load(Conditions &);
   Value *cluster_offset();
   bool may_load_chunks() const;
   Value *load_chunk(Value *base, size_t chunk, uint64_t extent);
   Value *lanes_all_in_bounds();
   llvm::Type *packed_type() const { return vector_type(t.W * components); }
   Value *slice(Value *all, unsigned first, unsigned count);
   Values load_same();
   std::vector<bool> chunks() const;
   Values take_components(llvm::ArrayRef<Value *> chunks);
   Values load_chunks(const std::vector<bool> &chunks);
   // These load and store packed vectors (packed_values.h).
   Value *load_regular();
   Value *gather();
   Value *load_slowly();
   void store_regular(Value *all);
   void scatter(Value *all);
   void store_slowly(Value *all);
   Value *lane_access();
};

Value *Pieces::load(llvm::Type *type, Value *pointer)
{
   llvm::LoadInst *load = b.CreateAlignedLoad(type, pointer, llvm::Align(1), is_volatile);
   if (invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   if (ahead)
      prefetch(type, pointer);
   return load;
}

/// Each line of what will be loaded next time goes to the second-level cache: an address that is no
/// memory's does no harm.
void Pieces::prefetch(llvm::Type *type, Value *pointer)
{
   constexpr int64_t least = 16; // of smaller ones many are in a line
   const auto size = int64_t(type->getPrimitiveSizeInBits() / 8);
   if (size < least)
      return;
   for (int64_t byte = 0; byte < size; byte += chunk_bytes) {
      Value *next = b.CreatePtrAdd(pointer, b.getInt64(uint64_t(ahead + byte)));
      constexpr unsigned read = 0, second_level = 2, data = 1;
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {next->getType()},
                        {next, b.getInt32(read), b.getInt32(second_level), b.getInt32(data)});
   }
}

/// The first `count` elements; what lies behind them is not touched.
Value *Pieces::load_beginning(llvm::FixedVectorType *type, Value *pointer, uint64_t count)
{
   llvm::SmallVector<llvm::Constant *, 64> mask;
   for (unsigned i = 0; i < type->getNumElements(); i++)
      mask.push_back(b.getInt1(i < count));
   llvm::CallInst *load =
      b.CreateMaskedLoad(type, pointer, llvm::Align(1), llvm::ConstantVector::get(mask),
                         llvm::Constant::getNullValue(type));
   if (invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   return load;
}

void Pieces::store(Value *v, Value *pointer)
{
   b.CreateAlignedStore(v, pointer, llvm::Align(1), is_volatile);
}

Value *Pieces::group_pointer(unsigned group)
{
   if (reach.fixed)
      return b.CreateConstGEP1_64(b.getInt8Ty(), pointer_to(t, region, t.first_lane(offsets)),
                                  uint64_t(reach.fixed->from_first[group * pattern().group]));
   return pointer_to(t, region, b.CreateExtractElement(offsets, uint64_t(group) * pattern().group));
}

void Pieces::require_assumed(const LaneAssumption &a, Conditions &conditions)
{
   conditions.require_zeros(t.first_lane(t.value(*a.def, a.component)), a.mask);
}

/// The cluster's first address.
Value *Pieces::cluster_offset()
{
   Value *offset = t.first_lane(offsets);
   return b.CreateSub(offset, llvm::ConstantInt::get(offset->getType(), decided.shift));
}

/// The addresses are as assumed, and every byte of every lane is in bounds, active or not.
void Pieces::require_regular(Conditions &conditions)
{
   if (decided.cluster) {
      // That all of it is in bounds also says that no address wraps around from the first one on.
      for (const LaneAssumption &assumption : decided.cluster->assumptions)
         require_assumed(assumption, conditions);
      conditions.require_in_bounds(region, cluster_offset(), decided.cluster->extent);
      return;
   }
   if (reach.fixed) {
      for (const uint32_t number : reach.fixed->assumptions)
         require_assumed(t.fixed_offsets->assumption(number), conditions);
   }
   const unsigned behind = chunks().empty() ? (loaded() - components) * bytes : 0;
   if (!region.size || !(check || behind))
      return;
   if (groups() == 1 || reach.fixed) {
      conditions.require_in_bounds(region, t.first_lane(offsets), extent() + behind);
   } else {
      const Bound bound = bound_of(t, region, uint64_t(loaded()) * bytes);
      conditions.require(bound.any_fits);
      conditions.require(b.CreateNot(t.any(b.CreateICmpUGT(offsets, t.splat(bound.last)))));
   }
}

/// The vectors' worth of memory from lane 0's address on that are loaded whole, where these are fewer
/// loads than for pieces; else nothing.  Their shuffles are of 16 bits or more, and in one instruction
/// with AVX-512 only.
bool Pieces::may_load_chunks() const
{
   const auto is_word = [](int64_t n) { return n % 2 == 0; };
   return reach.fixed && region.size && !is_volatile && bytes != 1 &&
          t.options.vector_bits == 8 * chunk_bytes &&
          std::ranges::all_of(reach.fixed->from_first, is_word);
}

/// Adds the chunks in which elements at these distances are.
void add_chunks(std::vector<bool> &used, llvm::ArrayRef<int64_t> from_first, uint64_t shift,
                unsigned element)
{
   for (const int64_t n : from_first) {
      const size_t first = (shift + uint64_t(n)) / chunk_bytes,
                   last = (shift + uint64_t(n) + element - 1) / chunk_bytes;
      if (used.size() <= last)
         used.resize(last + 1);
      std::fill(used.begin() + long(first), used.begin() + long(last) + 1, true);
   }
}

std::vector<bool> Pieces::chunks() const
{
   if (!may_load_chunks())
      return {};
   std::vector<bool> used;
   add_chunks(used, reach.fixed->from_first, 0, element());
   return size_t(std::ranges::count(used, true)) < pieces() ? used : std::vector<bool>();
}

/// The part of a chunk that is not behind the extent; the rest is not touched.
Value *Pieces::load_chunk(Value *base, size_t chunk, uint64_t extent)
{
   auto *type = llvm::FixedVectorType::get(b.getInt16Ty(), chunk_bytes / 2);
   Value *pointer = b.CreateConstGEP1_64(b.getInt8Ty(), base, chunk * chunk_bytes);
   const uint64_t left = (extent - chunk * chunk_bytes) / 2;
   return left < type->getNumElements() ? load_beginning(type, pointer, left) : load(type, pointer);
}

/// The components, of the vectors' worth of memory that are not null.
Values Pieces::take_components(llvm::ArrayRef<Value *> chunks)
{
   // Of the largest numbers in which all that is taken is whole.
   unsigned unit = bytes;
   for (const int64_t from_first : reach.fixed->from_first) {
      const unsigned at = decided.shift + unsigned(from_first);
      unit = std::min(unit, at ? 1u << std::countr_zero(at) : unit);
   }
   const unsigned per_chunk = chunk_bytes / unit;
   auto *chunk_type = llvm::FixedVectorType::get(t.int_type(unit * 8), per_chunk);
   Values vectors;
   for (Value *chunk : chunks)
      vectors.push_back(chunk ? b.CreateBitCast(chunk, chunk_type) : nullptr);

   Values result;
   for (unsigned c = 0; c < components; c++) {
      // One register after the other, each from all chunks that have a part of it.
      const unsigned units = t.W * bytes / unit, registers = DIV_ROUND_UP(units, per_chunk);
      Values parts;
      for (unsigned r = 0; r < registers; r++) {
         llvm::SmallVector<std::pair<unsigned, int>, 32> from; // chunk, unit in it
         for (unsigned i = r * per_chunk; i < std::min(units, (r + 1) * per_chunk); i++) {
            const unsigned byte = i * unit, at = decided.shift +
                                                 unsigned(reach.fixed->from_first[byte / bytes]) +
                                                 c * bytes + byte % bytes;
            from.push_back({at / chunk_bytes, int(at % chunk_bytes / unit)});
         }
         parts.push_back(take(t, vectors, chunk_type, from));
      }
      Value *all = concatenate(t, parts);
      all = b.CreateBitCast(
         all, llvm::FixedVectorType::get(component_type(), registers * chunk_bytes / bytes));
      result.push_back(registers * per_chunk == units ? all : slice(all, 0, t.W));
   }
   return result;
}

Values Pieces::load_chunks(const std::vector<bool> &chunks)
{
   LoadCluster alone;
   alone.extent = extent();
   LoadCluster &cluster = decided.cluster ? *decided.cluster : alone;
   std::vector<bool> used;
   add_chunks(used, reach.fixed->from_first, decided.shift, element());
   std::vector<Value *> &loaded = cluster.loaded;
   loaded.resize(chunks.size());
   if (!cluster.base)
      cluster.base =
         pointer_to(t, region, decided.cluster ? cluster_offset() : t.first_lane(offsets));
   for (size_t i = 0; i < used.size(); i++) {
      if (used[i] && !loaded[i])
         loaded[i] = load_chunk(cluster.base, i, cluster.extent);
   }
   const Values result = take_components(loaded);
   if (bytes == 2 && components % 2 == 0) {
      // Shaders that load words by halves put them together again.
      Pieces words = *this;
      words.bytes *= 2;
      words.components /= 2;
      const Values whole = words.take_components(loaded);
      for (size_t c = 0; c < whole.size(); c++)
         t.halves[{result[2 * c], result[2 * c + 1]}] = whole[c];
   }
   return result;
}

/// One element for all lanes of each group.
Values Pieces::load_same()
{
   Values parts;
   for (unsigned g = 0; g < groups(); g++)
      parts.push_back(load(vector_type(loaded()), group_pointer(g)));
   if (parts.size() == 1 && components == 1)
      return {t.splat(parts[0])};
   Value *all = concatenate(t, parts);
   Values result;
   for (unsigned c = 0; c < components; c++) {
      llvm::SmallVector<int, 64> order;
      for (unsigned l = 0; l < t.W; l++)
         order.push_back(int(l / pattern().group * loaded() + c));
      result.push_back(reorder(t, all, order));
   }
   return result;
}

/// Elements in steps.
Value *Pieces::load_regular()
{
   const bool touching = pattern().step == element();
   const unsigned group = pattern().group;
   Values parts;
   for (unsigned g = 0; g < groups(); g++) {
      Value *pointer = group_pointer(g);
      if (touching)
         parts.push_back(load(vector_type(components * group), pointer));
      else
         for (unsigned i = 0; i < group; i++)
            parts.push_back(
               load(vector_type(components),
                    b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(i) * pattern().step)));
   }
   return concatenate(t, parts);
}

/// A vector of offsets computed anew, so that what only a slow way needs is not computed before it is
/// known to be taken; but for what lies too many operations back.
class ComputeAgain {
public:
   explicit ComputeAgain(llvm::IRBuilder<> &b) : b(b) {}

   Value *operator()(Value *v, unsigned depth = 0)
   {
      auto *operation = llvm::dyn_cast<llvm::BinaryOperator>(v);
      auto *cast = llvm::dyn_cast<llvm::CastInst>(v);
      if ((!operation && !cast) || depth == Translator::max_address_depth)
         return v;
      if (const auto found = copies.find(v); found != copies.end())
         return found->second;
      Value *copy;
      if (operation) {
         Value *x = (*this)(operation->getOperand(0), depth + 1);
         Value *y = (*this)(operation->getOperand(1), depth + 1);
         copy = b.CreateBinOp(operation->getOpcode(), x, y);
      } else {
         copy =
            b.CreateCast(cast->getOpcode(), (*this)(cast->getOperand(0), depth + 1), v->getType());
      }
      return copies[v] = copy;
   }

private:
   llvm::IRBuilder<> &b;
   llvm::DenseMap<Value *, Value *> copies;
};

/// The struct LaneAccess for lane_memory.h.
Value *Pieces::lane_access()
{
   auto *type = llvm::StructType::get(b.getPtrTy(), b.getInt64Ty(), b.getPtrTy(), b.getInt64Ty());
   static_assert(sizeof(LaneAccess) == 32);
   llvm::Type *offsets_type = t.vector_of(b.getInt64Ty());
   if (!t.lane_access) {
      t.lane_access = t.variable(type, "lane.access");
      t.lane_offsets = t.variable(offsets_type, "lane.offsets");
   }
   Value *used = reach.fixed ? ComputeAgain(b)(offsets) : offsets;
   b.CreateStore(b.CreateZExt(used, offsets_type), t.lane_offsets);
   const auto set = [&](unsigned field, Value *v) {
      b.CreateStore(v, b.CreateStructGEP(type, t.lane_access, field));
   };
   set(0, region.base ? region.base : llvm::ConstantPointerNull::get(b.getPtrTy()));
   set(1, region.size ? region.size : b.getInt64(~uint64_t(0)));
   set(2, t.lane_offsets);
   set(3, b.CreateZExt(t.bits_of(t.mask_or_ones()), b.getInt64Ty()));
   return t.lane_access;
}

Value *Pieces::load_slowly()
{
   llvm::AllocaInst *data = t.lane_data(packed_type());
   t.call(load_lanes_symbol, b.getVoidTy(),
          {lane_access(), data, b.getInt32(t.W), b.getInt32(components), b.getInt32(bytes)});
   return b.CreateLoad(packed_type(), data);
}

void Pieces::store_slowly(Value *all)
{
   llvm::AllocaInst *data = t.lane_data(packed_type());
   b.CreateStore(all, data);
   t.call(store_lanes_symbol, b.getVoidTy(),
          {lane_access(), data, b.getInt32(t.W), b.getInt32(components), b.getInt32(bytes)});
}

/// The values of `fast`, behind a branch to the slow way unless `condition` is null.
template <typename Fast, typename Slow>
Values choose(Translator &t, Value *condition, Fast fast, Slow slow)
{
   if (!condition)
      return fast();
   llvm::IRBuilder<> &b = t.b;
   llvm::BasicBlock *fast_block = t.block("pieces"), *slow_block = t.block("lanewise"),
                    *join = t.block("joined");
   b.CreateCondBr(condition, fast_block, slow_block,
                  llvm::MDBuilder(t.context).createBranchWeights(1000, 1));
   b.SetInsertPoint(slow_block);
   const Values slow_values = slow();
   slow_block = b.GetInsertBlock();
   b.CreateBr(join);
   b.SetInsertPoint(fast_block);
   const Values fast_values = fast();
   fast_block = b.GetInsertBlock();
   b.CreateBr(join);
   b.SetInsertPoint(join);
   Values values;
   for (unsigned i = 0; i < fast_values.size(); i++) {
      llvm::PHINode *phi = b.CreatePHI(fast_values[i]->getType(), 2);
      phi->addIncoming(fast_values[i], fast_block);
      phi->addIncoming(slow_values[i], slow_block);
      values.push_back(phi);
   }
   return values;
}

/// i1: every byte of every active lane is in bounds.  Null when there is nothing to check.
Value *Pieces::lanes_all_in_bounds()
{
   Value *ok = check ? lanes_in_bounds(t, region, offsets, element()) : nullptr;
   if (!ok)
      return nullptr;
   Value *outside = b.CreateNot(ok);
   if (t.mask)
      outside = b.CreateAnd(outside, t.mask);
   return b.CreateNot(t.any(outside));
}

Value *Pieces::gather()
{
   Value *safe = offsets;
   if (t.mask) {
      // The first bytes are there if any active lane's are.
      Value *instead = region.base
                          ? llvm::Constant::getNullValue(offsets->getType())
                          : t.splat(b.CreatePtrToInt(harmless_memory(t, false), b.getInt64Ty()));
      safe = b.CreateSelect(t.mask, offsets, instead);
   }
   Values parts;
   for (unsigned l = 0; l < t.W; l++)
      parts.push_back(load(vector_type(components),
                           pointer_to(t, region, b.CreateExtractElement(safe, uint64_t(l)))));
   return concatenate(t, parts);
}

/// Part of a packed vector: a scalar if count is 1.
Value *Pieces::slice(Value *all, unsigned first, unsigned count)
{
   if (count == 1)
      return b.CreateExtractElement(all, uint64_t(first));
   llvm::SmallVector<int, 256> part;
   for (unsigned i = 0; i < count; i++)
      part.push_back(int(first + i));
   return reorder(t, all, part);
}

void Pieces::store_regular(Value *all)
{
   const unsigned group = pattern().group;
   for (unsigned g = 0; g < groups(); g++) {
      Value *pointer = group_pointer(g);
      if (pattern().step == element()) {
         store(slice(all, g * group * components, group * components), pointer);
         continue;
      }
      for (unsigned i = 0; i < group; i++)
         store(slice(all, (g * group + i) * components, components),
               b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(i) * pattern().step));
   }
}

void Pieces::scatter(Value *all)
{
   Value *bits = t.mask ? t.bits_of(t.mask) : nullptr;
   for (unsigned l = 0; l < t.W; l++) {
      Value *pointer = pointer_to(t, region, b.CreateExtractElement(offsets, uint64_t(l)));
      if (bits) {
         Value *bit = b.CreateTrunc(b.CreateLShr(bits, l), b.getInt1Ty());
         pointer = b.CreateSelect(bit, pointer, harmless_memory(t, true));
      }
      store(slice(all, l * components, components), pointer);
   }
}

/// More lanes than this are gathered and scattered by lane_memory.h: code size is compile time.
constexpr unsigned max_inline_lanes = 32;

Reach reach_of(Translator &t, const LanePattern &pattern, const LaneOffsets &fixed,
               unsigned element)
{
   // What reaches farther is no access to a few lines of memory.
   constexpr int64_t max_distance = 4096;
   if (pattern.group == t.W || fixed.from_first.empty() ||
       std::ranges::any_of(fixed.from_first, [](int64_t n) { return n < 0 || n > max_distance; }))
      return {pattern};
   // The largest groups in which they run in steps.
   for (uint32_t group = t.W; group > 1; group /= 2) {
      const int64_t step = fixed.from_first[1] - fixed.from_first[0];
      bool runs = step >= 0;
      for (uint32_t l = 0; runs && l + 1 < t.W; l++)
         runs = (l + 1) % group == 0 || fixed.from_first[l + 1] - fixed.from_first[l] == step;
      if (runs)
         return {{group, step}, &fixed};
   }
   return {{1, element}, &fixed};
}

Reach reach_of(Translator &t, const nir_src &offset, unsigned element)
{
   return reach_of(t, t.patterns->pattern(offset), t.fixed_offsets->offsets(offset), element);
}

/// load_regular() and its like may be used.
void Pieces::require_load(Conditions &conditions)
{
   require_regular(conditions);
   if (!region.size && t.mask)
      conditions.require(b.CreateNot(t.any(b.CreateNot(t.mask))));
}

Values load_pieces(Pieces p, Way way = Way::ask)
{
   Translator &t = p.t;
   p.count();
   if (way == Way::lanewise)
      return unpack(t, p.load_slowly(), p.components);
   const auto packed = [&](Value *condition, const auto &fast) {
      const Values all = choose(
         t, condition, [&] { return Values{fast()}; }, [&] { return Values{p.load_slowly()}; });
      return unpack(t, all[0], p.components);
   };
   if (p.regular()) {
      const std::vector<bool> chunks = p.decided.cluster ? p.decided.cluster->chunks : p.chunks();
      Conditions conditions(t);
      if (way != Way::regular)
         p.require_load(conditions);
      Value *condition = conditions.all();
      if (!chunks.empty() || p.pattern().step == 0)
         return choose(
            t, condition, [&] { return chunks.empty() ? p.load_same() : p.load_chunks(chunks); },
            [&] { return unpack(t, p.load_slowly(), p.components); });
      return packed(condition, [&] { return p.load_regular(); });
   }
   if (t.W > max_inline_lanes)
      return unpack(t, p.load_slowly(), p.components);
   p.ahead = 0;
   return packed(p.lanes_all_in_bounds(), [&] { return p.gather(); });
}

void store_pieces(Pieces p, const Values &data)
{
   Translator &t = p.t;
   p.count();
   Value *all = pack(t, data);
   const bool regular = p.regular() && p.pattern().step > 0;
   if (!regular && t.W > max_inline_lanes)
      return p.store_slowly(all);
   Conditions conditions(t);
   if (regular)
      p.require_regular(conditions);
   else
      conditions.require(p.lanes_all_in_bounds());
   if (regular && t.mask)
      conditions.require(p.b.CreateNot(t.any(p.b.CreateNot(t.mask))));
   const auto fast = [&] {
      if (regular)
         p.store_regular(all);
      else
         p.scatter(all);
      return Values{};
   };
   const auto slow = [&] {
      p.store_slowly(all);
      return Values{};
   };
   choose(t, conditions.all(), fast, slow);
}

/// Must the bounds of an access be looked at?
bool needs_check(Translator &t, const Access &access)
{
   switch (access.space) {
   case Space::buffer:
      return t.options.robust_buffer_access || t.mask;
   case Space::shared:
      return t
         .mask; // what active lanes do out of bounds is undefined, inactive lanes must do nothing
   case Space::scratch:
   case Space::constant:
      return true;
   default:
      return false;
   }
}

/// The place of one component of a scalar access; a harmless one if it is out of bounds.
Value *component_pointer(Translator &t, const Access &access, const Region &region, Value *offset,
                         unsigned component)
{
   llvm::IRBuilder<> &b = t.b;
   const bool checks =
      region.size && (access.space == Space::buffer ? t.options.robust_buffer_access
                                                    : access.space == Space::constant);
   if (checks) // modulo 2^32, as accesses may be joined whose offsets wrap
      offset = b.CreateAdd(offset, b.getInt32(component * access.bytes));
   Value *pointer = pointer_to(t, region, offset);
   if (!checks)
      return b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(component) * access.bytes);
   Value *ok = in_bounds(t, region, offset, access.bytes);
   return b.CreateSelect(ok, pointer, harmless_memory(t, access.store));
}

Values load_uniform(Translator &t, const Access &access, const Region &region, Value *offset)
{
   t.accesses.uniform++;
   Pieces p{t,
            region,
            nullptr,
            {},
            access.components,
            access.bytes,
            false,
            access.is_volatile,
            access.invariant};
   Values result;
   for (unsigned c = 0; c < access.components; c++)
      result.push_back(p.load(p.component_type(), component_pointer(t, access, region, offset, c)));
   return result;
}

void store_uniform(Translator &t, const Access &access, const Region &region, Value *offset,
                   llvm::ArrayRef<Value *> data)
{
   t.accesses.uniform++;
   Pieces p{t,    region, nullptr, {}, access.components, access.bytes, false, access.is_volatile,
            false};
   for (unsigned c = 0; c < data.size(); c++)
      p.store(data[c], component_pointer(t, access, region, offset, c));
}

/// Private memory keeps each component of all lanes together: component c of lane l is at (o + c*s)
/// * W + l*s.
struct ScratchAddress {
   Value *offsets; ///< bytes in the subgroup's scratch memory: a scalar for all lanes' vector, or
                   ///< per lane
   LanePattern pattern;
};

ScratchAddress scratch_address(Translator &t, const Access &access, unsigned component)
{
   llvm::IRBuilder<> &b = t.b;
   Value *offset = offset_value(t, access);
   const auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(offset->getType(), v); };
   offset = b.CreateAdd(offset, constant(component * access.bytes));
   if (!offset->getType()->isVectorTy())
      return {scratch_offset(t, offset, access.bytes), {}};
   offset = b.CreateMul(offset, constant(t.W));
   Value *lanes = b.CreateMul(t.lane_numbers(32), constant(access.bytes));
   LanePattern pattern = t.patterns->pattern(*access.offset);
   pattern.step = pattern.step * t.W + access.bytes;
   return {b.CreateAdd(offset, lanes), pattern};
}

Region scratch_region(Translator &t)
{
   return {t.scratch, t.b.getInt64(t.info.stack_bytes)};
}

void load_scratch(Translator &t, nir_intrinsic_instr *intr, const Access &access)
{
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   for (unsigned c = 0; c < access.components; c++) {
      const ScratchAddress address = scratch_address(t, access, c);
      Value *v;
      if (address.offsets->getType()->isVectorTy())
         v = load_pieces({t,
                          scratch_region(t),
                          address.offsets,
                          {address.pattern},
                          1,
                          access.bytes,
                          true,
                          false,
                          false})[0];
      else
         v = t.b.CreateAlignedLoad(vector, pointer_to(t, scratch_region(t), address.offsets),
                                   llvm::Align(access.bytes));
      // What was never stored is undef for LLVM, on which it must not branch.
      t.define(intr->def, c, t.b.CreateFreeze(v));
   }
}

void store_scratch(Translator &t, nir_intrinsic_instr *intr, const Access &access)
{
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   u_foreach_bit(c, nir_intrinsic_write_mask(intr))
   {
      const ScratchAddress address = scratch_address(t, access, c);
      Value *v = t.varying(intr->src[0], c);
      if (address.offsets->getType()->isVectorTy()) {
         store_pieces({t,
                       scratch_region(t),
                       address.offsets,
                       {address.pattern},
                       1,
                       access.bytes,
                       true,
                       false,
                       false},
                      {v});
         continue;
      }
      Value *pointer = pointer_to(t, scratch_region(t), address.offsets);
      const llvm::Align align(access.bytes);
      if (t.mask)
         v = t.b.CreateSelect(t.mask, v, t.b.CreateAlignedLoad(vector, pointer, align));
      t.b.CreateAlignedStore(v, pointer, align);
   }
}

/// Every lane has a buffer of its own: one lane after the other.
void load_from_own_buffers(Translator &t, nir_intrinsic_instr *intr, const Access &access)
{
   llvm::IRBuilder<> &b = t.b;
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   Values results;
   for (unsigned c = 0; c < access.components; c++) {
      results.push_back(t.variable(vector));
      b.CreateStore(llvm::Constant::getNullValue(vector), results.back());
   }
   Value *slots = t.varying(*access.index, 0), *descriptors = t.varying(*access.index, 1);
   Value *offset = offset_value(t, access);
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, b.CreateExtractElement(slots, lane),
                                          b.CreateExtractElement(descriptors, lane));
      Value *own = offset->getType()->isVectorTy() ? b.CreateExtractElement(offset, lane) : offset;
      const Values loaded = load_uniform(t, access, region, own);
      for (unsigned c = 0; c < access.components; c++)
         b.CreateStore(b.CreateInsertElement(b.CreateLoad(vector, results[c]), loaded[c], lane),
                       results[c]);
   });
   for (unsigned c = 0; c < access.components; c++)
      t.define(intr->def, c, b.CreateLoad(vector, results[c]));
}

/// Where a loop brings memory to a workgroup, piece by piece, the next piece is far from what the CPU
/// itself expects: lines of a matrix are not neighbours.  The workgroup works on this one meanwhile.
int64_t distance_ahead(nir_intrinsic_instr *intr, const Access &access)
{
   const nir_loop *loop = innermost_loop(&intr->instr);
   if ((access.space != Space::buffer && access.space != Space::global) || !loop ||
       !has_control_barrier(loop))
      return 0;
   return loop_step(nir_get_scalar(access.offset->ssa, 0), loop).value_or(0);
}

Pieces pieces_of(Translator &t, const Access &access, const Region &region, Value *offset)
{
   return {t,
           region,
           offset,
           reach_of(t, *access.offset, access.element()),
           access.components,
           access.bytes,
           needs_check(t, access),
           access.is_volatile,
           access.invariant};
}

void emit_load(Translator &t, nir_intrinsic_instr *intr, const Access &access)
{
   if (access.space == Space::scratch)
      return load_scratch(t, intr, access);
   if (access.index && !t.is_uniform(*access.index) && !t.is_uniform(intr->def))
      return load_from_own_buffers(t, intr, access);
   const Region region = region_of(t, access);
   Value *offset = offset_value(t, access);
   if (offset->getType()->isVectorTy() && t.is_uniform(intr->def))
      offset = t.b.CreateExtractElement(
         offset, t.first_active_lane()); // push constants, dynamically uniform
   Values result;
   if (!offset->getType()->isVectorTy())
      result = load_uniform(t, access, region, offset);
   else {
      Pieces pieces = pieces_of(t, access, region, offset);
      const auto found = t.guarded.find(intr);
      const Way way = found == t.guarded.end() ? Way::ask : t.way_of_guarded;
      if (way == Way::regular)
         pieces.decided = found->second;
      pieces.ahead = distance_ahead(intr, access);
      result = load_pieces(pieces, way);
   }
   for (unsigned c = 0; c < access.components; c++)
      t.define(intr->def, c, result[c]);
}

/// The components [first, first + count) of a store.
void emit_store_run(Translator &t, nir_intrinsic_instr *intr, Access access, unsigned first,
                    unsigned count)
{
   llvm::IRBuilder<> &b = t.b;
   access.constant_offset += first * access.bytes;
   Value *offset = offset_value(t, access);
   const bool own_buffers = access.index && !t.is_uniform(*access.index);
   if (own_buffers) {
      Value *slots = t.varying(*access.index, 0), *descriptors = t.varying(*access.index, 1);
      Values data;
      for (unsigned c = 0; c < count; c++)
         data.push_back(t.varying(intr->src[0], first + c));
      t.for_each_lane(t.mask, [&](Value *lane) {
         const Region region = buffer_region(t, b.CreateExtractElement(slots, lane),
                                             b.CreateExtractElement(descriptors, lane));
         Values own;
         for (Value *v : data)
            own.push_back(b.CreateExtractElement(v, lane));
         store_uniform(
            t, access, region,
            offset->getType()->isVectorTy() ? b.CreateExtractElement(offset, lane) : offset, own);
      });
      return;
   }
   const Region region = region_of(t, access);
   Values data;
   if (!offset->getType()->isVectorTy()) {
      // All active lanes write to one place: one of them is the last.
      for (unsigned c = 0; c < count; c++)
         data.push_back(t.first_active(intr->src[0], first + c));
      return store_uniform(t, access, region, offset, data);
   }
   for (unsigned c = 0; c < count; c++)
      data.push_back(t.varying(intr->src[0], first + c));
   store_pieces({t, region, offset, reach_of(t, *access.offset, count * access.bytes), count,
                 access.bytes, needs_check(t, access), access.is_volatile, false},
                data);
}

void emit_buffer_size(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const nir_src &index = intr->src[0];
   if (t.is_uniform(intr->def)) {
      const Region region = buffer_region(t, t.first_active(index, 0), t.first_active(index, 1));
      t.define(intr->def, 0, b.CreateTrunc(region.size, b.getInt32Ty()));
      return;
   }
   llvm::Type *vector = t.vector_of(b.getInt32Ty());
   llvm::AllocaInst *sizes = t.variable(vector);
   b.CreateStore(llvm::Constant::getNullValue(vector), sizes);
   Value *slots = t.varying(index, 0), *descriptors = t.varying(index, 1);
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, b.CreateExtractElement(slots, lane),
                                          b.CreateExtractElement(descriptors, lane));
      Value *size = b.CreateTrunc(region.size, b.getInt32Ty());
      b.CreateStore(b.CreateInsertElement(b.CreateLoad(vector, sizes), size, lane), sizes);
   });
   t.define(intr->def, 0, b.CreateLoad(vector, sizes));
}

} // namespace

Value *load_from_scratch(Translator &t, Value *place, const LaneOffsets &fixed, uint32_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   Value *v;
   if (place->getType()->isVectorTy()) {
      const Reach reach = reach_of(t, {}, fixed, bytes);
      v = load_pieces({t, scratch_region(t), place, reach, 1, bytes, true, false, false})[0];
   } else {
      Value *last = b.getInt32(t.info.stack_bytes - bytes);
      place = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, place, last);
      v = b.CreateAlignedLoad(t.int_type(bytes * 8), pointer_to(t, scratch_region(t), place),
                              llvm::Align(1));
   }
   // As in load_scratch().
   return b.CreateFreeze(v);
}

void store_elements(Translator &t, Value *memory, Value *offsets, const LanePattern &pattern,
                    llvm::ArrayRef<Value *> elements)
{
   const unsigned bytes = elements[0]->getType()->getScalarSizeInBits() / 8;
   store_pieces({t,
                 Region{memory, nullptr},
                 offsets,
                 {pattern},
                 unsigned(elements.size()),
                 bytes,
                 false,
                 false,
                 false},
                Values(elements.begin(), elements.end()));
}

bool is_conditional_load(Translator &t, nir_intrinsic_instr *intr)
{
   const std::optional<Access> access = decode_access(intr);
   if (!access || access->store || access->bytes == 0 || access->space == Space::scratch ||
       t.is_uniform(*access->offset) || t.is_uniform(intr->def) ||
       (access->index && !t.is_uniform(*access->index)))
      return false;
   return pieces_of(t, *access, {}, nullptr).regular();
}

void require_regular(Translator &t, nir_intrinsic_instr *intr, Conditions &conditions)
{
   const Access access = *decode_access(intr);
   Pieces p = pieces_of(t, access, region_of(t, access), offset_value(t, access));
   p.decided = t.guarded.lookup(intr);
   p.require_load(conditions);
}

/// Of loads whose addresses lie constant numbers of bytes apart, those that take fewer vectors
/// together than each for itself.
void find_clusters(Translator &t, llvm::ArrayRef<nir_intrinsic_instr *> loads)
{
   struct Member {
      nir_intrinsic_instr *load;
      Access access;
      const LaneOffsets *offsets;
      LinearForm form;
      size_t alone; ///< loads that it takes on its own
   };
   std::vector<Member> members;
   LinearForms forms(*t.fixed_offsets);
   for (nir_intrinsic_instr *load : loads) {
      const Access access = *decode_access(load);
      const Pieces p = pieces_of(t, access, region_of(t, access), nullptr);
      if (access.offset->ssa->bit_size != 32 || !p.may_load_chunks())
         continue;
      const std::vector<bool> chunks = p.chunks();
      LinearForm form = forms.of(nir_get_scalar(access.offset->ssa, 0));
      form.constant += access.constant_offset;
      members.push_back({load, access, p.reach.fixed, std::move(form),
                         chunks.empty() ? p.pieces() : std::ranges::count(chunks, true)});
   }
   while (!members.empty()) {
      const Member first = members.front();
      const auto is_near = [&](const Member &m) {
         constexpr uint32_t max_distance = 4096;
         return m.access.space == first.access.space &&
                (!m.access.index || nir_srcs_equal(*m.access.index, *first.access.index)) &&
                m.form.terms == first.form.terms &&
                m.form.constant - first.form.constant + max_distance <= 2 * max_distance;
      };
      std::vector<Member> near, others;
      std::ranges::partition_copy(members, std::back_inserter(near), std::back_inserter(others),
                                  is_near);
      members = std::move(others);
      const auto distance = [&](const Member &m) {
         return int32_t(m.form.constant - first.form.constant);
      };
      const uint32_t begin = std::ranges::min(near, {}, distance).form.constant;
      const auto cluster = std::make_shared<LoadCluster>();
      size_t alone = 0;
      for (const Member &m : near) {
         const uint32_t shift = m.form.constant - begin;
         add_chunks(cluster->chunks, m.offsets->from_first, shift, m.access.element());
         cluster->extent =
            std::max(cluster->extent, shift + uint64_t(std::ranges::max(m.offsets->from_first)) +
                                         m.access.element());
         const auto add = [&](const LaneAssumption &assumption) {
            if (!std::ranges::count(cluster->assumptions, assumption))
               cluster->assumptions.push_back(assumption);
         };
         for (const uint32_t number : m.offsets->assumptions)
            add(t.fixed_offsets->assumption(number));
         std::ranges::for_each(m.form.assumptions, add);
         alone += m.alone;
      }
      const bool are_even = std::ranges::all_of(
         near, [&](const Member &m) { return (m.form.constant - begin) % 2 == 0; });
      if (!are_even || size_t(std::ranges::count(cluster->chunks, true)) >= alone)
         continue;
      for (const Member &m : near)
         t.guarded[m.load] = {cluster, m.form.constant - begin};
   }
}

bool emit_memory(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_get_ssbo_size:
      emit_buffer_size(t, intr);
      return true;
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      return false;
   default:
      break;
   }
   const std::optional<Access> access = decode_access(intr);
   if (!access)
      return false;
   if (access->bytes == 0) {
      t.fail("booleans in memory have 32 bits");
      return true;
   }
   if (!access->store) {
      emit_load(t, intr, *access);
   } else if (access->space == Space::scratch) {
      store_scratch(t, intr, *access);
   } else {
      unsigned mask = nir_intrinsic_write_mask(intr);
      while (mask) {
         int first, count;
         u_bit_scan_consecutive_range(&mask, &first, &count);
         emit_store_run(t, intr, *access, unsigned(first), unsigned(count));
      }
   }
   return true;
}

} // namespace weft::cpu
