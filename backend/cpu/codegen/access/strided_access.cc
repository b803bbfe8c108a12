// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/access/strided_access.h"

#include "backend/cpu/codegen/plans/access_plans.h"
#include "backend/cpu/codegen/vectors/multi_shuffle.h"
#include "backend/cpu/codegen/vectors/packed_values.h"

#include "nir_passes/compile_limits.h"

namespace weft::cpu {

using llvm::Value;

Value *are_all(Translator &t, Value *lane_bools)
{
   return t.b.CreateNot(t.any(t.b.CreateNot(lane_bools)));
}

Value *load_from(Translator &t, const Access &access, llvm::Type *type, Value *pointer)
{
   llvm::LoadInst *load = t.b.CreateAlignedLoad(type, pointer, llvm::Align(1), access.is_volatile);
   if (access.invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   return load;
}

void store_to(Translator &t, const Access &access, Value *v, Value *pointer)
{
   t.b.CreateAlignedStore(v, pointer, llvm::Align(1), access.is_volatile);
}

PlanContext plan_context(const Translator &t)
{
   return {t.W, t.options.target, &t.facts->offsets};
}

void StridedAccess::count()
{
   AccessCounts &counts = t.accesses;
   (!plan.is_regular()            ? counts.gathered
    : pattern().step == element() ? counts.contiguous
                                  : counts.strided)++;
}

Value *StridedAccess::load(llvm::Type *type, Value *pointer)
{
   Value *loaded = load_from(t, plan.access, type, pointer);
   if (prefetch_distance)
      prefetch(type, pointer);
   return loaded;
}

void StridedAccess::store(Value *v, Value *pointer)
{
   store_to(t, plan.access, v, pointer);
}

/// Prefetches each cache line of a later load. Prefetching an invalid address does no harm.
void StridedAccess::prefetch(llvm::Type *type, Value *pointer)
{
   constexpr int64_t least = 16; // a cache line holds many smaller loads
   const auto size = int64_t(type->getPrimitiveSizeInBits() / 8);
   if (size < least)
      return;
   for (int64_t byte = 0; byte < size; byte += chunk_bytes) {
      Value *next =
         b.CreatePtrAdd(pointer, b.CreateAdd(prefetch_distance, b.getInt64(uint64_t(byte))));
      constexpr unsigned read = 0, second_level = 2, first_level = 3, data = 1;
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {next->getType()},
                        {next, b.getInt32(read),
                         b.getInt32(plan.prefetch.is_near ? first_level : second_level),
                         b.getInt32(data)});
   }
}

/// Loads the first `count` elements and does not read memory behind them.
Value *StridedAccess::load_beginning(llvm::FixedVectorType *type, Value *pointer, uint64_t count)
{
   llvm::SmallVector<llvm::Constant *, 64> mask;
   for (unsigned i = 0; i < type->getNumElements(); i++)
      mask.push_back(b.getInt1(i < count));
   llvm::CallInst *load =
      b.CreateMaskedLoad(type, pointer, llvm::Align(1), llvm::ConstantVector::get(mask),
                         llvm::Constant::getNullValue(type));
   if (plan.access.invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   return load;
}

Value *StridedAccess::group_pointer(unsigned group)
{
   if (fixed())
      return b.CreateConstGEP1_64(b.getInt8Ty(), pointer_to(t, region, t.first_lane(offsets)),
                                  uint64_t(fixed()->from_first[group * pattern().group]));
   return pointer_to(t, region, b.CreateExtractElement(offsets, uint64_t(group) * pattern().group));
}

/// Lane 0's offset, or the first offset of the load's cluster.
Value *StridedAccess::first_offset()
{
   Value *offset = t.first_lane(offsets);
   if (!plan.cluster)
      return offset;
   return b.CreateSub(offset, llvm::ConstantInt::get(offset->getType(), plan.shift));
}

/// Requires the conditions of the plan.
void StridedAccess::require(BranchCondition &condition)
{
   const AccessConditions &conditions = plan.conditions;
   for (const LaneAssumption &a : conditions.assumptions)
      condition.require_at_most(t.first_lane(t.value(*a.def, a.component)), a.mask, a.most);
   if (conditions.from_first)
      condition.require_in_bounds(region, first_offset(), conditions.from_first);
   if (conditions.from_each) {
      const OffsetLimit limit = offset_limit(t, region, conditions.from_each);
      condition.require(limit.any_fits);
      condition.require(b.CreateNot(t.any(b.CreateICmpUGT(offsets, t.splat(limit.last)))));
   }
   if (conditions.all_lanes)
      condition.require(are_all(t, t.mask));
}

/// Loads a chunk up to the extent and does not read memory behind it.
Value *StridedAccess::load_chunk(Value *base, size_t chunk, uint64_t extent)
{
   auto *type = llvm::FixedVectorType::get(b.getInt16Ty(), chunk_bytes / 2);
   Value *pointer = b.CreateConstGEP1_64(b.getInt8Ty(), base, chunk * chunk_bytes);
   const uint64_t left = (extent - chunk * chunk_bytes) / 2;
   if (left >= type->getNumElements())
      return load(type, pointer);
   if (prefetch_distance)
      prefetch(type, pointer);
   return load_beginning(type, pointer, left);
}

/// Extracts components of `bytes` bytes from the chunks that are not null.
Values StridedAccess::take_components(llvm::ArrayRef<Value *> chunks, unsigned components,
                                      unsigned bytes)
{
   // The largest element size that divides all offsets needs the fewest elements per shuffle.
   unsigned unit = bytes;
   for (const int64_t from_first : fixed()->from_first) {
      const unsigned at = plan.shift + unsigned(from_first);
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
            const unsigned byte = i * unit, at = plan.shift +
                                                 unsigned(fixed()->from_first[byte / bytes]) +
                                                 c * bytes + byte % bytes;
            wanted[c].push_back({at / chunk_bytes, int(at % chunk_bytes / unit)});
         }
      }
      const Values taken = multi_shuffle(t, vectors, wanted);
      for (unsigned c = 0; c < components; c++)
         parts[c].push_back(taken[c]);
   }
   Values result;
   for (unsigned c = 0; c < components; c++) {
      Value *all = concatenate(t, parts[c]);
      all = b.CreateBitCast(
         all, llvm::FixedVectorType::get(t.int_type(bytes * 8), registers * chunk_bytes / bytes));
      result.push_back(registers * per_chunk == units ? all : elements_of(t, all, 0, t.W));
   }
   return result;
}

