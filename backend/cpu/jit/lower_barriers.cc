// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/lower_barriers.h"

#include "backend/cpu/abi.h"
#include "backend/cpu/jit/jit.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::cpu {

namespace {

using llvm::Value;

/// Of frames and of all values but variables: that of a register.
constexpr llvm::Align register_alignment = llvm::Align::Constant<64>();

struct Barrier {
   llvm::CallInst *call;      ///< null once it is replaced
   llvm::BasicBlock *ended;   ///< the block that ends at the barrier
   llvm::BasicBlock *resumed; ///< the block behind it, which has no other predecessor
};

/// A value that lives across barriers.
struct LiveValue {
   llvm::Instruction *value;
   std::vector<size_t> barriers; ///< their numbers
   bool stored_at_barriers;      ///< not at its definition
   uint64_t offset;              ///< in the frame
};

class BarrierLowering {
public:
   BarrierLowering(llvm::Function &kernel, const HostTarget &target)
       : kernel(&kernel), target(target), layout(kernel.getParent()->getDataLayout()),
         b(kernel.getContext())
   {
   }

   void run(llvm::Function &barrier);

private:
   void split_blocks(llvm::Function &barrier);
   void find_live_values();
   llvm::SmallPtrSet<llvm::BasicBlock *, 32> blocks_entered_alive(llvm::Instruction &) const;
   uint64_t reserve(llvm::Type *, llvm::Align);
   void call_barriers();
   void change_signature();
   void add_dispatch();
   void end_steps();
   void carry(const LiveValue &);
   void add_frame_symbol();
   llvm::Type *stored_type(llvm::Type *) const;
   Value *slot(uint64_t offset);
   llvm::Align slot_alignment(llvm::Type *) const;
   void store(const LiveValue &, Value *);
   Value *load(const LiveValue &);

   llvm::Function *kernel;
   const HostTarget &target;
   const llvm::DataLayout &layout;
   llvm::IRBuilder<> b;
   std::vector<Barrier> barriers;
   std::vector<LiveValue> live;
   std::vector<std::pair<llvm::AllocaInst *, uint64_t>> variables; ///< with offsets
   uint64_t frame_bytes = 0;
   llvm::Align frame_alignment = register_alignment;
};

void BarrierLowering::run(llvm::Function &barrier)
{
   split_blocks(barrier);
   find_live_values();
   if (frame_bytes > max_frame_bytes || frame_alignment.value() > max_frame_alignment) {
      call_barriers();
      return;
   }
   change_signature();
   add_dispatch();
   end_steps();
   for (const LiveValue &value : live)
      carry(value);
   add_frame_symbol();
}

void BarrierLowering::split_blocks(llvm::Function &barrier)
{
   for (llvm::User *user : barrier.users())
      barriers.push_back({llvm::cast<llvm::CallInst>(user), nullptr, nullptr});
   for (Barrier &at : barriers)
      at.resumed = at.call->getParent()->splitBasicBlock(at.call->getNextNode(), "resumed");
   for (Barrier &at : barriers)
      at.ended = at.call->getParent();
}

void BarrierLowering::find_live_values()
{
   const llvm::DominatorTree tree(*kernel);
   const llvm::LoopInfo loops(tree);
   llvm::SmallPtrSet<const llvm::Loop *, 8> with_barriers;
   for (const Barrier &at : barriers) {
      for (const llvm::Loop *loop = loops.getLoopFor(at.resumed); loop;
           loop = loop->getParentLoop())
         with_barriers.insert(loop);
   }
   for (llvm::BasicBlock &block : *kernel) {
      const llvm::Loop *loop = loops.getLoopFor(&block);
      for (llvm::Instruction &value : block) {
         if (auto *variable = llvm::dyn_cast<llvm::AllocaInst>(&value)) {
            variables.emplace_back(variable,
                                   reserve(variable->getAllocatedType(), variable->getAlign()));
            continue;
         }
         if (!value.isUsedOutsideOfBlock(&block))
            continue;
         LiveValue found = {&value, {}, loop && !with_barriers.contains(loop), 0};
         const auto alive = blocks_entered_alive(value);
         for (size_t i = 0; i < barriers.size(); i++) {
            if (alive.contains(barriers[i].resumed))
               found.barriers.push_back(i);
         }
         if (found.barriers.empty())
            continue;
         llvm::Type *type = stored_type(value.getType());
         found.offset = reserve(type, slot_alignment(type));
         live.push_back(std::move(found));
      }
   }
}

/// The blocks at whose beginning the value lives.
llvm::SmallPtrSet<llvm::BasicBlock *, 32>
BarrierLowering::blocks_entered_alive(llvm::Instruction &value) const
{
   llvm::SmallPtrSet<llvm::BasicBlock *, 32> alive;
   llvm::SmallVector<llvm::BasicBlock *, 32> open;
   const auto add = [&](llvm::BasicBlock *block) {
      if (block != value.getParent() && alive.insert(block).second)
         open.push_back(block);
   };
   for (const llvm::Use &use : value.uses()) {
      auto *phi = llvm::dyn_cast<llvm::PHINode>(use.getUser());
      add(phi ? phi->getIncomingBlock(use)
              : llvm::cast<llvm::Instruction>(use.getUser())->getParent());
   }
   while (!open.empty()) {
      for (llvm::BasicBlock *before : llvm::predecessors(open.pop_back_val()))
         add(before);
   }
   return alive;
}

/// An offset in the frame.
uint64_t BarrierLowering::reserve(llvm::Type *type, llvm::Align alignment)
{
   frame_alignment = std::max(frame_alignment, alignment);
   const uint64_t offset = llvm::alignTo(frame_bytes, alignment);
   frame_bytes = offset + layout.getTypeAllocSize(type);
   return offset;
}

/// The barriers of fibers. A call of an unknown function orders memory accesses for LLVM.
void BarrierLowering::call_barriers()
{
   for (const Barrier &at : barriers) {
      b.SetInsertPoint(at.call);
      Value *state = at.call->getArgOperand(0);
      Value *address =
         b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), state, offsetof(WorkgroupState, barrier));
      llvm::CallInst *call =
         b.CreateCall(at.call->getFunctionType(), b.CreateLoad(b.getPtrTy(), address), {state});
      call->setDoesNotThrow();
      at.call->eraseFromParent();
   }
}

