// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs of which code is generated behind their caller's back, and caches of them.
///
/// What is put off has passed every check: vkCreateComputePipelines has returned, or vkCmdDispatch has.

#include "backend/cpu/codegen/specialize_branches.h"
#include "backend/cpu/compiler.h"
#include "backend/cpu/jit/jit.h"
#include "backend/cpu/jit/program_file.h"
#include "backend/cpu/lowered_shader.h"
#include "backend/cpu/passes.h"
#include "backend/cpu/prepare.h"
#include "backend/cpu/runtime/executor.h"

#include "nir_passes/compiler_options.h"
#include "threads/large_stack.h"
#include "threads/running_work.h"

#include "compiler/nir/nir_serialize.h"
#include "threads/until_unload.h"
#include "util/blob.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace weft::cpu {

namespace {

using ProgramResult = Result<std::shared_ptr<const Program>>;

FutureProgram ready(ProgramResult program)
{
   std::promise<ProgramResult> promise;
   promise.set_value(std::move(program));
   return promise.get_future().share();
}

constinit std::atomic<bool> has_tables = false;

/// LLVM makes the tables of its code generator when it first needs them.  Here that is over before
/// any program's code is generated: see RunningWork.
void make_tables()
{
   static std::once_flag once;
   std::call_once(once, [] {
      prepare_code_generation();
      has_tables = true;
   });
}

/// Makes the tables on a thread of its own while a shader goes through NIR's passes, and waits for
/// them in the end, also where the shader is refused: the program may call exit() next.
class TablesMeanwhile {
public:
   TablesMeanwhile()
   {
      if (!has_tables)
         thread.emplace(make_tables);
   }

private:
   std::optional<LargeStackThread> thread;
};

/// The threads that generate code.
LargeStackThreads &code_threads()
{
   // Other threads may still ask for it while the process ends.
   static LargeStackThreads &threads = []() -> LargeStackThreads & {
      auto *made = new LargeStackThreads(default_threads());
      call_at_end_of_work([] { code_threads().finish(); });
      return until_unload(made);
   }();
   return threads;
}

/// A program that is being made.
using Promise = std::promise<ProgramResult>;

/// Has another thread make a program and keep the promise; throws where there is no memory for
/// that, and the promise is still to be kept.  The cache gets the program; it may be null.
template <typename Make>
void start(const std::shared_ptr<Promise> &promise, DiskCache *cache, const CacheKey &key,
           Make &&make)
{
   // A std::function can be copied, `make` need not.
   const auto shared_make = std::make_shared<Make>(std::move(make));
   const auto run = [cache, key, shared_make]() -> ProgramResult {
      try {
         make_tables();
         ProgramResult program = (*shared_make)();
         if (cache && program)
            cache->write(key, (*program)->serialize());
         return program;
      } catch (const std::exception &e) {
         return Error{e.what()};
      }
   };
   code_threads().start([promise, run](bool may_run) {
      promise->set_value(may_run ? run() : Error{process_is_ending});
   });
}

/// deserialize() for a thread of the application's.
ProgramResult linked_elsewhere(std::span<const std::byte> bytes, const CpuFeatures &cpu)
{
   ProgramResult program = Error{process_is_ending};
   (void)call_on_large_stack([&] { program = deserialize(bytes, cpu); });
   return program;
}

/// One for all dispatches.
class OneProgram final : public Programs {
public:
   OneProgram(const ProgramInfo &info, FutureProgram program)
       : program_info(info), program(std::move(program))
   {
   }

   const ProgramInfo &info() const override { return program_info; }
   const FutureProgram &program_for(const DispatchFacts &) override { return program; }
   std::vector<std::byte> serialize() const override
   {
      const ProgramResult &result = program.get();
      return result ? (*result)->serialize() : std::vector<std::byte>();
   }

private:
   const ProgramInfo program_info;
   const FutureProgram program;
};

/// A LoweredShader as bytes, a tenth of what it takes as NIR, and what dispatches may decide of it.
struct KeptShader {
   ProgramInfo info;
   const CpuFeatures *cpu;
   bool robust_buffer_access;
   BranchConditions conditions;
   std::vector<std::byte> nir;
};

/// Bytes that grow; what is read from them is empty where they end.
class Writer {
public:
   Writer() { blob_init(&bytes); }
   ~Writer() { blob_finish(&bytes); }
   Writer(const Writer &) = delete;
   Writer &operator=(const Writer &) = delete;

