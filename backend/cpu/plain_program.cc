// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/plain_program.h"

#include "backend/cpu/jit/jit.h"
#include "backend/cpu/jit/program_file.h"
#include "backend/cpu/jit/shared_function.h"
#include "backend/cpu/lowered_shader.h"
#include "backend/cpu/phase_log.h"
#include "backend/cpu/prepare.h"
#include "backend/cpu/specialize/compile_queue.h"

#include <exception>
#include <mutex>
#include <utility>

namespace weft::cpu {

namespace {

CachePlace place_of_plain(const CachePlace &place)
{
   if (!place.cache)
      return {};
   KeyBuilder builder("plain program");
   builder.add_bytes(std::as_bytes(std::span(place.key)));
   return {place.cache, builder.finish()};
}

ProgramResult find_or_make_plain(const KeptShader &shader, const CachePlace &place)
{
   if (const auto bytes = place.cache ? place.cache->read(place.key) : std::nullopt) {
      if (ProgramResult cached = deserialize(*bytes, *shader.cpu))
         return cached;
   }
   const LoggedPhase phase("program", &shader);
   Result<TranslatedShader> translated = translate_plain(shader);
   if (!translated)
      return translated.error();
   ProgramResult made = generate(std::move(*translated));
   if (place.cache && made)
      place.cache->write(place.key, (*made)->serialize());
   return made;
}

class PlainProgramOfShader final : public PlainProgram {
public:
   PlainProgramOfShader(std::shared_ptr<const KeptShader> shader, const CachePlace &place)
       : shader(std::move(shader)), place(place), promise(std::make_shared<ProgramPromise>()),
         future(promise->get_future().share())
   {
   }

   const KeptShader &kept() const { return *shader; }
   const FutureProgram &get() override
   {
      std::call_once(once, [&] { start(); });
      return future;
   }

private:
   void start() noexcept
   {
      try {
         make_program(promise, nullptr, {}, [shader = shader, place = place] {
            return find_or_make_plain(*shader, place);
         });
      } catch (const std::exception &e) {
         promise->set_value(Error{e.what()});
      }
   }

   const std::shared_ptr<const KeptShader> shader; ///< outlives this in threads that compile
   const CachePlace place;
   const std::shared_ptr<ProgramPromise> promise;
   const FutureProgram future;
   std::once_flag once;
};

class LeavingProgram final : public Program {
public:
   LeavingProgram(std::shared_ptr<const Program> program,
                  std::unique_ptr<PlainProgramOfShader> plain)
       : program(std::move(program)), plain_program(std::move(plain))
   {
   }

   const ProgramInfo &info() const override { return program->info(); }
   Kernel kernel() const override { return program->kernel(); }
   PlainProgram *plain() const override { return plain_program.get(); }
   std::vector<std::byte> serialize() const override
   {
      return write_shader(plain_program->kept(), {{BranchDecisions(), ready(program)}},
                          FileKind::leaving);
   }

private:
   const std::shared_ptr<const Program> program;
   const std::unique_ptr<PlainProgramOfShader> plain_program;
};

} // namespace

ProgramResult with_plain_program(std::shared_ptr<const Program> program,
                                 std::shared_ptr<const KeptShader> shader, const CachePlace &place)
{
   auto plain = std::make_unique<PlainProgramOfShader>(std::move(shader), place_of_plain(place));
   return std::shared_ptr<const Program>(
      std::make_shared<LeavingProgram>(std::move(program), std::move(plain)));
}

ProgramResult link_file(ProgramFile file, const CpuFeatures &cpu, const CachePlace &place)
{
   switch (file.kind) {
   case FileKind::program: {
      Result<CompiledCode> code = read_code(file.payload, cpu);
      return code ? link_program(file.info, std::move(*code), cpu) : ProgramResult(code.error());
   }
   case FileKind::leaving: {
      // The plain program is compiled in no call of the application.
      prepare_to_compile();
      Result<StoredShader> stored = read_shader_payload(file.info, file.payload, cpu);
      if (!stored)
         return stored.error();
      const auto program = stored->programs.find(BranchDecisions());
      if (program == stored->programs.end())
         return Error{"compiled program: damaged"};
      return with_plain_program(*program->second.get(), stored->shader, place);
   }
   case FileKind::shader:
      break;
   }
   return Error{"compiled program: it holds a shader, not a program"};
}

ProgramResult read_program(std::span<const std::byte> bytes, const CpuFeatures &cpu,
                           const CachePlace &place)
{
   Result<ProgramFile> file = read_program_file(bytes);
   return file ? link_file(std::move(*file), cpu, place) : ProgramResult(file.error());
}

ProgramResult deserialize(std::span<const std::byte> bytes, const CpuFeatures &cpu)
{
   return read_program(bytes, cpu, {});
}

} // namespace weft::cpu
