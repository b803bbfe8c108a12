// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/translator.h"

#include "backend/cpu/codegen/facts/control_flow.h"
#include "backend/cpu/codegen/facts/workgroups_per_kernel.h"
#include "backend/cpu/jit/jit.h"

#include <algorithm>

namespace weft::cpu {

using llvm::Value;

ProgramInfo program_info(nir_shader *shader, uint32_t W)
{
   const uint16_t *size = shader->info.workgroup_size;
   const uint32_t invocations = uint32_t(size[0]) * size[1] * size[2];
   ProgramInfo info = {};
   info.workgroup_size = {size[0], size[1], size[2]};
   info.subgroup_size = W;
   info.subgroups = (invocations + W - 1) / W;
   info.joined_workgroups = workgroups_per_kernel(shader);
   info.shared_bytes = shader->info.shared_size;
   info.private_bytes = shader->scratch_size * W;
   nir_foreach_block(block, nir_shader_get_entrypoint(shader)) {
      nir_foreach_instr(instr, block)
         info.uses_barrier |= is_control_barrier(instr) && info.subgroups > 1;
   }
   return info;
}

Result<Translation> nir_to_llvm(nir_shader *shader, const TranslateOptions &options,
                                llvm::LLVMContext &context)
{
   return Translator(shader, options, context).run();
}

Translator::Translator(nir_shader *shader, const TranslateOptions &options,
                       llvm::LLVMContext &context)
    : context(context), module(std::make_unique<llvm::Module>("weft", context)), b(context),
      shader(shader), options(options), W(options.subgroup_size),
      lane_values(b, options.subgroup_size)
{
   prepare_module(*module);
}

Result<Translation> Translator::run()
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_index_ssa_defs(impl);
   nir_metadata_require(impl, nir_metadata_block_index | nir_metadata_dominance);
   facts.emplace(shader, options);
   plans.emplace(shader, options, *facts);
   tables.emplace(shader, options.target, facts->patterns.ranges());
   Result<ProductPlan> planned = plan_products(shader, W);
   if (!planned)
      return planned.error();
   products = std::move(*planned);

   info = program_info(shader, W);
   begin_function();
   emit_control_flow(*this, impl);
   if (error)
      return std::move(*error);
   return Translation{std::move(module), info, leave != nullptr, accesses};
}

void Translator::begin_function()
{
   llvm::Type *pointer = b.getPtrTy();
   auto *type = llvm::FunctionType::get(b.getInt1Ty(), {pointer, pointer, b.getInt32Ty()}, false);
   function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                     llvm::StringRef(kernel_symbol), *module);
   function->addFnAttr(llvm::Attribute::NoUnwind);
   function->addRetAttr(llvm::Attribute::ZExt);
   dispatch_state = function->getArg(0);
   workgroup_state = function->getArg(1);
   subgroup_id = function->getArg(2);
   for (unsigned i = 0; i < 2; i++) {
      function->addParamAttr(i, llvm::Attribute::NoAlias);
      function->addParamAttr(i, llvm::Attribute::NoUndef);
   }

   entry = block("entry");
   b.SetInsertPoint(entry);
   if (shader->scratch_size) {
      auto *bytes = llvm::ArrayType::get(b.getInt8Ty(), uint64_t(shader->scratch_size) * W);
      auto *memory = b.CreateAlloca(bytes, nullptr, "scratch");
      memory->setAlignment(llvm::Align(64));
      scratch = memory;
   }
   const uint32_t invocations =
      info.workgroup_size[0] * info.workgroup_size[1] * info.workgroup_size[2];
   if (invocations % W != 0) {
      Value *remaining =
         b.CreateSub(b.getInt32(invocations), b.CreateMul(subgroup_id, b.getInt32(W)));
      mask = b.CreateICmpULT(lane_numbers(32), b.CreateVectorSplat(W, remaining), "mask");
   }
   llvm::BasicBlock *body = block("body");
   b.CreateBr(body);
   b.SetInsertPoint(body);
}

llvm::BasicBlock *Translator::leave_block()
{
   if (!leave) {
      leave = block("leave");
      llvm::IRBuilder<>(leave).CreateRet(b.getFalse());
   }
   return leave;
}

