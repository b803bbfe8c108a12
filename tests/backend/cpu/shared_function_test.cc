// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/shared_function.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit/jit.h"

#include <gtest/gtest.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace weft::cpu {
namespace {

/// A kernel that adds numbers to the word at the first set: one by itself, one by a function.
std::string kernel_text(int own, int others)
{
   return R"(
      @numbers = internal constant [2 x i32] [i32 )" +
          std::to_string(others) + R"(, i32 0]
      define internal void @add_number(ptr %word) noinline {
         %old = load i32, ptr %word
         %more = load i32, ptr @numbers
         %new = add i32 %old, %more
         store i32 %new, ptr %word
         ret void
      }
      define zeroext i1 @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
         %set = load ptr, ptr %dispatch
         %old = load i32, ptr %set
         %new = add i32 %old, )" +
          std::to_string(own) + R"(
         store i32 %new, ptr %set
         call void @add_number(ptr %set)
         ret i1 true
      })";
}

/// Compiles a kernel and shares its functions.
struct Compilation {
   explicit Compilation(const std::string &text)
   {
      llvm::LLVMContext context;
      llvm::SMDiagnostic diagnostic;
      const std::unique_ptr<llvm::Module> module =
         llvm::parseAssemblyString(text, diagnostic, context);
      if (!module)
         ADD_FAILURE() << diagnostic.getMessage().str();
      prepare_module(*module);
      code.functions = share_functions(*module, host_features());
      Result<std::vector<std::byte>> object = compile_object(*module, {});
      if (!object)
         ADD_FAILURE() << object.error().message;
      code.object = std::move(*object);
   }
   Result<std::shared_ptr<const Program>> link() const { return link_program({}, code); }

   CompiledCode code;
};

uint32_t run(const Program &program)
{
   uint32_t word = 1000;
   DispatchState state = {};
   state.sets[0] = reinterpret_cast<uint8_t *>(&word);
   WorkgroupState group = {};
   EXPECT_TRUE(program.kernel()(&state, &group, 0));
   return word;
}

TEST(SharedFunction, EqualCodeIsCompiledOnce)
{
   const Compilation first(kernel_text(1, 20)), second(kernel_text(2, 20)),
      other(kernel_text(2, 30));
   ASSERT_EQ(first.code.functions.size(), 1u);
   ASSERT_EQ(second.code.functions.size(), 1u);
   ASSERT_EQ(other.code.functions.size(), 1u);
   EXPECT_EQ(first.code.functions, second.code.functions);
   EXPECT_NE(other.code.functions, second.code.functions);
   EXPECT_FALSE(first.code.functions.front()->has_begun());
   const auto programs = {first.link(), second.link(), other.link()};
   std::vector<uint32_t> words;
   for (const auto &program : programs) {
      ASSERT_TRUE(program) << program.error().message;
      words.push_back(run(**program));
   }
   EXPECT_EQ(words, (std::vector<uint32_t>{1021, 1022, 1032}));
   EXPECT_TRUE(first.code.functions.front()->has_begun());
}

/// Code for another CPU may have other instructions.
TEST(SharedFunction, CpusShareNothing)
{
   const CpuFeatures copy = host_features();
   llvm::LLVMContext context;
   llvm::SMDiagnostic diagnostic;
   std::set<std::shared_ptr<SharedFunction>> functions;
   for (const CpuFeatures *cpu : {&host_features(), &copy}) {
      const auto module = llvm::parseAssemblyString(kernel_text(1, 20), diagnostic, context);
      functions.insert(share_functions(*module, *cpu).front());
   }
   EXPECT_EQ(functions.size(), 2u);
}

TEST(SharedFunction, ManyThreadsCompileItOnce)
{
   const Compilation kernel(kernel_text(3, 40));
   std::vector<std::thread> threads;
   for (int i = 0; i < 8; i++) {
      threads.emplace_back([&] {
         const auto program = kernel.link();
         ASSERT_TRUE(program) << program.error().message;
         EXPECT_EQ(run(**program), 1043u);
      });
   }
   for (std::thread &thread : threads)
      thread.join();
}

