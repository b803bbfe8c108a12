// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/arguments.h"

#include "tools/weftc/option_table.h"
#include "tools/weftc/option_values.h"

namespace weft::weftc {

namespace {

struct Stage {
   Emit emit;
   const char *name, *text;
};
constexpr Stage stages[] = {
   {Emit::nir, "nir", "NIR for the back end (default)"},
   {Emit::passes, "passes", "NIR after each pass, to the last one of the back end"},
   {Emit::accesses, "accesses", "the CPU back end's plans for memory accesses and look-ups"},
   {Emit::llvm, "llvm", "LLVM IR"},
   {Emit::assembly, "asm", "assembly of this machine"},
   {Emit::spirv, "spirv", "the layer's SPIR-V for a driver: a validated binary module"},
   {Emit::spirv_text, "spirv-text", "the same, disassembled"},
   {Emit::map, "map", "SVG drawing: the invocation and component of each matrix element"},
   {Emit::register_map, "register-map", "the same for matrices in registers"},
   {Emit::plan, "plan", "without FILE: the layer's plan for --driver REPORT"},
};

/// An option's value for each of its words.
template <typename T>
using Words = std::initializer_list<std::pair<const char *, T>>;

/// Sets `out` to the value of a word.
template <typename T, typename Table>
std::optional<Error> take_word(const std::string &word, const Table &table, T &out)
{
   std::string names;
   for (const auto &[name, value] : table) {
      if (word == name) {
         out = value;
         return std::nullopt;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
   }
   return Error{"expected one of " + names};
}

/// Sets `out` if there is a value.
template <typename T, typename Out>
std::optional<Error> take(const std::optional<T> &value, const char *otherwise, Out &out)
{
   if (!value)
      return Error{otherwise};
   out = *value;
   return std::nullopt;
}
template <typename T, typename Out>
std::optional<Error> take(const Result<T> &value, Out &out)
{
   if (!value)
      return value.error();
   out = *value;
   return std::nullopt;
}

/// The same for an option that may be repeated.
template <typename T>
std::optional<Error> append(const std::optional<T> &value, const char *otherwise,
                            std::vector<T> &out)
{
   return take(value, otherwise, out.emplace_back());
}

std::optional<Error> take_paths(const std::string &text, Arguments &arguments)
{
   if (text == "all") {
      arguments.compare_all = true;
      return std::nullopt;
   }
   for (const std::string &part : split(text, ',')) {
      const Result<runner::Path> path = runner::parse_path(part);
      if (!path)
         return path.error();
      arguments.compared.push_back(*path);
   }
   return std::nullopt;
}

std::optional<Error> take_push_constants(const std::string &text, Arguments &arguments)
{
   arguments.push_constants = text;
   for (const std::string &part : split(text, ',')) {
      if (!parse_value(part))
         return Error{"'" + part + "' is not a value"};
   }
   return std::nullopt;
}

std::optional<Error> take_skip(const std::string &text, Arguments &arguments)
{
   const Result<PassSelection::Name> name = parse_pass_name(text);
   if (!name)
      return name.error();
   if (!is_optional(name->pass))
      return Error{"not an optional pass; --help describes them"};
   arguments.passes.skip.push_back(*name);
   return std::nullopt;
}

constexpr char show_group[] = "Show", run_group[] = "Run, without Vulkan",
               bisect_group[] = "Find the pass that breaks it", control_group[] = "Control";

/// The options, whose values go to the arguments.
class WeftcOptions {
public:
   explicit WeftcOptions(Arguments &arguments)
       : a(arguments),
         table("weftc [option...] FILE",
               "Compiles one compute entry point of a SPIR-V module like the driver or the layer, "
               "prints a stage of the compilation, or runs the shader. FILE may be - for the "
               "standard input. SPIR-V assembly (spirv-dis, --emit=spirv-text) is assembled.",
               "Exit status: 0 for success; 1 if a compilation or a run failed; 2 for a wrong "
               "command line; 3 if paths disagree. --bisect ends with 0 if it found a pass.")
   {
      add_show();
      add_run();
      add_bisect();
      add_control();
   }

   Result<bool> parse(int argc, const char *const *argv);
   std::string help() const { return table.help(); }

private:
   void add_show();
   void add_run();
   void add_bisect();
   void add_control();
   Result<bool> check() const;

   Arguments &a;
   OptionTable table;
   bool stats = false, run = false, bisect = false, robust = false;
   CLI::Option *robust_option = nullptr;
};

void WeftcOptions::add_show()
{
   table.begin_group(show_group);
   std::vector<ListedValue> values;
   for (const Stage &stage : stages)
      values.push_back({stage.name, stage.text});
   table.add_listed("--emit", std::move(values), [this](const std::string &word) {
      std::vector<std::pair<std::string, Emit>> words;
      for (const Stage &stage : stages)
         words.emplace_back(stage.name, stage.emit);
      return take_word(word, words, a.emit);
   });
   table.add_flag("--stats", stats,
                  "JSON: time of each phase and pass, size and instructions of the code, calls, "
                  "kinds of accesses, spills");
}

void WeftcOptions::add_run()
{
   table.begin_group(run_group);
   table.add_flag("--run", run,
                  "on buffers with given or random contents; prints their contents at the end");
   table.add_value("--path", "PATH",
                   "tiles (default), registers, spirv-tiles or spirv-registers, with any of the "
                   "suffixes /avx2, /avx512, /w8 ... /w64, /unchecked, /specialized",
                   [this](const std::string &v) { return take(runner::parse_path(v), a.path); });
   table.add_value("--compare", "PATHS",
                   "also runs these paths, separated by commas, or 'all', and compares the "
                   "results; reports the first difference with its matrix element",
                   [this](const std::string &v) { return take_paths(v, a); });
   table.add_value(
      "--buffer", "S.B=DATA",
      "the buffer of set S, binding B (S.B.E: element E of an array): FILE, random:N or zero:N "
      "with N bytes (default: random, with the size that the shader declares, 65536 bytes without "
      "a declared size); may be repeated",
      [this](const std::string &v) {
         return append(parse_buffer(v),
                       "not of the form SET.BINDING=FILE, =random:BYTES or =zero:BYTES", a.buffers);
      });
   table.add_value("--push", "V,V...", "push constants: values as with --spec (default: random)",
                   [this](const std::string &v) { return take_push_constants(v, a); });
   table.add_value("--workgroups", "X,Y,Z", "number of workgroups (1,1,1)",
                   [this](const std::string &v) {
                      return take(parse_workgroups(v),
                                  "not of the form X,Y,Z with numbers up to 65535", a.workgroups);
                   });
   table.add_value(
      "--seed", "N", "seed of random contents, whose sums are exact (default: the clock)",
      [this](const std::string &v) { return take(parse_integer(v), "not a number", a.seed); });
   table.add_value("--tolerance", "R", "largest relative difference of floats (0)",
                   [this](const std::string &v) {
                      return take(parse_tolerance(v), "not a number from 0 on", a.tolerance);
                   });
   table.add_value("--save", "S.B=FILE", "writes the buffer's contents at the end",
                   [this](const std::string &v) {
                      return append(parse_save(v), "not of the form SET.BINDING=FILE", a.saves);
                   });
   table.add_value("--timeout", "S", "seconds for each path (60)", [this](const std::string &v) {
      return take(parse_timeout(v), "not a number of seconds", a.timeout_ms);
   });
}

void WeftcOptions::add_bisect()
{
   table.begin_group(bisect_group);
   table.add_flag("--bisect", bisect,
                  "finds the first application of an optional pass after which --path differs "
                  "from the reference, or fails");
   table.add_value(
      "--reference", "PATH", "the correct path (--path without optional passes)",
      [this](const std::string &v) { return take(runner::parse_path(v), a.reference); });
}

void WeftcOptions::add_control()
{
   const auto text = [](std::string &out) {
      return [&out](const std::string &v) -> std::optional<Error> {
         out = v;
         return std::nullopt;
      };
   };
   table.begin_group(control_group);
   table.add_value("--entry", "NAME", "the entry point (main)", text(a.entry));
   table.add_value("--spec", "ID=VALUE",
                   "a specialization constant: 16, 0x10, -1, true, 1.5 (32-bit float), 1.5d "
                   "(64-bit); may be repeated",
                   [this](const std::string &v) {
                      return append(parse_spec(v), "not of the form ID=VALUE", a.constants);
                   });
   table.add_value("--subgroup-size", "N", "8, 16, 32 or 64 (the machine's or driver's default)",
                   [this](const std::string &v) {
                      return take_word(
                         v, Words<uint32_t>{{"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}},
                         a.subgroup_size);
                   });
   table.add_flag("--registers", a.registers,
                  "lower matrices to registers, not to tiles of the back end");
   table.add_value(
      "--isa", "avx2|avx512", "the highest instruction set to use", [this](const std::string &v) {
         using enum cpu::InstructionSet;
         return take_word(v, Words<cpu::InstructionSet>{{"avx2", avx2}, {"avx512", avx512}},
                          a.instruction_set);
      });
   table.add_value("--target", "cpu|layer", "the compiler of the NIR, passes or statistics (cpu)",
                   [this](const std::string &v) {
                      return take_word(v, Words<bool>{{"cpu", false}, {"layer", true}}, a.layer);
                   });
   table.add_value("--driver", "NAME",
                   "the driver below the layer: full (default), lavapipe, nvidia, a REPORT of "
                   "weft-run --describe-driver, or a FILE that describes it; docs/weftc.md has the "
                   "formats",
                   text(a.driver));
   table.add_value("--native", "MxNxK", "a shape of the driver's own matrices; may be repeated",
                   [this](const std::string &v) {
                      return append(parse_shape(v), "not of the form MxNxK", a.native_shapes);
                   });
   table.add_value("--spirv-version", "1.N", "the newest version that the driver accepts",
                   [this](const std::string &v) {
                      return take(parse_spirv_version(v), "expected 1.3 to 1.6", a.spirv_version);
                   });
   robust_option = table.add_flag(
      "--robust", robust, "accesses stay within their buffers (default: for the driver only)",
      "--no-robust");
   table.add_value(
      "--stop-after", "PASS[#N]", "prints NIR after this pass; no later optional pass runs",
      [this](const std::string &v) { return take(parse_pass_name(v), a.passes.stop_after); });
   table.add_value("--skip", "PASS[#N]",
                   "skips an optional pass, or its Nth application; may be repeated",
                   [this](const std::string &v) { return take_skip(v, a); });
   table.add_value("--pass-limit", "N",
                   "runs only the first N applications of optional passes. Their names begin with "
                   "opt_ or nir_opt_, except nir_opt_algebraic, nir_opt_algebraic_late, "
                   "nir_opt_constant_folding and nir_opt_deref, which also lower instructions",
                   [this](const std::string &v) {
                      return take(parse_number(v, UINT32_MAX), "not a number", a.passes.limit);
                   });
   table.add_value("-o,--output", "FILE", "writes to FILE instead of the standard output",
                   text(a.output));
   table.add_flag("-h,--help", a.help, "prints this text");
   table.add_flag("--version", a.version, "prints the version");
}

/// Refuses options that cannot be combined.
Result<bool> WeftcOptions::check() const
{
   const bool runs = a.command == Command::run || a.command == Command::bisect;
   for (const char *group : {run_group, bisect_group}) {
      for (const std::string &option : table.given_in(group)) {
         if (!runs)
            return Error{option + " goes with --run or --bisect"};
      }
   }
   const bool shows_layer = runs || a.emit == Emit::spirv || a.emit == Emit::spirv_text;
   const bool nir =
      a.emit == Emit::nir || a.emit == Emit::passes || a.command == Command::statistics;
   if (a.layer && !nir)
      return Error{"--target=layer goes with --emit=nir, --emit=passes and --stats"};
   if (!a.native_shapes.empty() && !shows_layer && !a.layer)
      return Error{"--native goes with --emit=spirv, --target=layer and paths through SPIR-V"};
   if (a.registers && (shows_layer || a.layer))
      return Error{"--registers goes with the CPU back end's stages; otherwise name a path with "
                   "registers, or describe a driver without matrices"};
   if (a.command == Command::bisect && !a.passes.is_default())
      return Error{"--bisect limits the passes itself"};
   if (a.compare_all && !a.compared.empty())
      return Error{"--compare takes 'all' or a list of paths"};
   return true;
}

Result<bool> WeftcOptions::parse(int argc, const char *const *argv)
{
   const Result<std::vector<std::string>> files = table.parse(argc, argv);
   if (a.help || a.version)
      return true;
   if (!files)
      return files.error();
   a.command = bisect  ? Command::bisect
               : run   ? Command::run
               : stats ? Command::statistics
                       : Command::emit;
   if (robust_option->count())
      a.robust = robust;
   const bool has_input = a.command != Command::emit || a.emit != Emit::plan;
   if (!has_input && !files->empty())
      return Error{"--emit=plan takes no input file"};
   if (has_input && files->size() != 1)
      return Error{files->empty() ? "no input file" : "more than one input file"};
   if (has_input)
      a.input = files->front();
   return check();
}

} // namespace

std::string usage()
{
   Arguments arguments;
   return WeftcOptions(arguments).help();
}

Result<Arguments> parse_arguments(int argc, char **argv)
{
   Arguments arguments;
   const Result<bool> parsed = WeftcOptions(arguments).parse(argc, argv);
   if (!parsed)
      return parsed.error();
   return arguments;
}

} // namespace weft::weftc
