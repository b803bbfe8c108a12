// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/host/instructions.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/TargetSelect.h>

namespace weft::cpu {

using llvm::Value;

namespace {

constexpr const char *preserves_registers = "no_caller_saved_registers";

unsigned lanes_of(Value *v)
{
   return llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
}

} // namespace

void initialize_llvm_target()
{
   LLVMInitializeX86TargetInfo();
   LLVMInitializeX86Target();
   LLVMInitializeX86TargetMC();
   LLVMInitializeX86AsmPrinter();
}

void set_target_attributes(llvm::Function &function, const HostTarget &target)
{
   const std::string bits = std::to_string(target.vector_bits);
   function.addFnAttr("prefer-vector-width", bits);
   function.addFnAttr("min-legal-vector-width", bits);
   // LLVM 19 would insert vzeroupper and clear the upper halves of registers that it has just
   // restored.
   if (function.hasFnAttribute(preserves_registers))
      function.addFnAttr("target-features", target.llvm_features + ",-vzeroupper");
}

void preserve_registers(llvm::Function &function)
{
   function.addFnAttr(preserves_registers);
}

void preserve_registers(llvm::CallBase &call)
{
   call.addFnAttr(llvm::Attribute::get(call.getContext(), preserves_registers));
}

Value *permute_register(llvm::IRBuilder<> &b, Value *v, Value *index)
{
   const llvm::Intrinsic::ID permute = lanes_of(v) == 16
                                          ? llvm::Intrinsic::x86_avx512_permvar_si_512
                                          : llvm::Intrinsic::x86_avx2_permd;
   return b.CreateIntrinsic(permute, {}, {v, index});
}

Value *permute_two_registers(llvm::IRBuilder<> &b, Value *first, Value *second, Value *index)
{
   return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {},
                            {first, index, second});
}

bool scales_by_powers(const HostTarget &target)
{
   return target.vector_bits == 512; // AVX-512 F, DQ and VL
}

Value *exp2_of_register(llvm::IRBuilder<> &b, Value *x)
{
   // The instructions round to the nearest integer, and raise no flag of inexact results.
   constexpr int to_nearest = 8, current_direction = 4;
   // 2^r - 1 for |r| <= 1/2, from r^6 down to r.
   constexpr float coefficients[] = {0x1.43e714p-13f, 0x1.5ec86p-10f, 0x1.3b2a74p-7f,
                                     0x1.c6afcep-5f,  0x1.ebfbep-3f,  0x1.62e43p-1f};
   const bool is_wide = lanes_of(x) == 16;
   llvm::Type *const type = x->getType();
   Value *const any = llvm::PoisonValue::get(type);
   Value *const all = is_wide ? b.getInt16(0xffff) : b.getInt8(0xff);
   llvm::SmallVector<Value *, 5> operands = {x, b.getInt32(to_nearest), any, all};
   if (is_wide)
      operands.push_back(b.getInt32(current_direction));
   // The distance from the integer: 0 for infinities.
   Value *const r = b.CreateIntrinsic(is_wide ? llvm::Intrinsic::x86_avx512_mask_reduce_ps_512
                                              : llvm::Intrinsic::x86_avx512_mask_reduce_ps_256,
                                      {}, operands);
   Value *const integer = b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
   Value *power = llvm::ConstantFP::get(type, coefficients[0]);
   for (const float next : llvm::ArrayRef(coefficients).drop_front())
      power = b.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                                {power, r, llvm::ConstantFP::get(type, next)});
   power =
      b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {power, r, llvm::ConstantFP::get(type, 1)});
   operands = {power, integer, any, all};
   if (is_wide)
      operands.push_back(b.getInt32(current_direction));
   return b.CreateIntrinsic(is_wide ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                    : llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
                            {}, operands);
}

Value *add_products_of_pairs(llvm::IRBuilder<> &b, Value *sum, Value *x, Value *y)
{
   const unsigned lanes = lanes_of(sum);
   const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                        : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                     : llvm::Intrinsic::x86_sse2_pmadd_wd;
   return b.CreateAdd(sum, b.CreateIntrinsic(multiply, {}, {x, y}));
}

Value *add_products_of_bytes(llvm::IRBuilder<> &b, Value *sum, Value *u, Value *s)
{
   const unsigned lanes = lanes_of(sum);
   const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                        : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                     : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
   return b.CreateIntrinsic(multiply, {}, {sum, u, s});
}

Value *products_of_small_bytes(llvm::IRBuilder<> &b, Value *u, Value *s)
{
   const unsigned lanes = lanes_of(u);
   const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddubs_w_512
                                        : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_ub_sw
                                                     : llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128;
   auto *bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 4 * lanes);
   return b.CreateIntrinsic(multiply, {}, {b.CreateBitCast(u, bytes), b.CreateBitCast(s, bytes)});
}

} // namespace weft::cpu
