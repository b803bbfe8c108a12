// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The programs of a shader, from the cache or compiled for dispatches.

#include "backend/cpu/compiler.h"
#include "backend/cpu/jit/program_file.h"
#include "backend/cpu/later_refusals.h"
#include "backend/cpu/lowered_shader.h"
#include "backend/cpu/phase_log.h"
#include "backend/cpu/plain_program.h"
#include "backend/cpu/promised_programs.h"
#include "backend/cpu/specialize/compile_queue.h"
#include "backend/cpu/specialize/join_workgroups.h"
#include "backend/cpu/specialize/kept_shader.h"
#include "backend/cpu/specialize/shader_variants.h"
#include "backend/cpu/specialize/specialize_branches.h"

#include <atomic>
#include <exception>
#include <list>
#include <new>
#include <optional>

namespace weft::cpu {

namespace {

/// Lets another thread compile a shader that takes these decisions, and fulfils the promise.
void start_program(const std::shared_ptr<ProgramPromise> &promise,
                   const std::shared_ptr<const KeptShader> &shader,
                   const BranchDecisions &decisions, const CachePlace &place)
{
   make_program(promise, place.cache, place.key, [=]() -> ProgramResult {
      const LoggedPhase phase("program", shader.get());
      const Specialization wanted = {shader->conditions, decisions};
      Result<TranslatedShader> translated =
         translate({unpack_nir(*shader), shader->cpu, shader->info.subgroup_size,
                    shader->robust_buffer_access},
                   {}, &wanted);
      if (!translated)
         return translated.error();
      return generate(std::move(*translated), {}, place);
   });
}

/// One program for all dispatches, compiled for the first one, because libraries create pipelines
/// that their users never need. In the cache, the program replaces the shader.
class LateProgram final : public Programs {
public:
   LateProgram(std::shared_ptr<const KeptShader> shader, const CachePlace &place)
       : shader(std::move(shader)), place(place)
   {
   }

   const ProgramInfo &info() const override { return shader->info; }
   const FutureProgram &program_for(const DispatchFacts &) override { return started(); }
   /// Applications store pipelines for their code, so this compiles the program too.
   std::vector<std::byte> serialize() const override
   {
      const ProgramResult &result = started().get();
      return result ? (*result)->serialize() : std::vector<std::byte>();
   }

private:
   const FutureProgram &started() const noexcept
   {
      if (is_started.exchange(true))
         return program;
      try {
         start_program(promise, shader, {}, place);
      } catch (const std::exception &e) {
         promise->set_value(Error{e.what()});
      }
      return program;
   }

   const std::shared_ptr<const KeptShader> shader; ///< outlives this in threads that compile
   const CachePlace place;
   const std::shared_ptr<ProgramPromise> promise = std::make_shared<ProgramPromise>();
   const FutureProgram program = promise->get_future().share();
   mutable std::atomic<bool> is_started = false;
};

/// A program for each of the ways that dispatches take at the branches.
class SpecializedPrograms final : public Programs {
public:
   SpecializedPrograms(StoredShader stored, DiskCache *cache, const CacheKey &key)
       : shader(std::move(stored.shader)), cache(cache), key(key),
         variants(shader->conditions, std::move(stored.programs))
   {
   }

   const ProgramInfo &info() const override { return shader->info; }
   const FutureProgram &program_for(const DispatchFacts &facts) override
   {
      const ShaderVariants::Choice choice = variants.choose(facts);
      if (choice.promise)
         find_or_start(choice);
      return *choice.program;
   }
   std::vector<std::byte> serialize() const override
   {
      return write_shader(*shader, variants.all());
   }

private:
   CacheKey key_of(const BranchDecisions &decisions) const
   {
      KeyBuilder builder("program of decided branches");
      builder.add_bytes(std::as_bytes(std::span(key)));
      builder.add_bytes(std::as_bytes(std::span(decisions)));
      return builder.finish();
   }

   /// Fulfils the promise with a program from the cache, or lets another thread compile one.
   void find_or_start(const ShaderVariants::Choice &choice) noexcept
   {
      try {
         const CachePlace place = {cache, cache ? key_of(choice.decisions) : CacheKey()};
         if (const auto bytes = cache ? cache->read(place.key) : std::nullopt) {
            ProgramResult program =
               on_own_stack([&] { return read_program(*bytes, *shader->cpu, place); });
            if (program)
               return choice.promise->set_value(std::move(program));
         }
         start_program(choice.promise, shader, choice.decisions, place);
      } catch (const std::exception &e) {
         choice.promise->set_value(Error{e.what()});
      }
   }

