// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// For modules with random changes, the compiler returns a valid module, or an error with a
/// message. Accepted modules run.

#include "backend/spirv/compiler.h"
#include "backend/spirv/words/spirv_text.h"
#include "tests/nir_passes/mutants.h"
#include "tools/runner/runner.h"

#include "compiler/spirv/spirv.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

constexpr unsigned mutants = 600, executed_mutants = 24;

TEST(MutatedModules, AreCompiledOrRefused)
{
   for (const test::Source &original : test::mutation_originals()) {
      const spirv::Driver driver = spirv::full_driver();
      const auto module = spirv::compile(original.shader_source(),
                                         {driver, 16, spirv::supported_operations(driver, 16)});
      ASSERT_TRUE(module) << module.error().message;
   }
   const unsigned accepted =
      test::for_each_mutant(mutants, [](const ShaderSource &source, unsigned mutant) {
         spirv::Driver driver = spirv::full_driver();
         driver.subgroup_arithmetic_with_matrices = mutant % 2;
         driver.robust_buffer_access_2 = mutant % 16 < 8;
         const auto operations = spirv::supported_operations(driver, 16);
         const auto flexible = flexible_operations(operations, 64);
         const auto native = mutant % 4 < 2 ? operations : std::vector<MatrixOperation>();
         const auto module =
            spirv::compile(source, {driver, 16, operations, flexible, native, mutant % 8 < 4, {}});
         if (!module) {
            EXPECT_FALSE(module.error().message.empty()) << "mutant " << mutant;
            return false;
         }
         const Result<bool> valid = spirv::validate(module->words);
         EXPECT_TRUE(valid) << "mutant " << mutant << ": " << valid.error().message;
         return true;
      });
   EXPECT_GT(accepted, mutants / 30);
}

/// Compiled and run in a process of its own, by both direct paths and by both through SPIR-V.
class Execution {
public:
   explicit Execution(const ShaderSource &source)
   {
      int ends[2];
      if (pipe(ends) != 0)
         return;
      fflush(stdout);
      const pid_t child = fork();
      if (child == 0) {
         close(ends[0]);
         run(source, ends[1]);
         _exit(0);
      }
      close(ends[1]);
      char byte;
      while (read(ends[0], &byte, 1) == 1)
         progress += byte;
      close(ends[0]);
      waitpid(child, &status, 0);
   }

   bool ended() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
   /// The signal that ended the compiler: no module may do that.
   bool died_compiling() const { return !ended() && progress.ends_with('c'); }
   bool died_running() const { return !ended() && progress.ends_with('x'); }
   bool is_refused() const { return progress.ends_with('r'); }
   bool is_endless() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM; }
   /// Whether both direct paths ended.
   bool runs_directly() const { return std::ranges::count(progress, 'x') > 2; }
   /// Whether the two direct paths have the same result. The next functions compare paths through
   /// SPIR-V.
   bool direct_paths_agree() const { return mark(0) == '='; }
   bool registers_agree() const { return mark(1) == '='; }
   bool tiles_agree() const { return mark(2) == '='; }

   std::string progress; ///< c, x: before a path is compiled, run; =, !: like the first or not
   int status = -1;

private:
   /// The outcome of a comparison, by its number.
   char mark(unsigned wanted) const
   {
      for (const char byte : progress) {
         if ((byte == '=' || byte == '!') && wanted-- == 0)
            return byte;
      }
      return 0;
   }

   static void run(const ShaderSource &source, int out)
   {
      for (const int signal : {SIGPROF, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS})
         std::signal(signal, SIG_DFL);
      /* A busy machine may keep the compiler waiting. */
      const rlimit seconds = {60, RLIM_INFINITY};
      setrlimit(RLIMIT_CPU, &seconds);
      const auto tell = [&](char byte) { (void)!write(out, &byte, 1); };
      std::vector<std::vector<std::byte>> first;
      for (const bool through_spirv : {false, true}) {
         for (const auto matrices : {runner::Matrices::registers, runner::Matrices::tiles}) {
            runner::Path path;
            path.matrices = matrices;
            path.through_spirv = through_spirv;
            path.subgroup_size = 16;
            tell('c');
            const runner::BufferPlace places[] = {{0, 0}, {0, 1}, {0, 2}};
            const auto program = runner::compile(source, places, path);
            if (!program)
               return tell('r');
            tell('x');
            alarm(30);
            std::vector<std::vector<std::byte>> results = execute(**program);
            alarm(0);
            if (first.empty())
               first = std::move(results);
            else
               tell(results == first ? '=' : '!');
         }
      }
   }

   static std::vector<std::vector<std::byte>> execute(const cpu::Program &program)
   {
      /* Small whole numbers: halves in the first two, floats in the last. */
      std::vector<std::vector<std::byte>> buffers(3, std::vector<std::byte>(1 << 16));
      constexpr uint16_t halves[] = {0, 0x3c00, 0x4000, 0xbc00};
      std::mt19937 random(test::mutation_seed());
      for (size_t i = 0; i < buffers[0].size(); i += 2) {
         memcpy(&buffers[0][i], &halves[random() % 4], 2);
         memcpy(&buffers[1][i], &halves[random() % 4], 2);
      }
      for (size_t i = 0; i < buffers[2].size(); i += 4) {
         const float value = float(random() % 8);
         memcpy(&buffers[2][i], &value, sizeof(value));
      }
      std::vector<runner::BufferView> views;
      for (uint32_t i = 0; i < 3; ++i)
         views.push_back({{0, i}, buffers[i]});
      /* A stride with which no two tiles of the result lie over each other. */
      const uint32_t constants[8] = {512, 32};
      cpu::Executor executor(1);
      runner::execute(executor, program, views, {1, 1, 1}, std::as_bytes(std::span(constants)));
      return buffers;
   }
};

bool has_addresses(const ShaderSource &source)
{
   const uint32_t addresses[] = {SpvCapabilityPhysicalStorageBufferAddresses};
   return spirv::declares_any(source.spirv, addresses);
}

/// A mutant may run without end, go astray in its own private or shared memory, which is not
/// checked, or read unwritten memory. So a single result means little, but most results must agree.
/// Registers through SPIR-V hold the same as directly. Tiles hold the same as registers if there is
/// no rounding.
TEST(MutatedModules, RunWhereTheyAreAccepted)
{
   unsigned executed = 0, lost = 0, registers = 0, exact = 0, tiles = 0;
   test::for_each_mutant(mutants, [&](const ShaderSource &source, unsigned mutant) {
      if (executed >= executed_mutants || has_addresses(source))
         return false;
      const spirv::Driver driver = spirv::full_driver();
      if (!spirv::compile(source, {driver, 16, spirv::supported_operations(driver, 16)}))
         return false;
      const Execution e(source);
      EXPECT_FALSE(e.died_compiling()) << "mutant " << mutant << ", " << e.progress;
      if (e.is_refused() || e.is_endless() || !e.runs_directly())
         return true;
      ++executed;
      lost += e.died_running();
      registers += e.registers_agree();
      exact += e.direct_paths_agree();
      tiles += e.direct_paths_agree() && e.tiles_agree();
      return true;
   });
   printf("%u mutants executed, %u lost; registers of %u agree, tiles of %u of %u\n", executed,
          lost, registers, tiles, exact);
   EXPECT_GE(executed, executed_mutants / 2);
   EXPECT_LE(lost * 4, executed);
   EXPECT_GE(registers * 2, executed);
   EXPECT_GE(tiles * 2, exact);
}

} // namespace
} // namespace weft
