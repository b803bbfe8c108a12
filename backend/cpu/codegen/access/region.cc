// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/access/region.h"

#include "nir_passes/memory/lower_descriptors.h"

#include <cstddef>

namespace weft::cpu {

using llvm::Value;

namespace {

Value *load_invariant(Translator &t, llvm::Type *type, Value *base, uint64_t offset)
{
   Value *address = t.b.CreateConstInBoundsGEP1_64(t.b.getInt8Ty(), base, offset);
   llvm::LoadInst *load = t.b.CreateLoad(type, address);
   load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   return load;
}

} // namespace

Region buffer_region(Translator &t, Value *slot, Value *descriptor)
{
   llvm::IRBuilder<> &b = t.b;
   auto *known_slot = llvm::dyn_cast<llvm::ConstantInt>(slot);
   auto *known_descriptor = llvm::dyn_cast<llvm::ConstantInt>(descriptor);
   // Arrays and variable pointers contain descriptors only, so an index of inline data is always
   // constant.
   const uint32_t flags = known_slot ? uint32_t(known_slot->getZExtValue()) : optional_slot;
   if (slot_number(flags) > dynamic_slot) // a null pointer, in unreachable code
      return {harmless_memory(t, true), b.getInt64(0)};
   const bool inline_data = flags & inline_data_slot;

   // Descriptors do not change during a dispatch. A descriptor with a constant index that must
   // exist is read once, in the prologue.
   std::optional<llvm::IRBuilder<>::InsertPointGuard> guard;
   const bool once = known_descriptor && (inline_data || !(flags & optional_slot));
   if (once) {
      const std::pair<uint32_t, uint32_t> key(flags, known_descriptor->getZExtValue());
      if (auto found = t.buffers.find(key); found != t.buffers.end())
         return {found->second.first, found->second.second};
      guard.emplace(b);
      t.begin_prologue_code();
   }
   Value *set_index = b.CreateAnd(slot, b.getInt32(slot_number(~0u)));
   Value *set_address =
      b.CreateInBoundsGEP(b.getPtrTy(), t.dispatch_state, b.CreateZExt(set_index, b.getInt64Ty()));
   static_assert(offsetof(DispatchState, sets) == 0);
   Value *set = load_invariant(t, b.getPtrTy(), set_address, 0);
   Value *place = b.CreateInBoundsGEP(b.getInt8Ty(), set, b.CreateZExt(descriptor, b.getInt64Ty()));
   // Offsets have 32 bits, so nothing exceeds this bound.
   constexpr uint64_t unbounded = uint64_t(1) << 33;
   const uint32_t bytes = inline_bytes(flags);
   Region region{place, b.getInt64(bytes == unbounded_inline_bytes ? unbounded : bytes)};
   if (!inline_data)
      region = {load_invariant(t, b.getPtrTy(), place, offsetof(BufferDescriptor, address)),
                load_invariant(t, b.getInt64Ty(), place, offsetof(BufferDescriptor, size))};
   if (once)
      t.buffers[{flags, known_descriptor->getZExtValue()}] = {region.base, region.size};
   return region;
}

Region region_of(Translator &t, const Access &access)
{
   llvm::IRBuilder<> &b = t.b;
   switch (access.space) {
   case Space::buffer:
      return buffer_region(t, t.first_active(*access.index, 0), t.first_active(*access.index, 1));
   case Space::shared:
   case Space::push_constant: {
      Value *&base = access.space == Space::shared ? t.shared_memory : t.push_constants;
      if (!base) {
         llvm::IRBuilder<>::InsertPointGuard guard(b);
         t.begin_prologue_code();
         base = access.space == Space::shared
                   ? load_invariant(t, b.getPtrTy(), t.workgroup_state,
                                    offsetof(WorkgroupState, shared))
                   : load_invariant(t, b.getPtrTy(), t.dispatch_state,
                                    offsetof(DispatchState, push_constants));
      }
      return {base, access.space == Space::shared ? b.getInt64(t.info.shared_bytes) : nullptr};
   }
   case Space::constant: {
      if (!t.constant_data) {
         auto *bytes = llvm::ConstantDataArray::getString(
            t.context,
            llvm::StringRef(static_cast<const char *>(t.shader->constant_data),
                            t.shader->constant_data_size),
            false);
         t.constant_data =
            new llvm::GlobalVariable(*t.module, bytes->getType(), true,
                                     llvm::GlobalValue::InternalLinkage, bytes, "constants");
      }
      return {t.constant_data, b.getInt64(t.shader->constant_data_size)};
   }
   case Space::scratch:
      return {t.scratch, nullptr};
   case Space::global:
      break;
   }
   return {nullptr, nullptr};
}

Value *offset_value(Translator &t, const Access &access)
{
   Value *offset = t.value(*access.offset);
   if (access.constant_offset)
      offset =
         t.b.CreateAdd(offset, llvm::ConstantInt::get(offset->getType(), access.constant_offset));
   return offset;
}

Value *in_bounds(Translator &t, const Region &region, Value *offset, uint64_t bytes)
{
   if (!region.size)
      return nullptr;
   // Signed, because a small buffer's limit is negative; sizes and offsets stay far below 2^63.
   Value *limit = t.b.CreateSub(region.size, t.b.getInt64(bytes));
   return t.b.CreateICmpSLE(t.b.CreateZExt(offset, t.b.getInt64Ty()), limit);
}

void BranchCondition::require(Value *condition)
{
   if (condition)
      hold = hold ? t.b.CreateAnd(hold, condition) : condition;
}

void BranchCondition::require_at_most(Value *number, uint64_t mask, uint64_t most)
{
   Value *bits = t.b.CreateZExt(t.b.CreateAnd(number, mask), t.b.getInt64Ty());
   if (most)
      require_not_negative(t.b.CreateNSWSub(t.b.getInt64(most), bits));
   else
      wrong_bits = wrong_bits ? t.b.CreateOr(bits, wrong_bits) : bits;
}

void BranchCondition::require_not_negative(Value *left)
{
   excess = excess ? t.b.CreateOr(excess, left) : left;
}

void BranchCondition::require_in_bounds(const Region &region, Value *offset, uint64_t bytes)
{
   if (!region.size)
      return;
   // Signed, as in in_bounds().
   Value *limit = t.b.CreateSub(region.size, t.b.getInt64(bytes));
   require_not_negative(t.b.CreateNSWSub(limit, t.b.CreateZExt(offset, t.b.getInt64Ty())));
}

Value *BranchCondition::all() const
{
   BranchCondition result(t);
   result.require(hold);
   if (wrong_bits)
      result.require(t.b.CreateIsNull(wrong_bits));
   if (excess)
      result.require(t.b.CreateICmpSGE(excess, t.b.getInt64(0)));
   return result.hold;
}

OffsetLimit offset_limit(Translator &t, const Region &region, uint64_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   Value *last = b.CreateSub(region.size, b.getInt64(bytes));
   last = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, last, b.getInt64(UINT32_MAX));
   return {b.CreateICmpUGE(region.size, b.getInt64(bytes)), b.CreateTrunc(last, b.getInt32Ty())};
}