   const std::shared_ptr<const KeptShader> shader; ///< outlives this in threads that compile
   DiskCache *const cache;
   const CacheKey key;
   ShaderVariants variants;
};

std::shared_ptr<Programs> one_program(std::shared_ptr<const Program> program)
{
   return std::make_shared<OneProgram>(program->info(), program);
}

std::shared_ptr<Programs> programs_of(StoredShader stored, DiskCache *cache, const CacheKey &key)
{
   if (stored.shader->conditions.branches.empty())
      return std::make_shared<LateProgram>(std::move(stored.shader), CachePlace{cache, key});
   return std::make_shared<SpecializedPrograms>(std::move(stored), cache, key);
}

Result<std::shared_ptr<Programs>> read_programs(std::span<const std::byte> bytes,
                                                const CpuFeatures &cpu, DiskCache *cache,
                                                const CacheKey &key)
{
   Result<ProgramFile> file = read_program_file(bytes);
   if (!file)
      return file.error();
   if (file->kind != FileKind::shader) {
      ProgramResult program = link_file(*file, cpu, {cache, key});
      if (!program)
         return program.error();
      return one_program(std::move(*program));
   }
   Result<StoredShader> stored = read_shader_payload(file->info, file->payload, cpu);
   if (!stored)
      return stored.error();
   return programs_of(std::move(*stored), cache, key);
}

/// A side of at least this number of NIR instructions is worth a program without it.
constexpr uint32_t worthwhile_instructions = 48;

/// Where programs of a shader come from.
struct Request {
   DiskCache *cache;
   CacheKey key;
   CompileOptions options;
};

/// The other passes. The programs are compiled for dispatches.
Result<std::shared_ptr<Programs>> finish_passes(ReadShader read, const ShaderSource &source,
                                                const Request &request)
{
   LoggedPhase phase("passes");
   Result<LoweredShader> lowered = finish(std::move(read), source, request.options);
   if (!lowered)
      return lowered.error();
   nir_shader *nir = lowered->nir.get();
   const auto kept = std::make_shared<const KeptShader>(KeptShader{
      program_info(nir, lowered->subgroup_size), lowered->cpu, lowered->robust_buffer_access,
      find_branch_conditions(
         nir, lowered->subgroup_size, worthwhile_instructions,
         max_joined_sums(lowered->cpu->target.vector_bits, lowered->subgroup_size)),
      pack_nir(nir)});
   phase.set_shader(kept.get());
   if (kept->nir.empty())
      throw std::bad_alloc();
   if (request.cache)
      request.cache->write(request.key, write_shader(*kept, {}));
   return programs_of({kept, {}}, request.cache, request.key);
}

/// A source that other threads may read later.
class KeptSource {
public:
   explicit KeptSource(const ShaderSource &original)
       : words(original.spirv.begin(), original.spirv.end()), kept(original)
   {
      kept.spirv = words;
      for (SpecConstant &constant : kept.spec_constants) {
         values.emplace_back(constant.value.begin(), constant.value.end());
         constant.value = values.back();
      }
   }
   KeptSource(const KeptSource &) = delete;

   const ShaderSource &get() const { return kept; }

private:
   const std::vector<uint32_t> words;
   std::list<std::vector<std::byte>> values;
   ShaderSource kept;
};

/// Everything with which another thread finishes the passes.
struct UnfinishedShader {
   UnfinishedShader(ReadShader read, const ShaderSource &source, const Request &request)
       : read(std::move(read)), source(source), request(request)
   {
   }

   ReadShader read;
   const KeptSource source;
   const Request request;
};

/// The stages of compile(), up to the point at which nothing about the shader can be wrong. Other
/// threads do the rest.
Result<std::shared_ptr<Programs>> start_compile(const ShaderSource &source, const Request &request)
{
   const TablesMeanwhile tables;
   const LoggedPhase phase("read");
   Result<ReadShader> shader = read(source, request.options);
   if (!shader)
      return shader.error();
   if (may_be_refused_later(shader->nir.get(), request.options.bindings))
      return finish_passes(std::move(*shader), source, request);
   const ProgramInfo info = program_info(shader->nir.get(), shader->subgroup_size);
   const auto rest = std::make_shared<UnfinishedShader>(std::move(*shader), source, request);
   return promise_programs(info, [rest] {
      return finish_passes(std::move(rest->read), rest->source.get(), rest->request);
   });
}

} // namespace

Result<std::shared_ptr<Programs>> compile_cached(DiskCache *cache, const ShaderSource &source,
                                                 const CompileOptions &options, bool may_compile)
{
   const Result<const CpuFeatures *> cpu = features_for(options.instruction_set);
   const bool watched = with_debug_output(options.dump) || options.control || options.statistics;
   if (!cpu || watched)
      cache = nullptr;
   const CacheKey key = cache ? cache_key(source, options) : CacheKey();
   if (const auto bytes = cache ? cache->read(key) : std::nullopt) {
      auto programs = on_own_stack([&] { return read_programs(*bytes, **cpu, cache, key); });
      if (programs)
         return programs;
   }
   if (!may_compile)
      return std::shared_ptr<Programs>();
   if (!watched)
      return on_large_stack([&] { return start_compile(source, {cache, key, options}); });
   ProgramResult program = compile(source, options);
   if (!program)
      return program.error();
   return one_program(std::move(*program));
}

Result<std::shared_ptr<Programs>> deserialize_programs(std::span<const std::byte> bytes,
                                                       DiskCache *cache, const CacheKey &key)
{
   return on_own_stack([&] { return read_programs(bytes, host_features(), cache, key); });
}

} // namespace weft::cpu