   blob bytes;

   template <typename T>
   void add(std::span<const T> values)
   {
      static_assert(std::is_trivially_copyable_v<T>);
      blob_write_uint64(&bytes, values.size());
      blob_write_bytes(&bytes, values.data(), values.size_bytes());
   }
   /// None if memory ran out.
   std::vector<std::byte> finish() const
   {
      const auto *begin = reinterpret_cast<const std::byte *>(bytes.data);
      return bytes.out_of_memory ? std::vector<std::byte>()
                                 : std::vector<std::byte>(begin, begin + bytes.size);
   }
};

class Reader {
public:
   explicit Reader(std::span<const std::byte> from)
   {
      blob_reader_init(&bytes, from.data(), from.size());
   }

   template <typename T>
   std::vector<T> next()
   {
      const uint64_t count = blob_read_uint64(&bytes);
      const auto left = uint64_t(bytes.end - bytes.current);
      if (bytes.overrun || count > left / sizeof(T)) {
         bytes.overrun = true;
         return {};
      }
      std::vector<T> values(count);
      blob_copy_bytes(&bytes, values.data(), count * sizeof(T));
      return values;
   }
   uint8_t next_byte() { return blob_read_uint8(&bytes); }
   bool at_end() const { return bytes.overrun || bytes.current == bytes.end; }
   bool is_whole() const { return !bytes.overrun; }

private:
   blob_reader bytes;
};

/// None if memory ran out.
std::vector<std::byte> to_bytes(const nir_shader *nir)
{
   Writer writer;
   nir_serialize(&writer.bytes, nir, /*strip=*/true);
   return writer.finish();
}

LoweredShader unpacked(const KeptShader &kept)
{
   const TypeTable types;
   blob_reader reader;
   blob_reader_init(&reader, kept.nir.data(), kept.nir.size());
   return {Shader(nir_deserialize(nullptr, &llvm_compiler_options, &reader)), kept.cpu,
           kept.info.subgroup_size, kept.robust_buffer_access};
}

ProgramResult compile_specialized(const KeptShader &kept, const std::string &decisions)
{
   LoweredShader shader = unpacked(kept);
   PassRunner run(shader.nir.get(), {});
   specialize_for_dispatch(run, kept.conditions, decisions);
   if (run.refused())
      return run.error();
   Result<TranslatedShader> translated = translate(std::move(shader));
   if (!translated)
      return translated.error();
   return generate(std::move(*translated));
}

/// One for each way that dispatches go at the branches.
class SpecializedPrograms final : public Programs {
public:
   SpecializedPrograms(std::shared_ptr<const KeptShader> shader, DiskCache *cache,
                       const CacheKey &key)
       : shader(std::move(shader)), cache(cache), key(key)
   {
   }

   const ProgramInfo &info() const override { return shader->info; }
   const FutureProgram &program_for(const DispatchFacts &) override;
   std::vector<std::byte> serialize() const override;

   void add(const std::string &decisions, FutureProgram program)
   {
      programs.insert_or_assign(decisions, std::move(program));
   }

private:
   /// Keeps the promise now, or later by another thread.
   void find_or_start(const std::string &decisions,
                      const std::shared_ptr<Promise> &promise) noexcept;

