// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores.
///
/// An address that all lanes share makes a scalar access; lane_pieces.h accesses differing
/// addresses. This file handles the kinds of memory: buffers, which may differ from lane to lane,
/// and scratch, where a component of private memory lies next to the same component of the other
/// lanes.

#include "backend/cpu/codegen/access/compute_again.h"
#include "backend/cpu/codegen/access/lane_pieces.h"
#include "backend/cpu/codegen/facts/control_flow.h"
#include "backend/cpu/codegen/facts/linear_forms.h"
#include "backend/cpu/codegen/facts/loop_step.h"
#include "backend/cpu/codegen/vectors/lane_array.h"

#include "nir_passes/memory/lower_descriptors.h"

#include <algorithm>

namespace weft::cpu {

using llvm::Value;

namespace {

/// Whether active lanes may be out of bounds.
bool needs_check(Translator &t, const Access &access)
{
   switch (access.space) {
   case Space::buffer:
      return t.options.robust_buffer_access;
   case Space::scratch:
   case Space::constant:
      return true;
   default: // undefined behaviour
      return false;
   }
}

/// The address of one component of a scalar access; harmless memory if it is out of bounds.
Value *component_pointer(Translator &t, const Access &access, const Region &region, Value *offset,
                         unsigned component)
{
   llvm::IRBuilder<> &b = t.b;
   const bool checks =
      region.size && (access.space == Space::buffer ? t.options.robust_buffer_access
                                                    : access.space == Space::constant);
   if (checks) // modulo 2^32: offsets of accesses that passes joined may wrap
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

/// Private memory keeps a component of all lanes together: component c of lane l is at (o + c*s) *
/// W + l*s.
struct ScratchAddress {
   Value *pointer; ///< all lanes' vector; null if offsets differ, then:
   Value *offsets; ///< byte offsets in the subgroup's scratch memory
   LanePattern pattern;
};

ScratchAddress scratch_address(Translator &t, const Access &access, unsigned component)
{
   llvm::IRBuilder<> &b = t.b;
   const uint32_t beyond = access.constant_offset + component * access.bytes;
   if (t.is_uniform(*access.offset))
      return {scratch_pointer(t, *access.offset, beyond, access.bytes), nullptr, {}};
   Value *offsets = t.value(*access.offset);
   const auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(offsets->getType(), v); };
   offsets = b.CreateMul(b.CreateAdd(offsets, constant(beyond)), constant(t.W));
   Value *lanes = b.CreateMul(t.lane_numbers(32), constant(access.bytes));
   LanePattern pattern = t.patterns->pattern(*access.offset);
   pattern.step = pattern.step * t.W + access.bytes;
   return {nullptr, b.CreateAdd(offsets, lanes), pattern};
}

Region scratch_region(Translator &t)
{
   return {t.scratch, t.b.getInt64(t.info.private_bytes)};
}

void load_scratch(Translator &t, nir_intrinsic_instr *intr, const Access &access)
{
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   for (unsigned c = 0; c < access.components; c++) {
      const ScratchAddress address = scratch_address(t, access, c);
      Value *v;
      if (!address.pointer)
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
         v = t.b.CreateAlignedLoad(vector, address.pointer, llvm::Align(access.bytes));
      // Memory that was never written is undef for LLVM, on which code must not branch.
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
      if (!address.pointer) {
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
      const llvm::Align align(access.bytes);
      if (t.mask)
         v = t.b.CreateSelect(t.mask, v, t.b.CreateAlignedLoad(vector, address.pointer, align));
      t.b.CreateAlignedStore(v, address.pointer, align);
   }
}

/// Each lane may have another buffer: one lane goes after the other.
void load_from_own_buffers(Translator &t, nir_intrinsic_instr *intr, const Access &access)
{
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   std::vector<LaneArray> results;
   for (unsigned c = 0; c < access.components; c++)
      results.emplace_back(t, llvm::Constant::getNullValue(vector));
   const LaneArray slots(t, t.varying(*access.index, 0)),
      descriptors(t, t.varying(*access.index, 1)), offsets(t, offset_value(t, access));
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, slots.lane(lane), descriptors.lane(lane));
      const Values loaded = load_uniform(t, access, region, offsets.lane(lane));
      for (unsigned c = 0; c < access.components; c++)
         results[c].set_lane(lane, loaded[c]);
   });
   for (unsigned c = 0; c < access.components; c++)
      t.define(intr->def, c, results[c].vector());
}

constexpr unsigned cache_line_bytes = 64;

