// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/compiler.h"

#include "backend/cpu/codegen/plans/access_plans.h"
#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit/jit.h"
#include "backend/cpu/jit/shared_function.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/lowered_shader.h"
#include "backend/cpu/options.h"
#include "backend/cpu/passes.h"
#include "backend/cpu/phase_log.h"
#include "backend/cpu/specialize/compile_queue.h"
#include "backend/cpu/specialize/join_workgroups.h"
#include "backend/cpu/specialize/specialize_branches.h"
#include "backend/cpu/subgroup_width.h"

#include "nir_passes/shader_key.h"
#include "nir_passes/shader_text.h"
#include "threads/until_unload.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace weft::cpu {

namespace {

/// Shared memory for matrices of workgroup scope, in addition to the shader's own: enough for the
/// largest matrices that programs are likely to have.
constexpr uint32_t staging_bytes = 128 * 1024;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start)
{
   return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<TranslatedShader> translate_nir(nir_shader *nir, const CpuFeatures &cpu,
                                       const TranslateOptions &options)
{
   auto context = std::make_unique<llvm::LLVMContext>();
   Result<Translation> translation = nir_to_llvm(nir, options, *context);
   if (!translation)
      return translation.error();
   return TranslatedShader{std::move(context), std::move(*translation), &cpu, nullptr};
}

} // namespace

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

Result<const CpuFeatures *> features_for(std::optional<InstructionSet> wanted)
{
   static const auto &of_levels = until_unload(new std::vector<CpuFeatures>([] {
      std::vector<CpuFeatures> all;
      for (const IsaLevel &level : isa_levels())
         all.push_back(detect_features(level.limit));
      return all;
   }()));
   if (!wanted)
      return &host_features();
   const auto level = std::ranges::find(isa_levels(), *wanted, &IsaLevel::instruction_set);
   const CpuFeatures &found = of_levels[level - isa_levels().begin()];
   if (found.instruction_set < *wanted)
      return Error{"this CPU has no " + std::string(level->name)};
   return &found;
}

namespace {

/// The parts of the passes that an application sees: none of an attempt.
struct Watch {
   Dump dump;
   PassControl *control = nullptr;

   explicit operator bool() const { return dump || control; }
};

Watch watch_of(const CompileOptions &options)
{
   return {with_debug_output(options.dump), options.control};
}

PassOptions pass_options(uint32_t W, const CompileOptions &compile_options, const Watch &watch)
{
   const bool tiles = compile_options.native_tiles.value_or(!options().has_debug("registers"));
   return {.target = {.subgroup_size = W,
                      .form = tiles ? MatrixForm::private_tiles : MatrixForm::registers,
                      .native = cpu_matrix_operations(),
                      .robust_access = compile_options.robust_buffer_access,
                      .staging_bytes = staging_bytes,
                      .cuts_b = true},
           .matrices = compile_options.matrices.value_or(supported_matrices()),
           .bindings = compile_options.bindings,
           .may_have_tiled_images = compile_options.may_have_tiled_images,
           .observe = show_text(watch.dump),
           .control = watch.control};
}

/// For subgroups of W invocations.
Result<ReadShader> read_for(uint32_t W, const CpuFeatures &cpu, const ShaderSource &source,
                            const CompileOptions &options, const Watch &watch)
{
   Result<Shader> nir = read_for_cpu(source, pass_options(W, options, watch));
   if (!nir)
      return nir.error();
   return ReadShader{std::move(*nir), &cpu, W, 0};
}

/// For the size that the shader was read for.
Result<LoweredShader> finish_size(ReadShader shader, const CompileOptions &options,
                                  const Watch &watch)
{
   const uint32_t W = shader.subgroup_size;
   Result<Shader> nir = finish_for_cpu(std::move(shader.nir), pass_options(W, options, watch));
   if (!nir)
      return nir.error();
   return LoweredShader{std::move(*nir), shader.cpu, W, options.robust_buffer_access};
}

} // namespace

Result<ReadShader> read(const ShaderSource &source, const CompileOptions &options)
{
   const uint32_t W = options.subgroup_size ? options.subgroup_size : default_subgroup_size;
   if (W != 8 && W != 16 && W != 32 && W != 64)
      return Error{"the subgroup size " + std::to_string(W) + " is not 8, 16, 32 or 64"};
   const Result<const CpuFeatures *> cpu = features_for(options.instruction_set);
   if (!cpu)
      return cpu.error();
   if (!options.may_widen_subgroups || !may_prefer_wide_subgroups(source, **cpu))
      return read_for(W, **cpu, source, options, watch_of(options));
   Result<ReadShader> wide = read_for(wide_subgroup_size, **cpu, source, options, {});
   if (wide)
      wide->other_size = W;
   return wide;
}

Result<LoweredShader> finish(ReadShader shader, const ShaderSource &source,
                             const CompileOptions &options)
{
   const Watch watch = watch_of(options);
   uint32_t W = shader.other_size;
   if (W == 0)
      return finish_size(std::move(shader), options, watch);
   const CpuFeatures &cpu = *shader.cpu;
   Result<LoweredShader> wide = finish_size(std::move(shader), options, {});
   if (!wide)
      return wide;
   if (prefers_wide_subgroups(*wide)) {
      if (!watch)
         return wide;
      W = wide_subgroup_size;
   }
   Result<ReadShader> again = read_for(W, cpu, source, options, watch);
   return again ? finish_size(std::move(*again), options, watch)
                : Result<LoweredShader>(again.error());
}

Result<LoweredShader> lower(const ShaderSource &source, const CompileOptions &options)
{
   Result<ReadShader> shader = read(source, options);
   return shader ? finish(std::move(*shader), source, options)
                 : Result<LoweredShader>(shader.error());
}

