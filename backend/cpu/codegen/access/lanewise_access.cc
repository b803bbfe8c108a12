// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Lanewise accesses (strided_access.h): by a function of the module, or by lane_memory.h.

#include "backend/cpu/codegen/access/rematerializer.h"
#include "backend/cpu/codegen/access/strided_access.h"
#include "backend/cpu/host/instructions.h"
#include "backend/cpu/runtime/lane_memory.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <bit>

namespace weft::cpu {

using llvm::Value;

void StridedAccess::call_lanewise(llvm::FunctionCallee function, const LanewiseAccess &access,
                                  llvm::ArrayRef<Value *> more)
{
   llvm::SmallVector<Value *, 6> arguments = {access.region.base, access.region.size, access.active,
                                              access.offsets, access.data};
   arguments.append(more.begin(), more.end());
   // The callee preserves all registers, so that a call that may never happen costs little code and
   // no spills.
   preserve_registers(*b.CreateCall(function, arguments));
}

void StridedAccess::call_runtime(bool stores, const LanewiseAccess &access)
{
   llvm::Type *pointer = b.getPtrTy(), *number = b.getInt64Ty();
   auto *type = llvm::FunctionType::get(
      b.getVoidTy(), {pointer, number, number, pointer, pointer, b.getInt32Ty()}, false);
   const LaneForm form = {uint8_t(components()), uint8_t(bytes()), uint8_t(is_address() ? 8 : 4)};
   call_lanewise(
      t.module->getOrInsertFunction(stores ? store_lanes_symbol : load_lanes_symbol, type), access,
      b.getInt32(form.packed()));
}

/// The module's function for accesses of this form without a pattern. It calls lane_memory.h if an
/// active lane is out of bounds.
llvm::Function *StridedAccess::lanewise_function(bool stores)
{
   const std::string name = llvm::formatv("{0}_lanes.{1}.{2}x{3}{4}", stores ? "store" : "load",
                                          offsets->getType()->getScalarSizeInBits(), components(),
                                          bytes(), plan.access.is_volatile ? ".volatile" : "");
   if (llvm::Function *found = t.module->getFunction(name))
      return found;
   // The function returns void: LLVM 19 assumes that RAX is preserved even if it holds the address
   // of a result.
   llvm::Type *pointer = b.getPtrTy(), *number = b.getInt64Ty();
   auto *function = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {pointer, number, number, pointer, pointer}, false),
      llvm::Function::InternalLinkage, name, *t.module);
   preserve_registers(*function);
   function->addFnAttr(llvm::Attribute::NoInline);

   llvm::IRBuilder<>::InsertPointGuard guard(b);
   b.SetInsertPoint(llvm::BasicBlock::Create(t.context, "", function));
   LanewiseAccess access = {{function->getArg(0), function->getArg(1)},
                            function->getArg(2),
                            function->getArg(3),
                            function->getArg(4)};
   Value *active = b.CreateTrunc(access.active, t.int_type(t.W));
   Value *all_offsets = b.CreateLoad(offsets->getType(), access.offsets);
   if (!is_address()) {
      Value *fits = lanes_in_bounds(t, access.region, all_offsets, element());
      auto *inside = llvm::BasicBlock::Create(t.context, "inside", function),
           *outside = llvm::BasicBlock::Create(t.context, "outside", function);
      Value *outlying = b.CreateAnd(active, t.bits_of(b.CreateNot(fits)));
      b.CreateCondBr(b.CreateIsNull(outlying), inside, outside);
      b.SetInsertPoint(outside);
      call_runtime(stores, access);
      b.CreateRetVoid();
      b.SetInsertPoint(inside);
   } else {
      access.region.base = nullptr;
   }
   if (!plan.access.is_volatile)
      access_rows(stores, access, active, all_offsets);
   if (stores)
      scatter(access);
   else
      gather(access, b.CreateSelect(t.lanes_of(active), all_offsets, harmless_offsets()));
   b.CreateRetVoid();
   return function;
}

