// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/statistics.h"

#include "nir_passes/front_end/spirv_words.h"
#include "tools/weftc/emit.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>

namespace weft::weftc {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration d)
{
   return std::chrono::duration<double, std::milli>(d).count();
}

/// Builds the indented lines of a JSON object; values must be JSON.
class Json {
public:
   void add(const std::string &key, const std::string &value)
   {
      text += (text.empty() ? "" : ",\n") + std::string("  \"") + key + "\": " + value;
   }
   void add(const std::string &key, uint64_t value) { add(key, std::to_string(value)); }
   void add_ms(const std::string &key, double value)
   {
      char number[32];
      std::snprintf(number, sizeof(number), "%.3f", value);
      add(key, std::string(number));
   }

   /// The object as a value of another one.
   std::string object() const
   {
      std::string indented = "{";
      for (char c : "\n" + text)
         indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
      return indented + "\n  }";
   }
   std::string document() const { return "{\n" + text + "\n}\n"; }

private:
   std::string text;
};

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

   std::string json() const
   {
      Json object;
      for (const auto &[name, pass] : passes) {
         char text[96];
         std::snprintf(text, sizeof(text), "{\"runs\": %u, \"changes\": %u, \"ms\": %.3f}",
                       pass.runs, pass.changes, pass.ms);
         object.add(name, text);
      }
      return object.object();
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

std::string counts(const std::map<std::string, uint64_t> &map)
{
   Json object;
   for (const auto &[name, count] : map)
      object.add(name, count);
   return map.empty() ? "{}" : object.object();
}

} // namespace

static Result<std::string> layer_statistics(const Arguments &arguments,
                                            std::span<const uint32_t> words)
{
   SelectedPasses selected(arguments.passes);
   PassTimes times;
   times.install(selected.control);
   const auto module = compile_for_driver(arguments, words, {}, &selected.control);
   const Clock::time_point end = Clock::now();
   if (!module)
      return module.error();
   Json phases, all;
   phases.add_ms("front_end", times.before);
   phases.add_ms("nir_passes", milliseconds(times.last - times.start) - times.before);
   phases.add_ms("module", milliseconds(end - times.last));
   uint64_t instructions = 0;
   for ([[maybe_unused]] const Instruction &instruction : Instructions(*module))
      instructions++;
   all.add("phases_ms", phases.object());
   all.add("passes", times.json());
   all.add("words", module->size());
   all.add("instructions", instructions);
   return all.document();
}

static Result<std::string> cpu_statistics(const Arguments &arguments,
                                          std::span<const uint32_t> words)
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

   Json phases, accesses, all;
   phases.add_ms("front_end", times.before);
   phases.add_ms("nir_passes", milliseconds(times.last - times.start) - times.before);
   phases.add_ms("llvm_ir", statistics.translation_ms);
   phases.add_ms("llvm_passes", statistics.optimisation_ms);
   phases.add_ms("machine_code", statistics.code_generation_ms);
   phases.add_ms("link", statistics.link_ms);
   accesses.add("uniform", statistics.accesses.uniform);
   accesses.add("contiguous", statistics.accesses.contiguous);
   accesses.add("strided", statistics.accesses.strided);
   accesses.add("gathered", statistics.accesses.gathered);
   uint64_t calls = 0;
   std::map<std::string, uint64_t> kernels;
   for (const auto &[name, count] : assembly.calls) {
      calls += count;
      if (name.starts_with("weft_tile_"))
         kernels[name] = count;
   }
   const cpu::ProgramInfo &info = (*program)->info();
   all.add("phases_ms", phases.object());
   all.add("passes", times.json());
   all.add("code_bytes", statistics.code_bytes);
   all.add("instructions", assembly.instructions);
   all.add("calls", calls);
   all.add("called", counts(assembly.calls));
   all.add("kernels", counts(kernels));
   all.add("accesses", accesses.object());
   all.add("spills", assembly.spills);
   all.add("reloads", assembly.reloads);
   all.add("stack_bytes", info.stack_bytes);
   all.add("shared_bytes", info.shared_bytes);
   all.add("subgroup_size", info.subgroup_size);
   all.add("subgroups", info.subgroups);
   return all.document();
}

Result<std::string> compile_statistics(const Arguments &arguments, std::span<const uint32_t> words)
{
   return arguments.layer ? layer_statistics(arguments, words) : cpu_statistics(arguments, words);
}

} // namespace weft::weftc