   const std::shared_ptr<const KeptShader> shader; ///< threads use it when this is gone
   DiskCache *const cache;
   const CacheKey key;
   mutable std::mutex mutex;
   std::map<std::string, FutureProgram> programs; ///< by decisions
   /// By facts_text(): dispatches come again.
   std::unordered_map<std::string, const FutureProgram *> known;
};

/// A dispatch's facts as one text.
std::string facts_text(const DispatchFacts &facts)
{
   std::string text(reinterpret_cast<const char *>(facts.push_constants.data()),
                    facts.push_constants.size());
   text.append(reinterpret_cast<const char *>(&facts.base_workgroup), sizeof(facts.base_workgroup));
   text.append(reinterpret_cast<const char *>(&facts.num_workgroups), sizeof(facts.num_workgroups));
   return text;
}

/// Whether a program has all that dispatches of other decisions run, and one undecided branch more: code of that is not
/// worth a compilation of its own.
bool covers(const std::string &program, const std::string &decisions)
{
   unsigned undecided = 0;
   for (size_t i = 0; i < decisions.size(); i++) {
      if (program[i] == decisions[i])
         continue;
      if (program[i] != '?')
         return false;
      undecided++;
   }
   return undecided <= 1;
}

const FutureProgram &SpecializedPrograms::program_for(const DispatchFacts &facts)
{
   std::unique_lock lock(mutex);
   constexpr size_t max_known = 32;
   if (known.size() == max_known)
      known.clear();
   const FutureProgram *&program = known[facts_text(facts)];
   if (program)
      return *program;
   // Who has the branches go in many ways gets one program for all others.
   constexpr size_t max_programs = 8;
   std::string decisions = decide_branches(shader->conditions, facts);
   if (programs.size() >= max_programs && !programs.contains(decisions))
      decisions.assign(decisions.size(), '?');
   auto found = programs.find(decisions);
   if (found == programs.end())
      found = std::ranges::find_if(
         programs, [&](const auto &program) { return covers(program.first, decisions); });
   if (found == programs.end()) {
      decisions = with_small_sides(shader->conditions, std::move(decisions));
      found = programs.find(decisions);
   }
   if (found != programs.end())
      return *(program = &found->second);
   const auto promise = std::make_shared<Promise>();
   program = &programs.emplace(decisions, promise->get_future().share()).first->second;
   const FutureProgram &added = *program; // stays where it is
   // What follows may take long, as it reads files, links, and waits for other shaders' code.
   lock.unlock();
   find_or_start(decisions, promise);
   return added;
}

void SpecializedPrograms::find_or_start(const std::string &decisions,
                                        const std::shared_ptr<Promise> &promise) noexcept
{
   try {
      CacheKey own_key = {};
      if (cache) {
         KeyBuilder builder("program of decided branches");
         builder.add_bytes(std::as_bytes(std::span(key)));
         builder.add(decisions);
         own_key = builder.finish();
         if (const std::optional<std::vector<std::byte>> bytes = cache->read(own_key)) {
            if (ProgramResult program = linked_elsewhere(*bytes, *shader->cpu))
               return promise->set_value(std::move(program));
         }
      }
      start(promise, cache, own_key,
            [shader = shader, decisions] { return compile_specialized(*shader, decisions); });
   } catch (const std::exception &e) {
      promise->set_value(Error{e.what()});
   }
}

std::vector<std::byte> write_shader(const KeptShader &shader,
                                    const std::map<std::string, FutureProgram> &programs)
{
   Writer writer;
   blob_write_uint8(&writer.bytes, shader.robust_buffer_access);
   writer.add(std::span(shader.conditions.expressions));
   writer.add(std::span(shader.conditions.branches));
   writer.add(std::span(shader.nir));
   for (const auto &[decisions, future] : programs) {
      const ProgramResult &program = future.get();
      if (!program)
         continue;
      writer.add(std::span(decisions));
      writer.add(std::span<const std::byte>((*program)->serialize()));
   }
   const std::vector<std::byte> payload = writer.finish();
   return payload.empty() ? payload : write_program_file(FileKind::shader, shader.info, payload);
}

std::vector<std::byte> SpecializedPrograms::serialize() const
{
   std::unique_lock lock(mutex);
   const std::map<std::string, FutureProgram> all = programs;
   lock.unlock(); // waiting for their code may take long
   return write_shader(*shader, all);
}

Result<std::shared_ptr<Programs>> read_programs(std::span<const std::byte> bytes,
                                                const CpuFeatures &cpu, DiskCache *cache,
                                                const CacheKey &key)
{
   Result<ProgramFile> file = read_program_file(bytes);
   if (!file)
      return file.error();
   if (file->kind == FileKind::program) {
      ProgramResult program = link_program(file->info, std::move(file->payload), cpu);
      if (!program)
         return program.error();
      return std::shared_ptr<Programs>(
         std::make_shared<OneProgram>(file->info, ready(std::move(program))));
   }
   Reader reader(file->payload);
   auto shader = std::make_shared<KeptShader>();
   shader->info = file->info;
   shader->cpu = &cpu;
   shader->robust_buffer_access = reader.next_byte() != 0;
   shader->conditions.expressions = reader.next<DispatchExpression>();
   shader->conditions.branches = reader.next<BranchConditions::Branch>();
   shader->nir = reader.next<std::byte>();
   auto programs = std::make_shared<SpecializedPrograms>(shader, cache, key);
   while (!reader.at_end()) {
      const std::vector<char> decisions = reader.next<char>();
      if (decisions.size() != shader->conditions.branches.size())
         return Error{"compiled shader: damaged"};
      ProgramResult program = deserialize(reader.next<std::byte>(), cpu);
      if (!program)
         return program.error();
      programs->add({decisions.begin(), decisions.end()}, ready(std::move(program)));
   }
   if (!reader.is_whole())
      return Error{"compiled shader: truncated"};
   return std::shared_ptr<Programs>(std::move(programs));
}

/// Sides of so many of NIR's instructions are worth a program without them.
constexpr uint32_t worthwhile_instructions = 48;

/// compile(), of which the second half may not be over, or not begun.
Result<std::shared_ptr<Programs>> start_compile(DiskCache *cache, const CacheKey &key,
                                                const ShaderSource &source,
                                                const CompileOptions &options)
{
   const TablesMeanwhile tables;
   Result<LoweredShader> lowered = lower(source, options);
   if (!lowered)
      return lowered.error();
   nir_shader *nir = lowered->nir.get();
   const ProgramInfo info = program_info(nir, lowered->subgroup_size);
   BranchConditions conditions =
      find_branch_conditions(nir, lowered->subgroup_size, worthwhile_instructions);
   std::vector<std::byte> bytes;
   if (!conditions.branches.empty())
      bytes = to_bytes(nir);
   if (!bytes.empty()) {
      const auto kept = std::make_shared<const KeptShader>(
         KeptShader{info, lowered->cpu, lowered->robust_buffer_access, std::move(conditions),
                    std::move(bytes)});
      if (cache)
         cache->write(key, write_shader(*kept, {}));
      return std::shared_ptr<Programs>(std::make_shared<SpecializedPrograms>(kept, cache, key));
   }
   Result<TranslatedShader> translated = translate(std::move(*lowered));
   if (!translated)
      return translated.error();
   const auto promise = std::make_shared<Promise>();
   auto program = std::make_shared<OneProgram>(info, promise->get_future().share());
   start(promise, cache, key,
         [shader = std::move(*translated)]() mutable { return generate(std::move(shader)); });
   return std::shared_ptr<Programs>(std::move(program));
}

} // namespace