/// Sets the distance (i64, bytes) from a load's memory to the memory that it prefetches, if a
/// prefetch pays. The hardware prefetches neighbouring memory, but not lines of a matrix, and
/// nothing beyond a page.
///
/// A loop that loads memory for a workgroup piece by piece prefetches the next piece, or a later
/// one if pieces are adjacent. Other loads prefetch for the next workgroup, if they read whole
/// cache lines: the rest spend their time on extracting elements.
void look_ahead(nir_intrinsic_instr *intr, const Access &access, Pieces &pieces)
{
   Translator &t = pieces.t;
   llvm::IRBuilder<> &b = t.b;
   if (access.space != Space::buffer && access.space != Space::global)
      return;
   if (const nir_loop *loop = innermost_barrier_loop(&intr->instr)) {
      const int64_t step = loop_step(nir_get_scalar(access.offset->ssa, 0), loop).value_or(0);
      if (step == 0)
         return;
      // A small workgroup leaves the memory that it shares with the next one in the cache.
      if (t.info.subgroups == 1 && !depends_on_workgroup_x(nir_get_scalar(access.offset->ssa, 0)))
         return;
      // Adjacent pieces are read so fast that one step ahead would be too late.
      constexpr int64_t bytes_in_time = 8192; // bytes that arrive during one access to memory
      pieces.is_soon = pieces.regular() && (pieces.groups() == 1 || pieces.reach.fixed) &&
                       int64_t(4 * pieces.extent()) >= step && step > 0;
      pieces.ahead =
         b.getInt64(uint64_t(pieces.is_soon ? step * DIV_ROUND_UP(bytes_in_time, step) : step));
      return;
   }
   const unsigned bytes = t.W * access.element();
   const bool is_run = pieces.regular() && pieces.groups() == 1 && pieces.extent() <= 2 * bytes;
   if (!t.workgroup_x || !is_run || bytes < 2 * cache_line_bytes)
      return;
   // The same thread runs the next workgroup next.
   Value *first = t.first_lane(pieces.offsets),
         *next = ComputeAgain(b, t.workgroup_x, t.next_workgroup_x)(first);
   if (next != first)
      pieces.ahead = b.CreateSExt(b.CreateSub(next, first), b.getInt64Ty());
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
         offset, t.first_active_lane()); // push constants: dynamically uniform
   Values result;
   if (!offset->getType()->isVectorTy())
      result = load_uniform(t, access, region, offset);
   else {
      Pieces pieces = pieces_of(t, access, region, offset);
      const auto found = t.guarded.find(intr);
      const Way way = found == t.guarded.end() ? Way::ask : t.way_of_guarded;
      if (way == Way::regular)
         pieces.decided = found->second;
      if (way != Way::lanewise)
         look_ahead(intr, access, pieces);
      pieces.packed = t.packed_sums->has_factors(intr);
      result = load_pieces(pieces, way);
   }
   for (unsigned c = 0; c < access.components; c++)
      t.define(intr->def, c, result[c]);
}

/// The components [first, first + count) of a store.
void emit_store_run(Translator &t, nir_intrinsic_instr *intr, Access access, unsigned first,
                    unsigned count)
{
   access.constant_offset += first * access.bytes;
   Value *offset = offset_value(t, access);
   const bool own_buffers = access.index && !t.is_uniform(*access.index);
   if (own_buffers) {
      const LaneArray slots(t, t.varying(*access.index, 0)),
         descriptors(t, t.varying(*access.index, 1)), offsets(t, offset);
      std::vector<LaneArray> data;
      for (unsigned c = 0; c < count; c++)
         data.emplace_back(t, t.varying(intr->src[0], first + c));
      t.for_each_lane(t.mask, [&](Value *lane) {
         const Region region = buffer_region(t, slots.lane(lane), descriptors.lane(lane));
         Values own;
         for (const LaneArray &component : data)
            own.push_back(component.lane(lane));
         store_uniform(t, access, region, offsets.lane(lane), own);
      });
      return;
   }
   const Region region = region_of(t, access);
   Values data;
   if (!offset->getType()->isVectorTy()) {
      // All active lanes write to one address; any of them may be the last.
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
   LaneArray sizes(t, llvm::Constant::getNullValue(vector));
   const LaneArray slots(t, t.varying(index, 0)), descriptors(t, t.varying(index, 1));
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, slots.lane(lane), descriptors.lane(lane));
      sizes.set_lane(lane, b.CreateTrunc(region.size, b.getInt32Ty()));
   });
   t.define(intr->def, 0, sizes.vector());
}