Result<TranslatedShader> translate(LoweredShader shader, const CompileOptions &options,
                                   const Specialization *wanted)
{
   const LoggedPhase phase("translate");
   const Dump dump = with_debug_output(options.dump);
   nir_shader *nir = shader.nir.get();
   PassRunner run(nir, show_text(dump), options.control);
   if (wanted)
      specialize_for_dispatch(
         run, wanted->conditions, wanted->decisions,
         max_joined_sums(shader.cpu->target.vector_bits, shader.subgroup_size));
   find_uniform_values(run, shader.subgroup_size);
   if (run.refused())
      return run.error();
   TranslateOptions translate_options{shader.subgroup_size, shader.cpu->target,
                                      shader.robust_buffer_access, /*guards_may_leave=*/true};
   if (dump) {
      dump("nir", shader_text(nir));
      dump("accesses", describe_plans(nir, translate_options));
   }

   const Clock::time_point start = Clock::now();
   Result<TranslatedShader> translated = translate_nir(nir, *shader.cpu, translate_options);
   if (!translated)
      return translated;
   const Translation &translation = translated->translation;
   if (CompileStatistics *statistics = options.statistics) {
      statistics->translation_ms = milliseconds_since(start);
      statistics->accesses = translation.accesses;
   }
   if (!translation.leaves)
      return translated;
   translated->kept = std::make_shared<const KeptShader>(
      KeptShader{translation.info, shader.cpu, shader.robust_buffer_access, {}, pack_nir(nir)});
   if (!translated->kept->nir.empty())
      return translated;
   translate_options.guards_may_leave = false; // no memory for the shader's bytes
   return translate_nir(nir, *shader.cpu, translate_options);
}

Result<TranslatedShader> translate_plain(const KeptShader &kept)
{
   const Shader shader = unpack_nir(kept);
   return translate_nir(shader.get(), *kept.cpu,
                        {kept.info.subgroup_size, kept.cpu->target, kept.robust_buffer_access});
}

ProgramResult generate(TranslatedShader shader, const CompileOptions &options,
                       const CachePlace &place)
{
   const Dump dump = with_debug_output(options.dump);
   llvm::Module &module = *shader.translation.module;
   CompiledCode code;
   // Dumps and statistics contain the functions.
   if (!dump && !options.statistics)
      code.functions = share_functions(module, *shader.cpu);
   for (const std::shared_ptr<SharedFunction> &function : code.functions) {
      if (!function->has_begun())
         start_meanwhile([function] { (void)function->compile(); });
   }
   Result<std::vector<std::byte>> object =
      compile_object(module, dump, *shader.cpu, options.statistics);
   if (!object)
      return object.error();
   const Clock::time_point start = Clock::now();
   const LoggedPhase phase("link");
   code.object = std::move(*object);
   auto program = link_program(shader.translation.info, std::move(code), *shader.cpu);
   if (options.statistics)
      options.statistics->link_ms = milliseconds_since(start);
   if (program && shader.kept)
      return with_plain_program(std::move(*program), std::move(shader.kept), place);
   return program;
}

Result<std::shared_ptr<const Program>>
compile(const ShaderSource &source, const CompileOptions &options, const DispatchFacts *facts)
{
   return on_large_stack([&]() -> Result<std::shared_ptr<const Program>> {
      Result<LoweredShader> lowered = lower(source, options);
      if (!lowered)
         return lowered.error();
      BranchConditions conditions;
      BranchDecisions decisions;
      const Specialization wanted = {conditions, decisions};
      if (facts) {
         constexpr uint32_t min_instructions = 1;
         const uint32_t W = lowered->subgroup_size;
         conditions = find_branch_conditions(lowered->nir.get(), W, min_instructions,
                                             max_joined_sums(lowered->cpu->target.vector_bits, W));
         decisions = decide_branches(conditions, *facts);
      }
      Result<TranslatedShader> translated =
         translate(std::move(*lowered), options, facts ? &wanted : nullptr);
      if (!translated)
         return translated.error();
      return generate(std::move(*translated), options);
   });
}

const MatrixSupport &supported_matrices()
{
   static const auto &support = until_unload(new MatrixSupport{
      cpu_matrix_operations(),
      with_workgroup_scope(flexible_operations(cpu_matrix_operations(), max_matrix_dimension))});
   return support;
}

std::optional<std::string> missing_instructions()
{
   return missing_instructions(host_features(), has_shadow_stack());
}

std::string host_description()
{
   return describe(host_features());
}

std::string host_name()
{
   return host_features().brand;
}

CacheKey cache_key(const ShaderSource &source, const CompileOptions &options)
{
   // All members by name: one more and this does not compile.
   [[maybe_unused]] const auto &[subgroup_size, may_widen_subgroups, bindings,
                                 may_have_tiled_images, robust_buffer_access, native_tiles,
                                 instruction_set, matrices, dump, control, statistics] = options;
   KeyBuilder key("program");
   key.add_bytes(cache_uuid());
   add_to_key(key, source);
   key.add(subgroup_size, may_widen_subgroups, bindings.size());
   for (const auto &[set, binding, slot, offset, stride, count, inline_data, variable_count,
                     is_mutable] : bindings)
      key.add(set, binding, slot, offset, stride, count, inline_data, variable_count, is_mutable);
   key.add(may_have_tiled_images, robust_buffer_access, native_tiles.has_value(),
           native_tiles.value_or(false), instruction_set.has_value(),
           instruction_set.value_or(InstructionSet::none));
   key.add(matrices.has_value());
   if (matrices) {
      const auto &[operations, flexible] = *matrices;
      add_to_key(key, operations);
      add_to_key(key, flexible);
   }
   return key.finish();
}

} // namespace weft::cpu
