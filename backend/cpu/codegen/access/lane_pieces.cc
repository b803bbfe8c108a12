// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/access/lane_pieces.h"

#include "backend/cpu/codegen/vectors/packed_values.h"
#include "backend/cpu/codegen/vectors/take_elements.h"

#include <llvm/IR/MDBuilder.h>

#include <array>

namespace weft::cpu {

using llvm::Value;

namespace {

/// The size of the widest vector register.
constexpr unsigned chunk_bytes = 64;

Value *are_all(Translator &t, Value *lane_bools)
{
   return t.b.CreateNot(t.any(t.b.CreateNot(lane_bools)));
}

} // namespace

Value *Pieces::load(llvm::Type *type, Value *pointer)
{
   llvm::LoadInst *load = b.CreateAlignedLoad(type, pointer, llvm::Align(1), is_volatile);
   if (invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   if (ahead)
      prefetch(type, pointer);
   return load;
}

/// Prefetches each cache line of the next iteration's load: into the second-level cache, or into
/// the first if the load is near. Prefetching an invalid address does no harm.
void Pieces::prefetch(llvm::Type *type, Value *pointer)
{
   constexpr int64_t least = 16; // a cache line holds many smaller loads
   const auto size = int64_t(type->getPrimitiveSizeInBits() / 8);
   if (size < least)
      return;
   for (int64_t byte = 0; byte < size; byte += chunk_bytes) {
      Value *next = b.CreatePtrAdd(pointer, b.CreateAdd(ahead, b.getInt64(uint64_t(byte))));
      constexpr unsigned read = 0, second_level = 2, first_level = 3, data = 1;
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {next->getType()},
                        {next, b.getInt32(read), b.getInt32(is_soon ? first_level : second_level),
                         b.getInt32(data)});
   }
}

/// Loads the first `count` elements and does not read memory behind them.
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

/// Requires that the assumptions hold and that every byte of every lane, active or not, is in
/// bounds.
void Pieces::require_regular(Conditions &conditions)
{
   if (decided.cluster) {
      // The extent being in bounds also implies that no address after the first wraps around.
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
   if (!region.size || !(check || t.mask || behind))
      return;
   if (groups() == 1 || reach.fixed) {
      conditions.require_in_bounds(region, t.first_lane(offsets), extent() + behind);
   } else {
      const Bound bound = bound_of(t, region, uint64_t(loaded()) * bytes);
      conditions.require(bound.any_fits);
      conditions.require(b.CreateNot(t.any(b.CreateICmpUGT(offsets, t.splat(bound.last)))));
   }
}

/// A chunk is one register, and shuffles take elements of 16 bits or more from two.
bool Pieces::may_load_chunks() const
{
   const auto is_word = [](int64_t n) { return n % 2 == 0; };
   return reach.fixed && region.size && !is_volatile && bytes != 1 &&
          t.options.target.shuffles_two_registers &&
          t.options.target.vector_bits == 8 * chunk_bytes &&
          std::ranges::all_of(reach.fixed->from_first, is_word);
}

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

/// The chunks from lane 0's address on that are loaded whole; none if pieces need as few loads.
std::vector<bool> Pieces::chunks() const
{
   if (!may_load_chunks())
      return {};
   std::vector<bool> used;
   add_chunks(used, reach.fixed->from_first, 0, element());
   return size_t(std::ranges::count(used, true)) < pieces() ? used : std::vector<bool>();
}

/// Loads a chunk up to the extent and does not read memory behind it.
Value *Pieces::load_chunk(Value *base, size_t chunk, uint64_t extent)
{
   auto *type = llvm::FixedVectorType::get(b.getInt16Ty(), chunk_bytes / 2);
   Value *pointer = b.CreateConstGEP1_64(b.getInt8Ty(), base, chunk * chunk_bytes);
   const uint64_t left = (extent - chunk * chunk_bytes) / 2;
   return left < type->getNumElements() ? load_beginning(type, pointer, left) : load(type, pointer);
}

/// Extracts the components from the chunks that are not null.
Values Pieces::take_components(llvm::ArrayRef<Value *> chunks)
{
   // The largest element size that divides all offsets needs the fewest elements per shuffle.
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

   // One register of a component after the other, each from all chunks that contribute to it.
   const unsigned units = t.W * bytes / unit, registers = DIV_ROUND_UP(units, per_chunk);
   std::vector<Values> parts(components);
   for (unsigned r = 0; r < registers; r++) {
      llvm::SmallVector<Elements, 4> wanted(components);
      for (unsigned c = 0; c < components; c++) {
         for (unsigned i = r * per_chunk; i < std::min(units, (r + 1) * per_chunk); i++) {
            const unsigned byte = i * unit, at = decided.shift +
                                                 unsigned(reach.fixed->from_first[byte / bytes]) +
                                                 c * bytes + byte % bytes;
            wanted[c].push_back({at / chunk_bytes, int(at % chunk_bytes / unit)});
         }
      }
      const Values taken = take_elements(t, vectors, wanted);
      for (unsigned c = 0; c < components; c++)
         parts[c].push_back(taken[c]);
   }
   Values result;
   for (unsigned c = 0; c < components; c++) {
      Value *all = concatenate(t, parts[c]);
      all = b.CreateBitCast(
         all, llvm::FixedVectorType::get(component_type(), registers * chunk_bytes / bytes));
      result.push_back(registers * per_chunk == units ? all : slice(all, 0, t.W));
   }
   return result;
}

/// Loads a packed vector register by register, if each register is one or two runs of memory; else
/// null.
Value *Pieces::load_registers(Value *base)
{
   const unsigned lanes = chunk_bytes / element(), half = lanes / 2;
   if (half == 0 || t.W < lanes)
      return nullptr;
   const std::vector<int64_t> &place = reach.fixed->from_first;
   for (unsigned l = 0; l + 1 < t.W; l++) {
      if ((l + 1) % half != 0 && place[l + 1] != place[l] + element())
         return nullptr;
   }
   const auto run = [&](unsigned lane, unsigned count) {
      Value *pointer =
         b.CreateConstGEP1_64(b.getInt8Ty(), base, decided.shift + uint64_t(place[lane]));
      return load(vector_type(count * components), pointer);
   };
   Values registers;
   for (unsigned l = 0; l < t.W; l += lanes) {
      const int64_t between = place[l + half] - place[l];
      if (between == int64_t(half * element())) {
         registers.push_back(run(l, lanes));
         continue;
      }
      Value *first = run(l, half), *second = between ? run(l + half, half) : first;
      Value *halves[] = {first, second};
      registers.push_back(concatenate(t, halves));
   }
   return concatenate(t, registers);
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
   if (Value *all = packed ? load_registers(cluster.base) : nullptr) {
      for (unsigned c = 0; c < components; c++)
         t.packed_components[result[c]] = {all, c};
   }
   if (are_halves()) {
      Pieces words = *this;
      words.bytes *= 2;
      words.components /= 2;
      remember_words(result, words.take_components(loaded));
   }
   return result;
}

/// Shaders that load words by halves join the halves again; this lets the join find the word.
void Pieces::remember_words(llvm::ArrayRef<Value *> halves, llvm::ArrayRef<Value *> words)
{
   for (size_t c = 0; c < words.size(); c++)
      t.halves[{halves[2 * c], halves[2 * c + 1]}] = words[c];
}

/// Splits a vector of all lanes' consecutive elements into components.
Values Pieces::components_of(Value *all)
{
   const Values result = unpack(t, all, components);
   if (are_halves()) {
      Value *words =
         b.CreateBitCast(all, llvm::FixedVectorType::get(b.getInt32Ty(), t.W * components / 2));
      remember_words(result, unpack(t, words, components / 2));
   }
   return result;
}

/// Loads one element per group, which all lanes of the group share.
Values Pieces::load_same()
{
   Values parts;
   for (unsigned g = 0; g < groups(); g++)
      parts.push_back(load(vector_type(loaded()), group_pointer(g)));
   if (parts.size() == 1 && components == 1)
      return {t.splat(parts[0])};
   // LLVM would expand elements below 32 bits with one insertion per lane.
   constexpr unsigned word_bytes = 4;
   const unsigned spread = components == 1 && bytes < word_bytes ? word_bytes / bytes : 1;
   if (spread > 1) {
      for (Value *&part : parts)
         part = b.CreateZExt(part, b.getInt32Ty());
   }
   Value *all = b.CreateBitCast(concatenate(t, parts), vector_type(groups() * loaded() * spread));
   Values result;
   for (unsigned c = 0; c < components; c++) {
      llvm::SmallVector<int, 64> order;
      for (unsigned l = 0; l < t.W; l++)
         order.push_back(int(l / pattern().group * loaded() * spread + c));
      result.push_back(reorder(t, all, order));
   }
   return result;
}

/// Loads elements at constant steps.
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

namespace {

/// Returns the values of `fast`. Unless `condition` is null, a branch selects `fast` or `slow`.
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

} // namespace

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

/// Masked instructions exist for runs of at least one vector (16 bytes): of words, on some CPUs
/// also of smaller elements.
bool Pieces::has_masked_runs() const
{
   return pattern().step == element() && pattern().group * element() >= 16 && !is_volatile &&
          (element() % 4 == 0 || t.options.target.masks_any_element);
}

bool Pieces::has_masked_instructions() const
{
   return t.mask && has_masked_runs();
}

/// Whether masked instructions need no guard beside them. A mask has one bit per lane, but a lane
/// with several components may be partly in bounds.
bool Pieces::may_be_masked() const
{
   return has_masked_instructions() && !reach.fixed && !(check && components > 1);
}

Value *Pieces::active_in_bounds()
{
   return check && region.size ? b.CreateAnd(t.mask, lanes_in_bounds(t, region, offsets, element()))
                               : t.mask;
}

/// The address of a group's lane 0, which need not be valid: offsets of inactive lanes may lie
/// below the first byte, modulo 2^32. No region is large enough for such an offset to be inside
/// (limits::lane_reach).
Value *Pieces::masked_group_pointer(unsigned group)
{
   Value *offset = b.CreateExtractElement(offsets, uint64_t(group) * pattern().group);
   if (!region.base)
      return pointer_to(t, region, offset);
   Value *below = llvm::ConstantInt::get(offset->getType(), extent() - element());
   offset = b.CreateSub(b.CreateZExt(b.CreateAdd(offset, below), b.getInt64Ty()),
                        b.CreateZExt(below, b.getInt64Ty()));
   return b.CreateGEP(b.getInt8Ty(), region.base, offset);
}

/// Calls use(pointer, type, mask, first) for each group's vector. The vector's elements are the
/// largest integers that divide a lane's element, so that the mask has the fewest bits.
template <typename Use>
void Pieces::for_each_masked_group(Value *mask, Use use)
{
   const unsigned unit = std::min(8u, 1u << std::countr_zero(element())),
                  per_lane = element() / unit, per_group = pattern().group * per_lane;
   llvm::SmallVector<int, 256> lane_of_unit;
   for (unsigned i = 0; i < t.W * per_lane; i++)
      lane_of_unit.push_back(int(i / per_lane));
   mask = reorder(t, mask, lane_of_unit);
   auto *type = llvm::FixedVectorType::get(t.int_type(8 * unit), per_group);
   for (unsigned g = 0; g < groups(); g++)
      use(masked_group_pointer(g), type, slice(mask, g * per_group, per_group), g * per_group);
}

/// Lanes outside of the mask read zero.
Value *Pieces::load_masked(Value *mask)
{
   Values parts;
   for_each_masked_group(mask, [&](Value *pointer, llvm::FixedVectorType *type, Value *units,
                                   unsigned) {
      llvm::CallInst *load = b.CreateMaskedLoad(type, pointer, llvm::Align(1), units,
                                                llvm::Constant::getNullValue(type));
      if (invariant)
         load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
      if (ahead)
         prefetch(type, pointer);
      parts.push_back(load);
   });
   return b.CreateBitCast(concatenate(t, parts), packed_type());
}

/// store_regular() for the lanes of the mask only.
void Pieces::store_masked(Value *all, Value *mask)
{
   for_each_masked_group(
      mask, [&](Value *pointer, llvm::FixedVectorType *type, Value *lanes, unsigned first) {
         Value *units =
            b.CreateBitCast(all, llvm::FixedVectorType::get(type->getElementType(),
                                                            type->getNumElements() * groups()));
         b.CreateMaskedStore(slice(units, first, type->getNumElements()), pointer, llvm::Align(1),
                             lanes);
      });
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

Reach reach_of(Translator &t, const LanePattern &pattern, const LaneOffsets &fixed,
               unsigned element)
{
   // Larger distances would touch more than a few cache lines.
   constexpr int64_t max_distance = 4096;
   if (pattern.group == t.W || fixed.from_first.empty() ||
       std::ranges::any_of(fixed.from_first, [](int64_t n) { return n < 0 || n > max_distance; }))
      return {pattern};
   // Finds the largest groups with a constant step.
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

/// Requires what load_regular() and the other vector loads assume.
void Pieces::require_load(Conditions &conditions)
{
   require_regular(conditions);
   if (!region.size && t.mask)
      conditions.require(are_all(t, t.mask));
}

Values load_pieces(Pieces p, Way way)
{
   Translator &t = p.t;
   p.count();
   if (p.may_be_masked())
      return unpack(t, p.load_masked(p.active_in_bounds()), p.components);
   const auto lanewise = [&] { return unpack(t, p.load_lanewise(), p.components); };
   if (way == Way::lanewise || !p.regular())
      return lanewise();
   const std::vector<bool> chunks = p.decided.cluster ? p.decided.cluster->chunks : p.chunks();
   Conditions conditions(t);
   if (way != Way::regular)
      p.require_load(conditions);
   if (!chunks.empty() || p.pattern().step == 0)
      return choose(
         t, conditions.all(),
         [&] { return chunks.empty() ? p.load_same() : p.load_chunks(chunks); }, lanewise);
   const Values all = choose(
      t, conditions.all(), [&] { return Values{p.load_regular()}; },
      [&] { return Values{p.load_lanewise()}; });
   return p.components_of(all[0]);
}

namespace {

/// Branches to an unmasked store if all lanes are active and masked stores are slow, as AVX2's are
/// on AMD's CPUs. A stencil with masked edges takes 95 ms on Zen 3 without this branch, and 26 ms with it.
void store_active(Pieces &p, Value *all, Value *mask)
{
   const auto store_masked = [&] {
      p.store_masked(all, mask);
      return Values{};
   };
   const auto store_all = [&] {
      p.store_regular(all);
      return Values{};
   };
   if (p.t.options.target.masks_any_element)
      store_masked();
   else
      choose(p.t, are_all(p.t, mask), store_all, store_masked);
}

} // namespace

void store_pieces(Pieces p, const Values &data)
{
   Translator &t = p.t;
   p.count();
   Value *all = pack(t, data);
   if (!p.is_stored_in_pieces()) {
      p.store_lanewise(all);
      return;
   }
   if (p.may_be_masked())
      return store_active(p, all, p.active_in_bounds());
   Conditions conditions(t);
   p.require_regular(conditions);
   const bool masked = p.has_masked_instructions();
   if (t.mask && !masked)
      conditions.require(are_all(t, t.mask));
   const auto fast = [&] {
      if (masked)
         store_active(p, all, t.mask);
      else
         p.store_regular(all);
      return Values{};
   };
   const auto slow = [&] {
      p.store_lanewise(all);
      return Values{};
   };
   choose(t, conditions.all(), fast, slow);
}

} // namespace weft::cpu