/// For lanes whose places lie close together: loads the run of memory around them and shuffles it;
/// else null.
Value *load_run_of_scratch(Translator &t, Value *place, const LaneOffsets &fixed, uint32_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   if (fixed.from_first.empty() || !fixed.assumptions.empty())
      return nullptr;
   const auto [least, most] = std::ranges::minmax(fixed.from_first);
   const int64_t extent = most - least + bytes;
   if (extent > std::min<int64_t>(2 * t.W * bytes, t.info.private_bytes))
      return nullptr;
   llvm::SmallVector<int, 64> order;
   for (const int64_t n : fixed.from_first) {
      if ((n - least) % bytes != 0)
         return nullptr;
      order.push_back(int((n - least) / bytes));
   }
   Value *begin = b.CreateAdd(t.first_lane(place), b.getInt32(uint32_t(least)));
   begin = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, begin,
                                   b.getInt32(t.info.private_bytes - uint32_t(extent)));
   auto *type = llvm::FixedVectorType::get(t.int_type(bytes * 8), unsigned(extent / bytes));
   Value *run = b.CreateAlignedLoad(type, pointer_to(t, scratch_region(t), begin), llvm::Align(1));
   return b.CreateShuffleVector(run, order);
}

} // namespace

Value *load_from_scratch(Translator &t, Value *place, const LaneOffsets &fixed, uint32_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   Value *v;
   if (place->getType()->isVectorTy()) {
      v = load_run_of_scratch(t, place, fixed, bytes);
      if (!v) {
         const Reach reach = reach_of(t, {}, fixed, bytes);
         v = load_pieces({t, scratch_region(t), place, reach, 1, bytes, true, false, false})[0];
      }
   } else {
      Value *last = b.getInt32(t.info.private_bytes - bytes);
      place = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, place, last);
      v = b.CreateAlignedLoad(t.int_type(bytes * 8), pointer_to(t, scratch_region(t), place),
                              llvm::Align(1));
   }
   // Undef, as in load_scratch().
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

namespace {

/// The pieces of a load from one region whose lanes have different addresses; the addresses are not
/// emitted yet.
std::optional<Pieces> pieces_of_load(Translator &t, nir_intrinsic_instr *intr)
{
   const std::optional<Access> access = decode_access(intr);
   if (!access || access->store || access->bytes == 0 || access->space == Space::scratch ||
       t.is_uniform(*access->offset) || t.is_uniform(intr->def) ||
       (access->index && !t.is_uniform(*access->index)))
      return std::nullopt;
   return pieces_of(t, *access, {}, nullptr);
}

} // namespace

bool is_conditional_load(Translator &t, nir_intrinsic_instr *intr)
{
   const std::optional<Pieces> p = pieces_of_load(t, intr);
   return p && p->regular() && !p->may_be_masked();
}

/// Whether an access can read its descriptor even if no lane executes it: a variable pointer may be
/// null.
bool has_descriptor(const Access &access)
{
   if (!access.index)
      return true;
   const nir_scalar slot = nir_scalar_resolved(access.index->ssa, 0),
                    place = nir_scalar_resolved(access.index->ssa, 1);
   return nir_scalar_is_const(slot) && nir_scalar_is_const(place) &&
          !(nir_scalar_as_uint(slot) & optional_slot);
}

bool is_masked_load(Translator &t, nir_intrinsic_instr *intr)
{
   const std::optional<Access> access = decode_access(intr);
   if (!access || !has_descriptor(*access))
      return false;
   const std::optional<Pieces> p = pieces_of_load(t, intr);
   return p && p->may_be_masked();
}

void require_regular(Translator &t, nir_intrinsic_instr *intr, Conditions &conditions)
{
   const Access access = *decode_access(intr);
   Pieces p = pieces_of(t, access, region_of(t, access), offset_value(t, access));
   p.decided = t.guarded.lookup(intr);
   p.require_load(conditions);
   if (p.decided.cluster) {
      llvm::append_range(t.assumed, p.decided.cluster->assumptions);
   } else if (p.reach.fixed) {
      for (const uint32_t number : p.reach.fixed->assumptions)
         t.assumed.push_back(t.fixed_offsets->assumption(number));
   }
}

/// Forms clusters: loads at constant distances that need fewer vectors together than apart.
void find_clusters(Translator &t, llvm::ArrayRef<nir_intrinsic_instr *> loads)
{
   struct Member {
      nir_intrinsic_instr *load;
      Access access;
      const LaneOffsets *offsets;
      LinearForm form;
      size_t alone; ///< loads that it needs without a cluster
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
      if (std::ranges::any_of(form.assumptions, [&](const LaneAssumption &assumption) {
             return t.only_in_copies.contains(assumption.def);
          }))
         continue;
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