Value *lanes_in_bounds(Translator &t, const Region &region, Value *offsets, uint64_t bytes)
{
   if (!region.size)
      return nullptr;
   const OffsetLimit limit = offset_limit(t, region, bytes);
   return t.b.CreateAnd(t.b.CreateICmpULE(offsets, t.splat(limit.last)), t.splat(limit.any_fits));
}

Value *pointer_to(Translator &t, const Region &region, Value *offset)
{
   llvm::IRBuilder<> &b = t.b;
   if (!region.base) {
      llvm::Type *type = offset->getType()->getWithNewType(b.getPtrTy());
      return b.CreateIntToPtr(offset, type);
   }
   offset = b.CreateZExt(offset, offset->getType()->getWithNewType(b.getInt64Ty()));
   return b.CreateGEP(b.getInt8Ty(), region.base, offset);
}

Value *scratch_pointer(Translator &t, const nir_src &offset, int64_t beyond, uint32_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   assert(bytes <= t.shader->scratch_size);
   const uint32_t last = t.shader->scratch_size - bytes;
   const auto behind = [&](Value *pointer, Value *place) {
      return b.CreateGEP(b.getInt8Ty(), pointer, place);
   };
   nir_scalar place = nir_get_scalar(offset.ssa, 0);
   const auto largest = int64_t(t.facts->patterns.ranges().of(place).high);
   if (!t.is_uniform(offset) || beyond < 0 || largest + beyond > last) {
      Value *from = b.CreateAdd(t.first_active(offset), b.getInt32(uint32_t(beyond)));
      from = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, from, b.getInt32(last));
      from = b.CreateMul(from, b.getInt32(t.W), "", /*HasNUW=*/true);
      return behind(t.scratch, b.CreateZExt(from, b.getInt64Ty()));
   }
   // Moves constants to the instructions' displacements, so that offsets which differ in a constant
   // share one value. Looks only at values of this block. An earlier block may have been emitted
   // twice (guard_plan.h): its other values do not exist behind it.
   const nir_block *block = nir_src_parent_instr(&offset)->block;
   while (nir_scalar_is_alu(place) && nir_scalar_alu_op(place) == nir_op_iadd) {
      const nir_scalar x = nir_scalar_chase_alu_src(place, 0),
                       y = nir_scalar_chase_alu_src(place, 1);
      const nir_scalar rest = nir_scalar_is_const(x) ? y : x;
      if ((!nir_scalar_is_const(x) && !nir_scalar_is_const(y)) ||
          rest.def->parent_instr->block != block)
         break;
      beyond += int64_t(nir_scalar_as_uint(nir_scalar_is_const(x) ? x : y));
      place = rest;
   }
   Value *from = b.CreateZExt(t.value(*place.def, place.comp), b.getInt64Ty());
   return behind(behind(t.scratch, b.CreateMul(from, b.getInt64(t.W), "", true, true)),
                 b.getInt64(uint64_t(beyond) * t.W));
}

Value *harmless_memory(Translator &t, bool store)
{
   auto *type = llvm::ArrayType::get(t.b.getInt8Ty(), 128);
   Value *&memory = store ? t.sink : t.zeros;
   if (!memory && store) {
      llvm::AllocaInst *sink = t.variable(type, "sink");
      sink->setAlignment(llvm::Align(64)); // atomic operations of every size need alignment
      memory = sink;
   }
   if (!memory)
      memory = new llvm::GlobalVariable(*t.module, type, true, llvm::GlobalValue::InternalLinkage,
                                        llvm::ConstantAggregateZero::get(type), "zeros");
   return memory;
}

} // namespace weft::cpu