/// Recomputes offsets that only this branch uses, so that the common branch does not compute them.
Value *StridedAccess::offsets_of_branch()
{
   return fixed() ? Rematerializer(b)(offsets) : offsets;
}

void StridedAccess::access_lanewise(bool stores, Value *data, bool is_rare)
{
   Value *all_offsets = offsets_of_branch(), *memory = t.lane_offsets(offsets->getType());
   b.CreateStore(all_offsets, memory);
   const LanewiseAccess access = {
      {region.base ? region.base : llvm::ConstantPointerNull::get(b.getPtrTy()),
       region.size ? region.size : b.getInt64(unlimited)},
      b.CreateZExt(t.bits_of(t.mask_or_ones()), b.getInt64Ty()),
      memory,
      data};
   if (is_rare)
      call_runtime(stores, access);
   else
      call_lanewise(lanewise_function(stores), access);
}

bool StridedAccess::may_access_at_once() const
{
   return plan.is_often_lanewise && t.options.target.fast_gathers_and_scatters &&
          !plan.access.is_volatile && (element() == 4 || element() == 8);
}

llvm::Type *StridedAccess::element_vector()
{
   return t.vector_of(t.int_type(element() * 8));
}

/// The addresses of all lanes' elements, as a vector of pointers. Instructions extend indices of 32
/// bits with their signs, so offsets count from the middle of the region's 4 GiB.
Value *StridedAccess::element_pointers(Value *all_offsets)
{
   if (is_address())
      return b.CreateIntToPtr(all_offsets, t.vector_of(b.getPtrTy()));
   constexpr uint64_t middle = uint64_t(1) << 31;
   Value *base = b.CreateGEP(b.getInt8Ty(), region.base, b.getInt64(middle));
   return b.CreateGEP(b.getInt8Ty(), base,
                      b.CreateXor(all_offsets, t.splat(b.getInt32(uint32_t(middle)))));
}

/// Loads by the CPU's gathers; inactive lanes get zeros. The elements of all active lanes must be
/// in bounds.
Value *StridedAccess::gather_at_once(Value *active, Value *all_offsets)
{
   llvm::Type *type = element_vector();
   Value *gathered = b.CreateMaskedGather(type, element_pointers(all_offsets), llvm::Align(1),
                                          active, llvm::Constant::getNullValue(type));
   return b.CreateBitCast(gathered, packed_type());
}

/// Stores by the CPU's scatters, under the same condition. If lanes share an address, the last
/// lane's element stays.
void StridedAccess::scatter_at_once(Value *all, Value *active, Value *all_offsets)
{
   b.CreateMaskedScatter(b.CreateBitCast(all, element_vector()), element_pointers(all_offsets),
                         llvm::Align(1), active);
}

/// Null, for addresses, or else i1: whether the elements of all active lanes are in bounds.
Value *StridedAccess::active_in_bounds(Value *active, Value *all_offsets)
{
   if (is_address())
      return nullptr;
   Value *fits = lanes_in_bounds(t, region, all_offsets, element());
   return b.CreateIsNull(t.bits_of(b.CreateAnd(active, b.CreateNot(fits))));
}

Value *StridedAccess::load_lanewise()
{
   const auto by_function = [&](bool is_rare) -> Value * {
      Value *data = t.lane_data(packed_type());
      access_lanewise(false, data, is_rare);
      return b.CreateLoad(packed_type(), data);
   };
   if (!may_access_at_once())
      return by_function(!plan.is_often_lanewise);
   Value *all_offsets = offsets_of_branch(), *active = t.mask_or_ones();
   const Values loaded = choose(
      t, active_in_bounds(active, all_offsets),
      [&] { return Values{gather_at_once(active, all_offsets)}; },
      [&] { return Values{by_function(true)}; });
   return loaded[0];
}