TEST(SharedFunction, FilesContainIt)
{
   const Compilation kernel(kernel_text(4, 50));
   const auto program = kernel.link();
   ASSERT_TRUE(program) << program.error().message;
   const std::vector<std::byte> bytes = (*program)->serialize();
   const auto again = deserialize(bytes);
   ASSERT_TRUE(again) << again.error().message;
   EXPECT_EQ(run(**again), 1054u);
   EXPECT_EQ((*again)->serialize(), bytes);
   EXPECT_EQ((*again)->info().stack_bytes, (*program)->info().stack_bytes);

   // As in a process that has not compiled it.
   std::vector<std::byte> code = write_code(kernel.code);
   const std::string name = kernel.code.functions.front()->name();
   std::ranges::search(code, std::as_bytes(std::span(name))).back() ^= std::byte(1);
   const Result<CompiledCode> renamed = read_code(code, host_features());
   ASSERT_TRUE(renamed) << renamed.error().message;
   ASSERT_EQ(renamed->functions.size(), 1u);
   EXPECT_NE(renamed->functions, kernel.code.functions);
   EXPECT_EQ(renamed->functions.front()->compile(), "");
}

/// Readers of files may have small stacks.
TEST(SharedFunction, ReadersCompileNothing)
{
   const Compilation compiled(kernel_text(6, 70)), waiting(kernel_text(6, 80));
   ASSERT_TRUE(compiled.link());
   std::vector<std::byte> code = write_code(compiled.code);
   const std::string name = compiled.code.functions.front()->name();
   const auto place = std::ranges::search(code, std::as_bytes(std::span(name)));
   std::ranges::copy(std::as_bytes(std::span(waiting.code.functions.front()->name())),
                     place.begin());
   const Result<CompiledCode> read = read_code(code, host_features());
   ASSERT_TRUE(read) << read.error().message;
   EXPECT_EQ(read->functions.front()->compile(), "");
   EXPECT_FALSE(waiting.code.functions.front()->has_begun());
}

TEST(SharedFunction, RefusesDamagedCode)
{
   const Compilation kernel(kernel_text(5, 60));
   ASSERT_TRUE(kernel.link());
   const std::vector<std::byte> code = write_code(kernel.code);
   ASSERT_TRUE(read_code(code, host_features()));
   for (size_t length = 0; length < code.size(); length += length < 100 ? 1 : 97)
      EXPECT_FALSE(read_code(std::span(code).first(length), host_features())) << length;
   std::vector<std::byte> many = code;
   many[5] = std::byte(1); // of the number of functions
   EXPECT_FALSE(read_code(many, host_features()));
}

TEST(SharedFunction, ReportsErrors)
{
   const Compilation kernel(R"(
      declare void @system()
      define internal void @call_system() noinline {
         call void @system()
         ret void
      }
      define zeroext i1 @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
         call void @call_system()
         ret i1 true
      })");
   for (int i = 0; i < 2; i++) {
      const auto program = kernel.link();
      ASSERT_FALSE(program);
      EXPECT_NE(program.error().message.find("system"), std::string::npos);
   }
}

TEST(SharedFunction, FunctionsThatCallInternalOnesStay)
{
   const Compilation kernel(R"(
      define internal void @inner(ptr %word) noinline {
         store i32 7, ptr %word
         ret void
      }
      define internal void @outer(ptr %word) noinline {
         call void @inner(ptr %word)
         ret void
      }
      define zeroext i1 @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
         %set = load ptr, ptr %dispatch
         call void @outer(ptr %set)
         ret i1 true
      })");
   const auto program = kernel.link();
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_EQ(run(**program), 7u);
}

} // namespace
} // namespace weft::cpu