/// From Kernel to SteppedKernel.
void BarrierLowering::change_signature()
{
   llvm::SmallVector<llvm::Type *, 8> types(kernel->getFunctionType()->params());
   types.append({b.getPtrTy(), b.getInt32Ty()});
   auto *stepped = llvm::Function::Create(llvm::FunctionType::get(b.getInt32Ty(), types, false),
                                          kernel->getLinkage(), "", kernel->getParent());
   const llvm::AttributeList attributes = kernel->getAttributes();
   llvm::SmallVector<llvm::AttributeSet, 8> of_parameters;
   for (unsigned i = 0; i < kernel->arg_size(); i++)
      of_parameters.push_back(attributes.getParamAttrs(i));
   stepped->setAttributes(
      llvm::AttributeList::get(kernel->getContext(), attributes.getFnAttrs(), {}, of_parameters));
   stepped->addParamAttr(kernel->arg_size(), llvm::Attribute::NoAlias);
   stepped->splice(stepped->begin(), kernel);
   for (llvm::Argument &argument : kernel->args())
      argument.replaceAllUsesWith(stepped->getArg(argument.getArgNo()));
   stepped->takeName(kernel);
   kernel->eraseFromParent();
   kernel = stepped;
   for (llvm::BasicBlock &block : *kernel) {
      if (auto *end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
         b.SetInsertPoint(end);
         b.CreateRet(b.CreateZExt(end->getReturnValue(), b.getInt32Ty()));
         end->eraseFromParent();
      }
   }
}

/// The new entry: the addresses of variables, and the branch to the step.
void BarrierLowering::add_dispatch()
{
   llvm::BasicBlock *start = &kernel->getEntryBlock();
   b.SetInsertPoint(llvm::BasicBlock::Create(kernel->getContext(), "dispatch", kernel, start));
   for (auto [variable, offset] : variables) {
      variable->replaceAllUsesWith(slot(offset));
      variable->eraseFromParent();
   }
   llvm::SwitchInst *dispatch =
      b.CreateSwitch(kernel->getArg(kernel->arg_size() - 1), start, barriers.size());
   for (size_t i = 0; i < barriers.size(); i++)
      dispatch->addCase(b.getInt32(first_step + i), barriers[i].resumed);
}