void StridedAccess::store_lanewise(Value *all)
{
   const auto by_function = [&](bool is_rare) {
      Value *data = t.lane_data(packed_type());
      b.CreateStore(all, data);
      access_lanewise(true, data, is_rare);
      return Values{};
   };
   if (!may_access_at_once()) {
      by_function(!plan.is_often_lanewise);
      return;
   }
   Value *all_offsets = offsets_of_branch(), *active = t.mask_or_ones();
   choose(
      t, active_in_bounds(active, all_offsets),
      [&] {
         scatter_at_once(all, active, all_offsets);
         return Values{};
      },
      [&] { return by_function(true); });
}

/// Offsets for inactive lanes: the region's first bytes. They are readable if the element of any
/// active lane is readable.
Value *StridedAccess::harmless_offsets()
{
   return is_address() ? t.splat(b.CreatePtrToInt(harmless_memory(t, false), b.getInt64Ty()))
                       : llvm::Constant::getNullValue(offsets->getType());
}

/// The address of a lane's element in memory, by the offset stored at `all_offsets`.
Value *StridedAccess::lane_pointer(const LanewiseAccess &access, Value *all_offsets, Value *lane)
{
   llvm::Type *type = offsets->getType()->getScalarType();
   return pointer_to(t, access.region, b.CreateLoad(type, b.CreateGEP(type, all_offsets, lane)));
}

/// Emits a loop over all lanes, `at_once` per iteration: code for each lane would take longer to
/// compile than most shaders.
template <typename Use>
void StridedAccess::for_each_group(unsigned at_once, Use use)
{
   llvm::BasicBlock *before = b.GetInsertBlock();
   llvm::Function *function = before->getParent();
   auto *loop = llvm::BasicBlock::Create(t.context, "lanes", function),
        *after = llvm::BasicBlock::Create(t.context, "after", function);
   b.CreateBr(loop);
   b.SetInsertPoint(loop);
   llvm::PHINode *first = b.CreatePHI(b.getInt64Ty(), 2);
   first->addIncoming(b.getInt64(0), before);
   use(first);
   Value *next = b.CreateNUWAdd(first, b.getInt64(at_once));
   first->addIncoming(next, loop);
   b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(t.W)), loop, after);
   b.SetInsertPoint(after);
}

/// The address of a lane's element in access.data.
Value *StridedAccess::lane_element(const LanewiseAccess &access, Value *lane)
{
   return b.CreateGEP(b.getInt8Ty(), access.data, b.CreateNUWMul(lane, b.getInt64(element())));
}

/// Inactive lanes load an arbitrary value. The elements of a few lanes are stored as one vector, if
/// their size is a power of two. The caller loads vectors, and such a load waits until smaller
/// stores have left the store buffer.
void StridedAccess::gather(const LanewiseAccess &access, Value *safe_offsets)
{
   constexpr unsigned register_bytes = 64;
   const unsigned at_once =
      std::has_single_bit(element()) ? std::clamp(register_bytes / element(), 1u, t.W) : 1;
   llvm::Type *type = b.getIntNTy(element() * 8);
   Value *safe = t.variable(offsets->getType());
   b.CreateStore(safe_offsets, safe);
   for_each_group(at_once, [&](Value *first) {
      Value *loaded = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, at_once));
      for (unsigned i = 0; i < at_once; i++) {
         Value *lane = b.CreateNUWAdd(first, b.getInt64(i));
         // load() would mark this invariant, but the function also serves loads that are not.
         Value *own = b.CreateAlignedLoad(type, lane_pointer(access, safe, lane), llvm::Align(1),
                                          plan.access.is_volatile);
         loaded = b.CreateInsertElement(loaded, own, uint64_t(i));
      }
      b.CreateAlignedStore(loaded, lane_element(access, first), llvm::Align(1));
   });
}

