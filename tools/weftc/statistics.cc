// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/statistics.h"

#include "nir_passes/front_end/spirv_words.h"
#include "tools/weftc/emit.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <map>
#include <sstream>

namespace weft::weftc {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration d)
{
   return std::chrono::duration<double, std::milli>(d).count();
}

using Json = nlohmann::ordered_json;

/// Microseconds are exact enough.
double rounded(double ms)
{
   return std::round(ms * 1000) / 1000;
}

std::string document(const Json &json)
{
   return json.dump(2) + "\n";
}

/// The time of each pass, measured from the end of the previous pass; it includes the time between
/// them.
struct PassTimes {
   struct Pass {
      uint32_t runs = 0, changes = 0;
      double ms = 0;
   };

   Clock::time_point start = Clock::now(), last = start;
   double before = -1; ///< ms before the first pass ended
   std::map<std::string, Pass> passes;

   void install(PassControl &control)
   {
      const auto steer = control.after;
      control.after = [this, steer](const PassApplication &application, bool changed,
                                    nir_shader *shader) {
         const Clock::time_point now = Clock::now();
         if (before < 0) {
            before = milliseconds(now - start);
         } else {
            Pass &pass = passes[application.pass];
            pass.runs++;
            pass.changes += changed;
            pass.ms += milliseconds(now - last);
         }
         steer(application, changed, shader);
         last = Clock::now();
      };
   }

   Json json() const
   {
      Json object = Json::object();
      for (const auto &[name, pass] : passes)
         object[name] = {{"runs", pass.runs}, {"changes", pass.changes}, {"ms", rounded(pass.ms)}};
      return object;
   }
   /// The phases that both compilers have.
   Json phases() const
   {
      return {{"front_end", rounded(before)},
              {"nir_passes", rounded(milliseconds(last - start) - before)}};
   }
};

/// Counts from an assembly listing.
struct Assembly {
   uint64_t instructions = 0, spills = 0, reloads = 0;
   std::map<std::string, uint64_t> calls;

   explicit Assembly(const std::string &text)
   {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
         const size_t comment = line.find('#');
         if (comment != std::string::npos) {
            spills += line.find("Spill", comment) != std::string::npos;
            reloads += line.find("Reload", comment) != std::string::npos;
         }
         if (line.size() < 2 || line[0] != '\t' || line[1] == '.' || line[1] == '#')
            continue;
         instructions++;
         std::istringstream words(line);
         std::string opcode, target;
         words >> opcode >> target;
         if (!opcode.starts_with("call"))
            continue;
         target.erase(0, target.find_first_not_of('*'));
         calls[target.substr(0, target.find_first_of("@("))]++;
      }
   }
};

Result<std::string> layer_statistics(const Arguments &arguments, std::span<const uint32_t> words)
{
   SelectedPasses selected(arguments.passes);
   PassTimes times;
   times.install(selected.control);
   const auto module = compile_for_driver(arguments, words, {}, &selected.control);
   const Clock::time_point end = Clock::now();
   if (!module)
      return module.error();
   Json phases = times.phases();
   phases["module"] = rounded(milliseconds(end - times.last));
   uint64_t instructions = 0;
   for ([[maybe_unused]] const Instruction &instruction : Instructions(*module))
      instructions++;
   return document({{"phases_ms", std::move(phases)},
                    {"passes", times.json()},
                    {"words", module->size()},
                    {"instructions", instructions}});
}

Result<std::string> cpu_statistics(const Arguments &arguments, std::span<const uint32_t> words)
{
   SelectedPasses selected(arguments.passes);
   PassTimes times;
   times.install(selected.control);
   cpu::CompileStatistics statistics;
   runner::CompileOptions options;
   options.control = &selected.control;
   options.statistics = &statistics;
   const auto program = compile_for_cpu(arguments, words, options);
   if (!program)
      return program.error();
   // A second compilation for the text: writing it takes time, which the first must not measure.
   std::string assembly_text;
   SelectedPasses again(arguments.passes);
   options = {};
   options.control = &again.control;
   options.dump = [&](std::string_view phase, const std::string &text) {
      if (phase == "asm")
         assembly_text = text;
   };
   const auto same = compile_for_cpu(arguments, words, options);
   if (!same)
      return same.error();
   const Assembly assembly(assembly_text);

   Json phases = times.phases();
   phases["llvm_ir"] = rounded(statistics.translation_ms);
   phases["llvm_passes"] = rounded(statistics.optimisation_ms);
   phases["machine_code"] = rounded(statistics.code_generation_ms);
   phases["link"] = rounded(statistics.link_ms);
   uint64_t calls = 0;
   Json called = Json::object(), kernels = Json::object();
   for (const auto &[name, count] : assembly.calls) {
      calls += count;
      called[name] = count;
      if (name.starts_with("weft_tile_"))
         kernels[name] = count;
   }
   const cpu::ProgramInfo &info = (*program)->info();
   return document({{"phases_ms", std::move(phases)},
                    {"passes", times.json()},
                    {"code_bytes", statistics.code_bytes},
                    {"instructions", assembly.instructions},
                    {"calls", calls},
                    {"called", std::move(called)},
                    {"kernels", std::move(kernels)},
                    {"accesses",
                     {{"uniform", statistics.accesses.uniform},
                      {"contiguous", statistics.accesses.contiguous},
                      {"strided", statistics.accesses.strided},
                      {"gathered", statistics.accesses.gathered}}},
                    {"spills", assembly.spills},
                    {"reloads", assembly.reloads},
                    {"stack_bytes", info.stack_bytes},
                    {"shared_bytes", info.shared_bytes},
                    {"subgroup_size", info.subgroup_size},
                    {"subgroups", info.subgroups}});
}

} // namespace

Result<std::string> compile_statistics(const Arguments &arguments, std::span<const uint32_t> words)
{
   return arguments.layer ? layer_statistics(arguments, words) : cpu_statistics(arguments, words);
}

} // namespace weft::weftc
