// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A library for LD_PRELOAD that gives a process AMX on any CPU with AVX-512: a handler of SIGILL
/// executes the instructions (tile_machine.h). Weft calls weft_grant_emulated_tiles() if the
/// process has it (cpu_features.cc), so AMX kernels need the CPU's own AMX or this library.
///
/// An instruction that the CPU would refuse ends the process with the reason. With
/// WEFT_TILE_COUNTS=FILE, the counts of executed instructions are appended to a file at the end of
/// the process ("-": printed).

#include "tests/x86/tile_machine.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::test {

namespace {

std::atomic<bool> granted;
TileCounts counts;
/// A handler must not allocate the memory of a thread's variables.
[[gnu::tls_model("initial-exec")]] thread_local TileMachine machine;

[[noreturn]] void die(const char *instruction, const char *reason)
{
   char text[200];
   const int length =
      std::snprintf(text, sizeof(text), "tile_emulator: %s: %s\n", instruction, reason);
   if (write(STDERR_FILENO, text, size_t(std::min(length, int(sizeof(text) - 1)))) < 0)
      _exit(1);
   std::abort();
}

GeneralRegisters registers_of(const ucontext_t &context)
{
   constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
   GeneralRegisters registers;
   for (int i = 0; i < 16; i++)
      registers.values[i] = uint64_t(context.uc_mcontext.gregs[order[i]]);
   registers.instruction_pointer = uint64_t(context.uc_mcontext.gregs[REG_RIP]);
   return registers;
}

/// Fibers have small stacks, so later signals of this thread get a stack of their own. The system
/// takes it from the context at the return.
void give_signal_stack(ucontext_t &context)
{
   constexpr size_t bytes = 64 << 10;
   if (!(context.uc_stack.ss_flags & SS_DISABLE))
      return;
   void *stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   if (stack == MAP_FAILED)
      die("LDTILECFG", "no memory for the stack of signals");
   context.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = bytes};
}

void on_illegal_instruction(int, siginfo_t *, void *given)
{
   auto &context = *static_cast<ucontext_t *>(given);
   const GeneralRegisters registers = registers_of(context);
   const auto operation =
      decode_tile_operation(reinterpret_cast<const uint8_t *>(registers.instruction_pointer));
   if (!operation) {
      // The instruction is executed again, and the signal ends the process.
      std::signal(SIGILL, SIG_DFL);
      return;
   }
   if (!granted)
      die(name(operation->instruction),
          "the process has not requested the permission to use tiles");
   if (operation->instruction == TileInstruction::configure)
      give_signal_stack(context);
   if (const char *reason = machine.execute(*operation, registers))
      die(name(operation->instruction), reason);
   counts.add(*operation, machine);
   context.uc_mcontext.gregs[REG_RIP] += operation->bytes;
}

[[gnu::constructor]] void install()
{
   struct sigaction action = {};
   action.sa_sigaction = on_illegal_instruction;
   action.sa_flags = SA_SIGINFO | SA_ONSTACK;
   sigaction(SIGILL, &action, nullptr);
}

/// A multiplication takes 16 cycles at any depth, a load half a cycle for each row.
[[gnu::destructor]] void report()
{
   const char *path = std::getenv("WEFT_TILE_COUNTS");
   if (!path || !granted)
      return;
   FILE *file = std::strcmp(path, "-") ? std::fopen(path, "a") : stdout;
   if (!file)
      return;
   uint64_t products = 0;
   for (size_t i = 0; i < size_t(TileInstruction::count); i++) {
      const uint64_t count = counts.instructions[i];
      if (count)
         std::fprintf(file, "%s %llu\n", name(TileInstruction(i)), (unsigned long long)(count));
      if (i >= size_t(TileInstruction::signed_signed))
         products += count;
   }
   std::fprintf(file, "cycles: products %llu, loads %llu\n", (unsigned long long)(16 * products),
                (unsigned long long)(counts.rows_loaded / 2));
   if (file != stdout)
      std::fclose(file);
}

} // namespace

} // namespace weft::test

/// In place of the system's permission to use tiles.
extern "C" [[gnu::visibility("default")]] bool weft_grant_emulated_tiles()
{
   weft::test::granted = true;
   return true;
}
