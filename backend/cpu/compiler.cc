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

#include "nir_passes/shader_key.h"
#include "nir_passes/shader_text.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace weft::cpu {

namespace {

/// For matrices of workgroup scope, beside what a program may have.  The memory is ordinary memory:
/// as much as the largest of such matrices is likely to be.
constexpr uint32_t staging_bytes = 128 * 1024;

using Clock = std::chrono::steady_clock;
using Dump = std::function<void(const char *phase, const std::string &text)>;

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

/// compile(), on the stack of the calling thread.
Result<std::shared_ptr<const Program>> compile_here(const ShaderSource &source,
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
   llvm::LLVMContext context;
   const TranslateOptions translate{W, cpu.vector_bits(), cpu.has_byte_dots(),
                                    compile_options.robust_buffer_access};
   CompileStatistics *const statistics = compile_options.statistics;
   const Clock::time_point start = Clock::now();
   Result<Translation> translation = nir_to_llvm(shader->get(), translate, context);
   if (!translation)
      return translation.error();

   // LLVM's passes, machine code, a callable program.
   const Clock::time_point translated = Clock::now();
   Result<std::vector<std::byte>> object =
      compile_object(*translation->module, dump, cpu, statistics);
   if (!object)
      return object.error();
   const Clock::time_point compiled = Clock::now();
   auto program = link_program(translation->info, std::move(*object), cpu);
   if (statistics) {
      const auto ms = [](Clock::duration d) {
         return std::chrono::duration<double, std::milli>(d).count();
      };
      statistics->translation_ms = ms(translated - start);
      statistics->link_ms = ms(Clock::now() - compiled);
      statistics->accesses = translation->accesses;
   }
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
   call_on_large_stack([&] { program = compile_here(source, compile_options); });
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

Result<std::shared_ptr<const Program>> compile_cached(DiskCache *cache, const ShaderSource &source,
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
            return program;
      }
   }
   if (!may_compile)
      return std::shared_ptr<const Program>();
   Result<std::shared_ptr<const Program>> program = compile(source, compile_options);
   if (cache && program)
      cache->write(key, (*program)->serialize());
   return program;
}

} // namespace weft::cpu
