// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Features by CPUID and XCR0.

#include "backend/cpu/cpu_features.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace weft::cpu {

namespace {

constexpr IsaLevel levels[] = {
   {InstructionSet::avx2, IsaLimit::avx2, "avx2", "AVX2"},
   {InstructionSet::avx512, IsaLimit::avx512, "avx512", "AVX-512"},
};

constexpr IsaWord words[] = {
   {"avx2", IsaLimit::avx2},       {"avx-vnni", IsaLimit::avx_vnni},
   {"avx512f", IsaLimit::avx512f}, {"avx512-vnni", IsaLimit::avx512_vnni},
   {"avx512", IsaLimit::avx512},   {"amx", IsaLimit::amx},
};

/// The first pass shortens constant vectors in memory; the loads then widen them on the shuffle
/// ports, which shaders keep busy. That costs 4 % of the time for a token of q4_K_M. The second
/// pass moves mask arithmetic out of general registers. It takes 2 % of the compile time and finds
/// no such arithmetic in Weft's code. The third pass moves instructions towards their users, behind
/// the branches of later accesses, so that more operands live at once. Without it, a token of q4_0
/// by products of bytes takes 0.86 of the time and convolutions of images 0.83 to 1.1. But a
/// convolution of bytes in buffers takes 1.3, and a token of q4_K_M by matrices 1.07.
constexpr std::string_view dropped_passes[] = {
   "X86 Fixup Vector Constants", "X86 Domain Reassignment Pass", "Machine code sinking"};

struct Leaf {
   uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// All zeros for a leaf that the CPU does not have.
Leaf cpuid(uint32_t leaf, uint32_t subleaf = 0)
{
   Leaf l;
   __get_cpuid_count(leaf, subleaf, &l.eax, &l.ebx, &l.ecx, &l.edx);
   return l;
}

bool has(uint32_t word, std::initializer_list<unsigned> bits)
{
   for (unsigned bit : bits) {
      if (!(word >> bit & 1))
         return false;
   }
   return true;
}

/// XCR0: the register state that the operating system saves (Intel SDM vol. 1, 13.3).
uint64_t saved_state()
{
   uint32_t low, high;
   __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
   return uint64_t(high) << 32 | low;
}

/// On Intel's CPUs VDPBF16PS takes as long as four FMAs of f32, for two products (Sapphire Rapids:
/// one in two cycles).
bool is_intel(const Leaf &vendor)
{
   return vendor.ebx == signature_INTEL_ebx && vendor.edx == signature_INTEL_edx &&
          vendor.ecx == signature_INTEL_ecx;
}

/// Linux gives a process the state of AMX's tiles, and signal frames with room for it, on request
/// (arch_prctl(2), Documentation/arch/x86/xstate.rst). It refuses if a thread's alternate signal
/// stack is too small.
bool may_use_tiles()
{
   static const bool granted = [] {
      constexpr int request_permission = 0x1023, tile_data = 18;
      return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
   }();
   return granted;
}

/// The same from the library of tests that executes AMX's instructions on CPUs without AMX, if it
/// is part of this process (tests/x86/tile_emulator.cc).
bool may_use_emulated_tiles()
{
   void *grant = dlsym(RTLD_DEFAULT, "weft_grant_emulated_tiles");
   return grant && reinterpret_cast<bool (*)()>(grant)();
}

std::string brand_string()
{
   if (cpuid(0x80000000).eax < 0x80000004)
      return "x86-64 CPU";
   char text[49] = {};
   for (uint32_t i = 0; i < 3; i++) {
      const Leaf l = cpuid(0x80000002 + i);
      std::memcpy(text + 16 * i, &l, 16);
   }
   std::string brand = text;
   while (!brand.empty() && brand.back() == ' ')
      brand.pop_back();
   brand.erase(0, brand.find_first_not_of(' '));
   return brand;
}

} // namespace

std::span<const IsaLevel> isa_levels()
{
   return levels;
}

std::span<const IsaWord> isa_words()
{
   return words;
}

CpuFeatures detect_features(IsaLimit at_most)
{
   CpuFeatures f;
   f.brand = brand_string();
   f.target.triple = "x86_64-unknown-linux-gnu";
   f.target.vector_bits = 256;
   f.target.dropped_passes = dropped_passes;

   const Leaf basic = cpuid(1), extended = cpuid(7), more = cpuid(7, 1), amd = cpuid(0x80000001);
   // SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C.
   if (at_most < IsaLimit::avx2 || !has(basic.ecx, {0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29}))
      return f;
   // BMI1, AVX2, BMI2; LZCNT.
   if (!has(extended.ebx, {3, 5, 8}) || !has(amd.ecx, {5}))
      return f;
   const uint64_t state = saved_state();
   if ((state & 0x6) != 0x6)
      return f;
   f.instruction_set = InstructionSet::avx2;
   f.target.llvm_cpu = "x86-64-v3";
   f.avx_vnni = at_most >= IsaLimit::avx_vnni && has(more.eax, {4});
   if (f.avx_vnni)
      f.target.llvm_features = "+avxvnni";
   f.target.byte_dots = f.avx_vnni;

   // F, DQ, CD, BW, VL; the system saves opmask and both halves of the wide registers.
   if (at_most < IsaLimit::avx512f || !has(extended.ebx, {16, 17, 28, 30, 31}) ||
       (state & 0xe6) != 0xe6)
      return f;
   f.instruction_set = InstructionSet::avx512;
   f.target.vector_bits = 512;
   f.target.shuffles_two_registers = true;
   f.target.masks_any_element = true;
   f.target.llvm_cpu = "x86-64-v4";
   f.target.llvm_features = "-prefer-256-bit";
   f.avx512_vnni = at_most >= IsaLimit::avx512_vnni && has(extended.ecx, {11});
   if (f.avx512_vnni)
      f.target.llvm_features += ",+avx512vnni";
   f.target.byte_dots = f.avx512_vnni; // AVX-VNNI has no 512-bit form
   if (has(extended.ecx, {1}))
      f.target.llvm_features += ",+avx512vbmi";
   f.target.half_arithmetic = has(extended.edx, {23});
   if (f.target.half_arithmetic)
      f.target.llvm_features += ",+avx512fp16";
   // Intel's CPUs with FP16: look-ups in a table of an image take 0.65 of the time, random stores
   // 0.75. AMD's gathers are no faster than loads. Older CPUs of Intel delay gathers, to hide data
   // from other processes ("Gather Data Sampling").
   f.target.fast_gathers_and_scatters = f.target.half_arithmetic && is_intel(cpuid(0));
   const bool bf16 = at_most >= IsaLimit::avx512 && has(more.eax, {5});
   if (bf16)
      f.target.llvm_features += ",+avx512bf16";
   f.avx512_bf16 = bf16 && !is_intel(cpuid(0));

   // BF16, TILE, INT8; the system saves tiles' shapes and data.
   if (at_most >= IsaLimit::amx) {
      const bool has_tiles =
         f.avx512_vnni && bf16 && has(extended.edx, {22, 24, 25}) && (state & 0x60000) == 0x60000;
      f.amx = has_tiles ? may_use_tiles() : may_use_emulated_tiles();
   }
   return f;
}

bool has_shadow_stack()
{
   // RDSSPQ does nothing if shadow stacks are off or the CPU lacks them.
   uint64_t top = 0;
   __asm__ volatile("rdsspq %0" : "+r"(top));
   return top != 0;
}

std::optional<std::string> missing_instructions(const CpuFeatures &cpu, bool shadow_stack)
{
   if (shadow_stack)
      return "this process has shadow stacks (CET), which Boost.Context's fibers do not switch";
   if (cpu.instruction_set == InstructionSet::none)
      return "this CPU lacks AVX2, FMA, F16C, BMI2 or LZCNT";
   return {};
}

std::string describe(const CpuFeatures &f)
{
   std::string text = f.brand + " (";
   switch (f.instruction_set) {
   case InstructionSet::none:
      text += "no AVX2";
      break;
   case InstructionSet::avx2:
      text += "AVX2";
      break;
   case InstructionSet::avx512:
      text += "AVX-512";
      break;
   }
   if (f.avx512_vnni || f.avx_vnni)
      text += ", VNNI";
   if (f.avx512_bf16)
      text += ", BF16";
   if (f.amx)
      text += ", AMX";
   return text + ")";
}

} // namespace weft::cpu