void BarrierLowering::end_steps()
{
   for (size_t i = 0; i < barriers.size(); i++) {
      Barrier &at = barriers[i];
      at.ended->getTerminator()->eraseFromParent();
      at.call->eraseFromParent();
      at.call = nullptr;
      llvm::ReturnInst::Create(kernel->getContext(), b.getInt32(first_step + i), at.ended);
   }
}

/// Stores a value and loads it after the barriers, and makes its uses use the last of both.
void BarrierLowering::carry(const LiveValue &live_value)
{
   llvm::Instruction *value = live_value.value;
   llvm::SmallVector<llvm::Use *, 16> uses;
   for (llvm::Use &use : value->uses()) {
      const auto *user = llvm::cast<llvm::Instruction>(use.getUser());
      if (user->getParent() != value->getParent() || llvm::isa<llvm::PHINode>(user))
         uses.push_back(&use);
   }
   llvm::SSAUpdater values;
   values.Initialize(value->getType(), value->getName());
   values.AddAvailableValue(value->getParent(), value);
   for (const size_t i : live_value.barriers) {
      llvm::BasicBlock *block = barriers[i].resumed;
      b.SetInsertPoint(block, block->begin());
      values.AddAvailableValue(block, load(live_value));
   }
   if (live_value.stored_at_barriers) {
      for (const size_t i : live_value.barriers) {
         b.SetInsertPoint(barriers[i].ended->getTerminator());
         store(live_value, values.GetValueAtEndOfBlock(barriers[i].ended));
      }
   } else {
      llvm::BasicBlock *block = value->getParent();
      b.SetInsertPoint(block, llvm::isa<llvm::PHINode>(value) ? block->getFirstInsertionPt()
                                                              : std::next(value->getIterator()));
      store(live_value, value);
   }
   // A definition and a load begin before all uses in their block.
   for (llvm::Use *use : uses) {
      auto *user = llvm::cast<llvm::Instruction>(use->getUser());
      auto *phi = llvm::dyn_cast<llvm::PHINode>(user);
      use->set(values.GetValueAtEndOfBlock(phi ? phi->getIncomingBlock(*use) : user->getParent()));
   }
}

/// LLVM stores vectors of bits compactly: one by one, if the CPU has no registers of masks.
llvm::Type *BarrierLowering::stored_type(llvm::Type *type) const
{
   const bool are_bits = type->isVectorTy() && type->getScalarType()->isIntegerTy(1);
   return are_bits && !target.masks_any_element ? type->getWithNewBitWidth(32) : type;
}

/// The address of an offset in the frame.
Value *BarrierLowering::slot(uint64_t offset)
{
   return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), kernel->getArg(kernel->arg_size() - 2),
                                       offset);
}

void BarrierLowering::store(const LiveValue &live_value, Value *value)
{
   llvm::Type *type = stored_type(value->getType());
   if (type != value->getType())
      value = b.CreateSExt(value, type);
   b.CreateAlignedStore(value, slot(live_value.offset), slot_alignment(type));
}

Value *BarrierLowering::load(const LiveValue &live_value)
{
   llvm::Type *type = live_value.value->getType(), *stored = stored_type(type);
   Value *value = b.CreateAlignedLoad(stored, slot(live_value.offset), slot_alignment(stored));
   return stored == type ? value : b.CreateIsNeg(value);
}

llvm::Align BarrierLowering::slot_alignment(llvm::Type *type) const
{
   return std::min(layout.getABITypeAlign(type), register_alignment);
}

void BarrierLowering::add_frame_symbol()
{
   const uint64_t bytes = llvm::alignTo(std::max<uint64_t>(frame_bytes, 1), frame_alignment);
   new llvm::GlobalVariable(*kernel->getParent(), b.getInt32Ty(), /*isConstant=*/true,
                            llvm::GlobalValue::ExternalLinkage, b.getInt32(bytes),
                            llvm::StringRef(frame_symbol));
}

} // namespace

void lower_barriers(llvm::Module &module, const HostTarget &target)
{
   llvm::Function *barrier = module.getFunction(llvm::StringRef(barrier_symbol));
   if (!barrier)
      return;
   if (!barrier->use_empty())
      BarrierLowering(*module.getFunction(llvm::StringRef(kernel_symbol)), target).run(*barrier);
   barrier->eraseFromParent();
}

} // namespace weft::cpu