/// Loads a packed vector register by register, if each register is one or two runs of memory; else
/// null.
Value *StridedAccess::load_registers(Value *base)
{
   const unsigned lanes = chunk_bytes / element(), half = lanes / 2;
   if (half == 0 || t.W < lanes)
      return nullptr;
   const std::vector<int64_t> &place = fixed()->from_first;
   for (unsigned l = 0; l + 1 < t.W; l++) {
      if ((l + 1) % half != 0 && place[l + 1] != place[l] + element())
         return nullptr;
   }
   const auto run = [&](unsigned lane, unsigned count) {
      Value *pointer =
         b.CreateConstGEP1_64(b.getInt8Ty(), base, plan.shift + uint64_t(place[lane]));
      return load(vector_type(count * components()), pointer);
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

Values StridedAccess::load_chunks()
{
   LoadedChunks alone;
   LoadedChunks &cluster = plan.cluster ? t.emission->clusters[*plan.cluster] : alone;
   const LoadCluster *planned =
      plan.cluster ? &t.emission->guard->clusters[*plan.cluster] : nullptr;
   const uint64_t extent = planned ? planned->extent : plan.extent();
   std::vector<bool> used;
   add_chunks(used, fixed()->from_first, plan.shift, element());
   cluster.chunks.resize((planned ? planned->chunks : plan.chunks).size());
   if (!cluster.base)
      cluster.base = pointer_to(t, region, first_offset());
   for (size_t i = 0; i < used.size(); i++) {
      if (used[i] && !cluster.chunks[i])
         cluster.chunks[i] = load_chunk(cluster.base, i, extent);
   }
   prefetch_distance = nullptr; // load_registers() loads the same memory
   const Values result = take_components(cluster.chunks, components(), bytes());
   if (Value *all = plan.is_packed ? load_registers(cluster.base) : nullptr) {
      for (unsigned c = 0; c < components(); c++)
         t.lane_values.set_component(result[c], all, c);
   }
   if (are_halves())
      remember_words(result, take_components(cluster.chunks, components() / 2, 2 * bytes()));
   return result;
}

/// Shaders that load words by halves join the halves again; this lets the join find the word.
void StridedAccess::remember_words(llvm::ArrayRef<Value *> halves, llvm::ArrayRef<Value *> words)
{
   for (size_t c = 0; c < words.size(); c++)
      t.lane_values.set_word(halves[2 * c], halves[2 * c + 1], words[c]);
}

/// Splits a vector of all lanes' consecutive elements into components.
Values StridedAccess::components_of(Value *all)
{
   const Values result = unpack(t, all, components());
   if (are_halves()) {
      Value *words =
         b.CreateBitCast(all, llvm::FixedVectorType::get(b.getInt32Ty(), t.W * components() / 2));
      remember_words(result, unpack(t, words, components() / 2));
   }
   return result;
}

/// Loads one element per group, which all lanes of the group share.
Values StridedAccess::load_same()
{
   Values parts;
   for (unsigned g = 0; g < plan.groups(); g++)
      parts.push_back(load(vector_type(plan.loaded_components()), group_pointer(g)));
   if (parts.size() == 1 && components() == 1)
      return {t.splat(parts[0])};
   // LLVM would expand elements below 32 bits with one insertion per lane.
   constexpr unsigned word_bytes = 4;
   const unsigned spread = components() == 1 && bytes() < word_bytes ? word_bytes / bytes() : 1;
   if (spread > 1) {
      for (Value *&part : parts)
         part = b.CreateZExt(part, b.getInt32Ty());
   }
   Value *all = b.CreateBitCast(concatenate(t, parts),
                                vector_type(plan.groups() * plan.loaded_components() * spread));
   Values result;
   for (unsigned c = 0; c < components(); c++) {
      llvm::SmallVector<int, 64> order;
      for (unsigned l = 0; l < t.W; l++)
         order.push_back(int(l / pattern().group * plan.loaded_components() * spread + c));
      result.push_back(reorder(t, all, order));
   }
   return result;
}

/// Loads elements at constant steps.
Value *StridedAccess::load_groups()
{
   const bool touching = pattern().step == element();
   const unsigned group = pattern().group;
   Values parts;
   for (unsigned g = 0; g < plan.groups(); g++) {
      Value *pointer = group_pointer(g);
      if (touching)
         parts.push_back(load(vector_type(components() * group), pointer));
      else
         for (unsigned i = 0; i < group; i++)
            parts.push_back(
               load(vector_type(components()),
                    b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(i) * pattern().step)));
   }
   return concatenate(t, parts);
}

/// The lanes whose memory a masked instruction accesses. Usually one comparison shows that all of
/// them are in bounds, without one for each register. If the CPU has no registers of masks, a mask
/// that passes between blocks would be packed and unpacked.
Value *StridedAccess::accessed_lanes()
{
   if (!plan.excludes_outlying)
      return t.mask;
   const auto inside = [&] {
      return Values{b.CreateAnd(t.mask, lanes_in_bounds(t, region, offsets, element()))};
   };
   if (plan.groups() > 1 || !t.options.target.masks_any_element)
      return inside()[0];
   Value *first = b.CreateExtractElement(offsets, uint64_t(0));
   Value *all_inside = in_bounds(t, region, first, plan.extent());
   return choose(t, all_inside, [&] { return Values{t.mask}; }, inside)[0];
}

/// The address of a group's lane 0, which need not be valid: offsets of inactive lanes may lie
/// below the first byte, modulo 2^32. No region is large enough for such an offset to be inside
/// (limits::lane_reach). If all lanes of a group are inactive, its address stays close to the
/// region: a load from a page that does not exist may take a CPU 700 ns.
Value *StridedAccess::masked_group_pointer(unsigned group)
{
   Value *offset = b.CreateExtractElement(offsets, uint64_t(group) * pattern().group);
   if (!region.base)
      return pointer_to(t, region, offset);
   Value *below = llvm::ConstantInt::get(offset->getType(), limits::lane_reach);
   offset = b.CreateSub(b.CreateZExt(b.CreateAdd(offset, below), b.getInt64Ty()),
                        b.CreateZExt(below, b.getInt64Ty()));
   return b.CreateGEP(b.getInt8Ty(), region.base, offset);
}

/// Calls use(pointer, type, mask, first) for each group's vector. The vector's elements are the
/// largest integers that divide a lane's element, so that the mask has the fewest bits.
template <typename Use>
void StridedAccess::for_each_masked_group(Value *mask, Use use)
{
   const unsigned unit = std::min(8u, 1u << std::countr_zero(element())),
                  per_lane = element() / unit, per_group = pattern().group * per_lane;
   llvm::SmallVector<int, 256> lane_of_unit;
   for (unsigned i = 0; i < t.W * per_lane; i++)
      lane_of_unit.push_back(int(i / per_lane));
   mask = reorder(t, mask, lane_of_unit);
   auto *type = llvm::FixedVectorType::get(t.int_type(8 * unit), per_group);
   for (unsigned g = 0; g < plan.groups(); g++)
      use(masked_group_pointer(g), type, elements_of(t, mask, g * per_group, per_group),
          g * per_group);
}

/// Lanes outside of the mask read zero.
Value *StridedAccess::load_masked(Value *mask)
{
   Values parts;
   for_each_masked_group(mask, [&](Value *pointer, llvm::FixedVectorType *type, Value *units,
                                   unsigned) {
      llvm::CallInst *load = b.CreateMaskedLoad(type, pointer, llvm::Align(1), units,
                                                llvm::Constant::getNullValue(type));
      if (plan.access.invariant)
         load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
      if (prefetch_distance)
         prefetch(type, pointer);
      parts.push_back(load);
   });
   return b.CreateBitCast(concatenate(t, parts), packed_type());
}

/// store_groups() for the lanes of the mask only.
void StridedAccess::store_masked(Value *all, Value *mask)
{
   for_each_masked_group(mask, [&](Value *pointer, llvm::FixedVectorType *type, Value *lanes,
                                   unsigned first) {
      Value *units =
         b.CreateBitCast(all, llvm::FixedVectorType::get(type->getElementType(),
                                                         type->getNumElements() * plan.groups()));
      b.CreateMaskedStore(elements_of(t, units, first, type->getNumElements()), pointer,
                          llvm::Align(1), lanes);
   });
}

void StridedAccess::store_groups(Value *all)
{
   const unsigned group = pattern().group;
   for (unsigned g = 0; g < plan.groups(); g++) {
      Value *pointer = group_pointer(g);
      if (pattern().step == element()) {
         store(elements_of(t, all, g * group * components(), group * components()), pointer);
         continue;
      }
      for (unsigned i = 0; i < group; i++)
         store(elements_of(t, all, (g * group + i) * components(), components()),
               b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(i) * pattern().step));
   }
}