/// Jumps from active lane to active lane by counting bits: a branch on each lane's bit would be
/// mispredicted.
void StridedAccess::scatter(const LanewiseAccess &access)
{
   llvm::BasicBlock *before = b.GetInsertBlock();
   llvm::Function *function = before->getParent();
   auto *loop = llvm::BasicBlock::Create(t.context, "active", function),
        *after = llvm::BasicBlock::Create(t.context, "after", function);
   b.CreateCondBr(b.CreateIsNull(access.active), after, loop);
   b.SetInsertPoint(loop);
   llvm::PHINode *active = b.CreatePHI(b.getInt64Ty(), 2);
   active->addIncoming(access.active, before);
   Value *lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, b.getTrue());
   store(b.CreateAlignedLoad(vector_type(components()), lane_element(access, lane), llvm::Align(1)),
         lane_pointer(access, access.offsets, lane));
   Value *rest = b.CreateAnd(active, b.CreateSub(active, b.getInt64(1)));
   active->addIncoming(rest, loop);
   b.CreateCondBr(b.CreateIsNull(rest), after, loop);
   b.SetInsertPoint(after);
}

/// Emits a branch for active lanes that touch one run of memory in each group of lanes, as is
/// common if addresses come from divisions by run-time values. The branch accesses the runs and
/// returns from the function.
void StridedAccess::access_rows(bool stores, const LanewiseAccess &access, Value *active,
                                Value *all_offsets)
{
   const AccessPlan rows_plan = plan_rows(plan_context(t), plan.access);
   StridedAccess rows = {t, rows_plan, access.region, nullptr};
   const bool masked = rows_plan.form == AccessForm::masked;

   rows.offsets = offsets_of_rows(access, rows_plan);
   Value *apart = t.bits_of(b.CreateICmpNE(all_offsets, rows.offsets));
   apart = masked ? b.CreateAnd(active, apart) : b.CreateOr(b.CreateNot(active), apart);

   llvm::Function *function = b.GetInsertBlock()->getParent();
   auto *together_block = llvm::BasicBlock::Create(t.context, "rows", function),
        *apart_block = llvm::BasicBlock::Create(t.context, "apart", function);
   b.CreateCondBr(b.CreateIsNull(apart), together_block, apart_block);
   b.SetInsertPoint(together_block);
   if (stores) {
      Value *all = b.CreateAlignedLoad(packed_type(), access.data, llvm::Align(1));
      masked ? rows.store_masked(all, t.lanes_of(active)) : rows.store_groups(all);
   } else {
      b.CreateAlignedStore(masked ? rows.load_masked(t.lanes_of(active)) : rows.load_groups(),
                           access.data, llvm::Align(1));
   }
   b.CreateRetVoid();
   b.SetInsertPoint(apart_block);
}

/// The offsets of rows from each group's first active lane on. A group without active lanes begins
/// anywhere.
Value *StridedAccess::offsets_of_rows(const LanewiseAccess &access, const AccessPlan &rows)
{
   llvm::Type *type = offsets->getType()->getScalarType();
   const unsigned group = rows.pattern().group;
   Value *begins = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, rows.groups()));
   for (unsigned g = 0; g < rows.groups(); g++) {
      Value *lanes = b.CreateOr(b.CreateLShr(access.active, b.getInt64(g * group)),
                                b.getInt64(uint64_t(1) << (group - 1)));
      Value *first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, b.getTrue());
      Value *offset = b.CreateLoad(
         type, b.CreateGEP(type, access.offsets, b.CreateNUWAdd(first, b.getInt64(g * group))));
      Value *distance = b.CreateTrunc(b.CreateNUWMul(first, b.getInt64(element())), type);
      begins = b.CreateInsertElement(begins, b.CreateSub(offset, distance), uint64_t(g));
   }
   llvm::SmallVector<int, 64> group_of_lane;
   llvm::SmallVector<llvm::Constant *, 64> steps;
   for (unsigned l = 0; l < t.W; l++) {
      group_of_lane.push_back(int(l / group));
      steps.push_back(llvm::ConstantInt::get(type, uint64_t(l % group) * element()));
   }
   return b.CreateAdd(b.CreateShuffleVector(begins, group_of_lane),
                      llvm::ConstantVector::get(steps));
}

} // namespace weft::cpu
