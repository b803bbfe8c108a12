// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/compiler.h"

#include "backend/cpu/codegen/nir_to_llvm.h"
#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit/jit.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/large_stack.h"
#include "backend/cpu/options.h"
#include "backend/cpu/passes.h"
#include "backend/cpu/runtime/executor.h"

#include "nir_passes/shader_key.h"
#include "nir_passes/shader_text.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>

namespace weft::cpu {

namespace {

/// For matrices of workgroup scope, beside what a program may have.  The memory is ordinary memory:
/// as much as the largest of such matrices is likely to be.
constexpr uint32_t staging_bytes = 128 * 1024;

using Clock = std::chrono::steady_clock;
using Dump = std::function<void(const char *phase, const std::string &text)>;

double milliseconds_since(Clock::time_point start)
{
   return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// What the caller wants to see, and on stderr what WEFT_DEBUG names.
Dump with_debug_output(const Dump &callers)
{
   const Options &o = options();
   if (!o.has_debug("nir") && !o.has_debug("llvm") && !o.has_debug("asm"))
      return callers;
   return [&o, callers](const char *phase, const std::string &text) {
      if (callers)
         callers(phase, text);
      if (o.has_debug(phase))
         std::fprintf(stderr, "weft: %s\n%s\n", phase, text.c_str());
   };
}

/// Found out once for each level.
Result<const CpuFeatures *> features_for(std::optional<InstructionSet> wanted)
{
   static const CpuFeatures avx2 = detect_features(IsaLimit::avx2),
                            avx512 = detect_features(IsaLimit::avx512);
   if (!wanted)
      return &host_features();
   const CpuFeatures &found = *wanted == InstructionSet::avx512 ? avx512 : avx2;
   if (found.instruction_set < *wanted)
      return Error{std::string("this CPU has no ") +
                   (*wanted == InstructionSet::avx512 ? "AVX-512" : "AVX2")};
   return &found;
}

/// A shader half compiled: what comes after depends on it alone and fails only for want of memory or
/// through a fault of ours.
struct TranslatedShader {
   std::unique_ptr<llvm::LLVMContext> context;
   Translation translation;
   const CpuFeatures *cpu;
};

/// The first half of compile(): from SPIR-V to LLVM IR.
Result<TranslatedShader> translate(const ShaderSource &source,
                                   const CompileOptions &compile_options)
{
   const uint32_t W =
      compile_options.subgroup_size ? compile_options.subgroup_size : default_subgroup_size;
   if (W != 8 && W != 16 && W != 32 && W != 64)
      return Error{"the subgroup size " + std::to_string(W) + " is none of 8, 16, 32, 64"};
   const bool tiles = compile_options.native_tiles.value_or(!options().has_debug("registers"));
   const Result<const CpuFeatures *> features = features_for(compile_options.instruction_set);
   if (!features)
      return features.error();
   const CpuFeatures &cpu = **features;

   // SPIR-V to NIR, all of NIR's passes.
   const Dump dump = with_debug_output(compile_options.dump);
   Result<Shader> shader = lower_for_cpu(
      source, {.target = {.subgroup_size = W,
                          .form = tiles ? MatrixForm::private_tiles : MatrixForm::registers,
                          .native = matrix_operations(),
                          .robust_access = compile_options.robust_buffer_access,
                          .staging_bytes = staging_bytes,
                          .cuts_b = true},
               .matrices = compile_options.matrices.value_or(supported_matrices()),
               .bindings = compile_options.bindings,
               .observe = show_text(dump),
               .control = compile_options.control});
   if (!shader)
      return shader.error();
   if (dump)
      dump("nir", shader_text(shader->get()));

   // NIR to LLVM IR.
   auto context = std::make_unique<llvm::LLVMContext>();
   const TranslateOptions translate_options{W, cpu.vector_bits(), cpu.has_byte_dots(),
                                            compile_options.robust_buffer_access};
   const Clock::time_point start = Clock::now();
   Result<Translation> translation = nir_to_llvm(shader->get(), translate_options, *context);
   if (!translation)
      return translation.error();
   if (CompileStatistics *statistics = compile_options.statistics) {
      statistics->translation_ms = milliseconds_since(start);
      statistics->accesses = translation->accesses;
   }
   return TranslatedShader{std::move(context), std::move(*translation), &cpu};
}

/// The second half: LLVM's passes, machine code, a callable program.
Result<std::shared_ptr<const Program>> generate(TranslatedShader shader, const Dump &dump = {},
                                                CompileStatistics *statistics = nullptr)
{
   Result<std::vector<std::byte>> object =
      compile_object(*shader.translation.module, dump, *shader.cpu, statistics);
   if (!object)
      return object.error();
   const Clock::time_point start = Clock::now();
   auto program = link_program(shader.translation.info, std::move(*object), *shader.cpu);
   if (statistics)
      statistics->link_ms = milliseconds_since(start);
   return program;
}

/// compile(), of which the second half may not be over.  The cache gets the program; it may be null.
Result<ProgramFuture> start_compile(DiskCache *cache, const CacheKey &key,
                                    const ShaderSource &source, const CompileOptions &options)
{
   Result<TranslatedShader> shader = Error{};
   call_on_large_stack([&] { shader = translate(source, options); });
   if (!shader)
      return shader.error();
   const ProgramInfo info = shader->translation.info;
   using Task = std::packaged_task<Result<std::shared_ptr<const Program>>()>;
   const auto task = std::make_shared<Task>(
      [cache, key,
       shader = std::move(*shader)]() mutable -> Result<std::shared_ptr<const Program>> {
         try {
            auto program = generate(std::move(shader));
            if (cache && program)
               cache->write(key, (*program)->serialize());
            return program;
         } catch (const std::exception &e) {
            return Error{e.what()};
         }
      });
   ProgramFuture program = {info, task->get_future().share()};
   // At exit the threads are waited for before what was made before them is destroyed.
   static LargeStackThreads threads = [] {
      prepare_code_generation();
      return LargeStackThreads(default_threads());
   }();
   threads.start([task] { (*task)(); });
   return program;
}

} // namespace

const MatrixSupport &supported_matrices()
{
   static const MatrixSupport support = {
      matrix_operations(),
      with_workgroup_scope(flexible_operations(matrix_operations(), max_matrix_dimension))};
   return support;
}

std::string host_description()
{
   return describe(host_features());
}

Result<std::shared_ptr<const Program>> compile(const ShaderSource &source,
                                               const CompileOptions &compile_options)
{
   Result<std::shared_ptr<const Program>> program = std::shared_ptr<const Program>();
   call_on_large_stack([&] {
      Result<TranslatedShader> shader = translate(source, compile_options);
      program = shader ? generate(std::move(*shader), with_debug_output(compile_options.dump),
                                  compile_options.statistics)
                       : shader.error();
   });
   return program;
}

CacheKey cache_key(const ShaderSource &source, const CompileOptions &options)
{
   // All members by name: one more and this does not compile.
   [[maybe_unused]] const auto &[subgroup_size, bindings, robust_buffer_access, native_tiles,
                                 instruction_set, matrices, dump, control, statistics] = options;
   KeyBuilder key("program");
   key.add_bytes(cache_uuid());
   add_to_key(key, source);
   key.add(subgroup_size, bindings.size());
   for (const auto &[set, binding, slot, offset, stride, count, inline_data, variable_count] :
        bindings)
      key.add(set, binding, slot, offset, stride, count, inline_data, variable_count);
   key.add(robust_buffer_access, native_tiles.has_value(), native_tiles.value_or(false),
           instruction_set.has_value(), instruction_set.value_or(InstructionSet::none));
   key.add(matrices.has_value());
   if (matrices) {
      const auto &[operations, flexible] = *matrices;
      add_to_key(key, operations);
      add_to_key(key, flexible);
   }
   return key.finish();
}

ProgramFuture ready(std::shared_ptr<const Program> program)
{
   const ProgramInfo info = program->info();
   std::promise<Result<std::shared_ptr<const Program>>> promise;
   promise.set_value(std::move(program));
   return {info, promise.get_future().share()};
}

Result<std::optional<ProgramFuture>> compile_cached(DiskCache *cache, const ShaderSource &source,
                                                    const CompileOptions &compile_options,
                                                    bool may_compile)
{
   const Result<const CpuFeatures *> cpu = features_for(compile_options.instruction_set);
   const bool watched = with_debug_output(compile_options.dump) || compile_options.control ||
                        compile_options.statistics;
   if (!cpu || watched)
      cache = nullptr;
   const CacheKey key = cache ? cache_key(source, compile_options) : CacheKey();
   if (cache) {
      if (const std::optional<std::vector<std::byte>> bytes = cache->read(key)) {
         if (Result<std::shared_ptr<const Program>> program = deserialize(*bytes, **cpu))
            return std::optional(ready(std::move(*program)));
      }
   }
   if (!may_compile)
      return std::optional<ProgramFuture>();
   if (!watched) {
      Result<ProgramFuture> started = start_compile(cache, key, source, compile_options);
      if (!started)
         return started.error();
      return std::optional(std::move(*started));
   }
   Result<std::shared_ptr<const Program>> program = compile(source, compile_options);
   if (!program)
      return program.error();
   return std::optional(ready(std::move(*program)));
}

} // namespace weft::cpu