Value *Translator::assumed_value(const nir_def &def, unsigned component)
{
   if (!emission || !emission->guard_holds || is_uniform(def) || def.bit_size > 32)
      return nullptr;
   const nir_scalar scalar = {const_cast<nir_def *>(&def), component};
   const LaneOffsets &value = facts->offsets.offsets(scalar);
   if (value.from_first.empty() || value.assumed.bits < def.bit_size)
      return nullptr;
   for (const uint32_t number : value.assumptions) {
      const LaneAssumption &wanted = facts->offsets.assumption(number);
      const auto holds = [&](const LaneAssumption &a) {
         return a.def == wanted.def && a.component == wanted.component &&
                (a.mask & wanted.mask) == wanted.mask && a.most <= wanted.most;
      };
      if (std::ranges::none_of(emission->guard->assumptions, holds))
         return nullptr;
   }
   llvm::SmallVector<llvm::Constant *, 64> lanes;
   for (const int64_t n : value.from_first)
      lanes.push_back(llvm::ConstantInt::get(
         scalar_type(def), wrap(value.assumed.value + uint64_t(n), def.bit_size)));
   return llvm::ConstantVector::get(lanes);
}

void Translator::fail(const std::string &message)
{
   if (!error)
      error = Error{message};
}

llvm::Type *Translator::float_type(unsigned bits)
{
   return bits == 16 ? b.getHalfTy() : bits == 32 ? b.getFloatTy() : b.getDoubleTy();
}

Value *Translator::as_float(Value *v)
{
   llvm::Type *type = v->getType();
   if (type->isFPOrFPVectorTy())
      return v;
   llvm::Type *result = type->getWithNewType(float_type(type->getScalarSizeInBits()));
   if (auto *cast = llvm::dyn_cast<llvm::BitCastInst>(v); cast && cast->getSrcTy() == result)
      return cast->getOperand(0);
   return b.CreateBitCast(v, result);
}

Value *Translator::as_int(Value *v)
{
   llvm::Type *type = v->getType();
   if (!type->isFPOrFPVectorTy())
      return v;
   llvm::Type *result = type->getWithNewType(int_type(type->getScalarSizeInBits()));
   if (auto *cast = llvm::dyn_cast<llvm::BitCastInst>(v); cast && cast->getSrcTy() == result)
      return cast->getOperand(0);
   return b.CreateBitCast(v, result);
}

Value *Translator::lane_numbers(unsigned bits)
{
   llvm::SmallVector<llvm::Constant *, 64> numbers;
   for (unsigned l = 0; l < W; l++)
      numbers.push_back(b.getIntN(bits, l));
   return llvm::ConstantVector::get(numbers);
}

Value *Translator::value(const nir_def &def, unsigned component)
{
   auto found = values.find(&def);
   if (found == values.end() || component >= found->second.values.size() ||
       !found->second.values[component]) {
      // Happens only after an instruction without a translation.
      fail("use of an undefined value");
      llvm::Type *type = scalar_type(def);
      return llvm::Constant::getNullValue(is_uniform(def) ? type : vector_of(type));
   }
   return found->second.values[component];
}

Value *Translator::uniform(const nir_src &src, unsigned component)
{
   assert(is_uniform(src));
   return value(src, component);
}

Value *Translator::varying(const nir_src &src, unsigned component)
{
   Value *v = value(src, component);
   return is_uniform(src) ? splat(v) : v;
}

Value *Translator::first_active(const nir_src &src, unsigned component)
{
   Value *v = value(src, component);
   if (is_uniform(src))
      return v;
   return b.CreateExtractElement(v, mask ? first_active_lane() : b.getInt32(0));
}

void Translator::define(const nir_def &def, unsigned component, Value *v)
{
   v = as_int(v);
   if (!is_uniform(def) && !v->getType()->isVectorTy())
      v = splat(v);
   assert(v->getType() == (is_uniform(def) ? scalar_type(def) : vector_of(scalar_type(def))));
   Components &components = values[&def];
   components.values.resize(def.num_components);
   components.values[component] = v;
}

Value *Translator::bits_of(Value *lane_bools)
{
   return b.CreateBitCast(lane_bools, int_type(W));
}

Value *Translator::lanes_of(Value *bits)
{
   return b.CreateBitCast(bits, vector_of(b.getInt1Ty()));
}

Value *Translator::any(Value *lane_bools)
{
   return b.CreateICmpNE(bits_of(lane_bools), llvm::ConstantInt::get(int_type(W), 0));
}

Value *Translator::first_active_lane()
{
   if (!mask)
      return b.getInt32(0);
   Value *lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits_of(mask), b.getTrue());
   return b.CreateZExtOrTrunc(lane, b.getInt32Ty());
}