void prepare_to_compile() noexcept
{
   try {
      const TablesMeanwhile tables;
   } catch (const std::exception &) {
      // No memory: the first compilation makes them.
   }
}

Result<std::shared_ptr<Programs>> compile_cached(DiskCache *cache, const ShaderSource &source,
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
         Result<std::shared_ptr<Programs>> programs = Error{process_is_ending};
         if (!call_on_large_stack([&] { programs = read_programs(*bytes, **cpu, cache, key); }) ||
             programs)
            return programs;
      }
   }
   if (!may_compile)
      return std::shared_ptr<Programs>();
   if (!watched) {
      Result<std::shared_ptr<Programs>> programs = Error{process_is_ending};
      (void)call_on_large_stack(
         [&] { programs = start_compile(cache, key, source, compile_options); });
      return programs;
   }
   ProgramResult program = compile(source, compile_options);
   if (!program)
      return program.error();
   const ProgramInfo info = (*program)->info();
   return std::shared_ptr<Programs>(std::make_shared<OneProgram>(info, ready(std::move(program))));
}

Result<std::shared_ptr<Programs>> deserialize_programs(std::span<const std::byte> bytes,
                                                       DiskCache *cache, const CacheKey &key)
{
   Result<std::shared_ptr<Programs>> programs = Error{process_is_ending};
   (void)call_on_large_stack([&] { programs = read_programs(bytes, host_features(), cache, key); });
   return programs;
}

} // namespace weft::cpu