Values load_strided(StridedAccess access)
{
   Translator &t = access.t;
   const AccessPlan &plan = access.plan;
   access.count();
   if (plan.form == AccessForm::masked)
      return unpack(t, access.load_masked(access.accessed_lanes()), access.components());
   const auto lanewise = [&] { return unpack(t, access.load_lanewise(), access.components()); };
   if (access.is_lanewise())
      return lanewise();
   BranchCondition condition(t);
   if (!access.is_guarded())
      access.require(condition);
   switch (plan.form) {
   case AccessForm::windows: {
      Value *index = access.window_index();
      access.require_windows(condition, index);
      const Values all = choose(
         t, condition.all(), [&] { return Values{access.load_windows(index)}; },
         [&] { return Values{access.load_lanewise()}; });
      return access.components_of(all[0]);
   }
   case AccessForm::same:
      return choose(t, condition.all(), [&] { return access.load_same(); }, lanewise);
   case AccessForm::chunks:
      return choose(t, condition.all(), [&] { return access.load_chunks(); }, lanewise);
   default: {
      const Values all = choose(
         t, condition.all(), [&] { return Values{access.load_groups()}; },
         [&] { return Values{access.load_lanewise()}; });
      return access.components_of(all[0]);
   }
   }
}

namespace {

/// Branches to an unmasked store if all lanes are active and masked stores are slow, as AVX2's are
/// on AMD's CPUs. A stencil with masked edges takes 95 ms on Zen 3 without this branch, and 26 ms
/// with it.
void store_active(StridedAccess &access, Value *all, Value *mask)
{
   const auto store_masked = [&] {
      access.store_masked(all, mask);
      return Values{};
   };
   const auto store_all = [&] {
      access.store_groups(all);
      return Values{};
   };
   if (access.t.options.target.masks_any_element)
      store_masked();
   else
      choose(access.t, are_all(access.t, mask), store_all, store_masked);
}

} // namespace

void store_strided(StridedAccess access, const Values &data)
{
   Translator &t = access.t;
   const AccessPlan &plan = access.plan;
   access.count();
   Value *all = pack(t, data);
   if (plan.form == AccessForm::lanewise)
      return access.store_lanewise(all);
   BranchCondition condition(t);
   access.require(condition);
   const auto fast = [&] {
      if (plan.form == AccessForm::masked)
         store_active(access, all, access.accessed_lanes());
      else
         access.store_groups(all);
      return Values{};
   };
   const auto slow = [&] {
      access.store_lanewise(all);
      return Values{};
   };
   choose(t, condition.all(), fast, slow);
}

} // namespace weft::cpu