void Translator::for_each_lane(Value *lane_bools, const std::function<void(Value *lane)> &body)
{
   if (!lane_bools)
      return for_all_lanes(body);
   llvm::Type *type = int_type(W);
   llvm::AllocaInst *state = variable(type, "remaining");
   b.CreateStore(bits_of(lane_bools), state);
   llvm::BasicBlock *head = block("lanes"), *inside = block("lane"), *done = block("lanes.done");
   b.CreateBr(head);
   b.SetInsertPoint(head);
   Value *remaining = b.CreateLoad(type, state);
   b.CreateCondBr(b.CreateIsNull(remaining), done, inside);
   b.SetInsertPoint(inside);
   Value *lane = b.CreateZExtOrTrunc(
      b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, remaining, b.getTrue()), b.getInt32Ty());
   b.CreateStore(b.CreateAnd(remaining, b.CreateSub(remaining, llvm::ConstantInt::get(type, 1))),
                 state);
   body(lane);
   b.CreateBr(head);
   b.SetInsertPoint(done);
}

void Translator::for_all_lanes(const std::function<void(Value *lane)> &body)
{
   // Counting is faster than the search for the next active lane. With one lane per iteration, an
   // atomic addition to shared memory takes 0.7 ns on Zen 4 instead of 0.4.
   constexpr uint32_t lanes_per_iteration = 4;
   assert(W % lanes_per_iteration == 0);
   llvm::AllocaInst *state = variable(b.getInt32Ty(), "next");
   b.CreateStore(b.getInt32(0), state);
   llvm::BasicBlock *inside = block("lanes"), *done = block("lanes.done");
   b.CreateBr(inside);
   b.SetInsertPoint(inside);
   Value *first = b.CreateLoad(b.getInt32Ty(), state);
   for (uint32_t i = 0; i < lanes_per_iteration; i++)
      body(b.CreateNUWAdd(first, b.getInt32(i)));
   Value *next = b.CreateNUWAdd(first, b.getInt32(lanes_per_iteration));
   b.CreateStore(next, state);
   b.CreateCondBr(b.CreateICmpEQ(next, b.getInt32(W)), done, inside);
   b.SetInsertPoint(done);
}

llvm::AllocaInst *Translator::variable(llvm::Type *type, const char *name)
{
   llvm::IRBuilder<>::InsertPointGuard guard(b);
   llvm::BasicBlock &first = b.GetInsertBlock()->getParent()->getEntryBlock();
   b.SetInsertPoint(&first, first.begin());
   return b.CreateAlloca(type, nullptr, name);
}

llvm::AllocaInst *Translator::lane_memory(MemoryOfTypes &known, llvm::Type *vector)
{
   llvm::AllocaInst *&memory = known[vector];
   if (!memory)
      memory = variable(vector, "lanes");
   return memory;
}

llvm::CallInst *Translator::call(const char *symbol, llvm::Type *result,
                                 llvm::ArrayRef<Value *> arguments)
{
   llvm::SmallVector<llvm::Type *, 8> types;
   for (Value *argument : arguments)
      types.push_back(argument->getType());
   auto callee = module->getOrInsertFunction(symbol, llvm::FunctionType::get(result, types, false));
   llvm::CallInst *instruction = b.CreateCall(callee, arguments);
   instruction->setDoesNotThrow();
   return instruction;
}

void Translator::emit_instruction(nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
      emit_alu(*this, nir_instr_as_alu(instr));
      break;
   case nir_instr_type_load_const: {
      nir_load_const_instr *load = nir_instr_as_load_const(instr);
      for (unsigned c = 0; c < load->def.num_components; c++)
         define(load->def, c,
                b.getIntN(load->def.bit_size,
                          nir_const_value_as_uint(load->value[c], load->def.bit_size)));
      break;
   }
   case nir_instr_type_undef: {
      // Any value is allowed. Zero, unlike LLVM's undef, is the same at every use.
      nir_undef_instr *undef = nir_instr_as_undef(instr);
      for (unsigned c = 0; c < undef->def.num_components; c++)
         define(undef->def, c, b.getIntN(undef->def.bit_size, 0));
      break;
   }
   case nir_instr_type_intrinsic: {
      nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      if (!emit_system(*this, intrinsic) && !emit_memory(*this, intrinsic) &&
          !emit_subgroup(*this, intrinsic) && !emit_atomic(*this, intrinsic) &&
          !emit_texel(*this, intrinsic) && !emit_tile(*this, intrinsic))
         fail(std::string("the CPU back end does not support the NIR intrinsic ") +
              nir_intrinsic_infos[intrinsic->intrinsic].name);
      break;
   }
   default:
      fail("the CPU back end does not support this kind of NIR instruction");
   }
}

} // namespace weft::cpu
