// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/arguments.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <getopt.h>

namespace weft::weftc {

const char *const usage = R"(usage: weftc [option...] FILE

Compiles one compute entry point of a SPIR-V module like the driver or the layer, prints a stage of
the compilation, or runs the shader.  FILE may be - for the standard input.  SPIR-V assembly
(spirv-dis, --emit=spirv-text) is assembled.

Show:
  --emit=nir           NIR for the back end (default)
  --emit=passes        NIR after each pass, to the last one of the back end
  --emit=llvm          LLVM IR
  --emit=asm           assembly of this machine
  --emit=spirv         the layer's SPIR-V for a driver: a validated binary module
  --emit=spirv-text    the same, disassembled
  --emit=map           SVG drawing: the invocation and component of each matrix element
  --emit=register-map  the same for matrices in registers
  --emit=plan          without FILE: what the layer advertises and does above --driver REPORT
  --stats              JSON: time of each phase and pass, size and instructions of the code, calls,
                       kinds of accesses, spills
Run, without Vulkan:
  --run                on buffers with given or random contents; prints their contents at the end
  --path PATH          tiles (default), registers, spirv-tiles or spirv-registers, with any of the
                       suffixes /avx2, /avx512, /w8 ... /w64, /unchecked, /specialized
  --compare PATHS      also runs these paths, separated by commas, or 'all', and compares the
                       results; reports the first difference with its matrix element
  --buffer S.B=DATA    the buffer of set S, binding B (S.B.E: element E of an array): FILE, random:N
                       or zero:N with N bytes (default: random, with the size that the shader
                       declares, 65536 bytes without a declared size); may be repeated
  --push V,V...        push constants: values as with --spec (default: random)
  --workgroups X,Y,Z   number of workgroups (1,1,1)
  --seed N             seed of random contents, whose sums are exact (default: the clock)
  --tolerance R        largest relative difference of floats (0)
  --save S.B=FILE      writes the buffer's contents at the end
  --timeout S          seconds for each path (60)
Find the pass that breaks it:
  --bisect             finds the first application of an optional pass after which --path differs
                       from the reference, or fails
  --reference PATH     the correct path (--path without optional passes)
Control:
  --entry NAME         the entry point (main)
  --spec ID=VALUE      a specialization constant: 16, 0x10, -1, true, 1.5 (32-bit float), 1.5d
                       (64-bit); may be repeated
  --subgroup-size N    8, 16, 32 or 64 (the machine's or driver's default)
  --registers          lower matrices to registers, not to tiles of the back end
  --isa avx2|avx512    the highest instruction set to use
  --target cpu|layer   the compiler of the NIR, passes or statistics (cpu)
  --driver NAME        the driver below the layer: full (default), lavapipe, nvidia, a REPORT of
                       weft-run --describe-driver, or a FILE that describes it; docs/weftc.md has
                       the formats
  --native MxNxK       a shape of the driver's own matrices; may be repeated
  --spirv-version 1.N  the newest version that the driver accepts
  --robust, --no-robust  accesses stay within their buffers (default: for the driver only)
  --stop-after PASS[#N]  prints NIR after this pass; no later optional pass runs
  --skip PASS[#N]      skips an optional pass, or its Nth application; may be repeated
  --pass-limit N       runs only the first N applications of optional passes.  Their names begin
                       with opt_ or nir_opt_, except nir_opt_algebraic,
                       nir_opt_algebraic_late, nir_opt_constant_folding and nir_opt_deref, which
                       also lower instructions
  -o, --output FILE    writes to FILE instead of the standard output
  -h, --help           prints this text
  --version            prints the version

Exit status: 0 for success; 1 if a compilation or a run failed; 2 for a wrong command line; 3 if
paths disagree.  --bisect ends with 0 if it found a pass.
)";

namespace {

std::optional<Emit> parse_emit(const std::string &word)
{
   if (word == "nir")
      return Emit::nir;
   if (word == "passes")
      return Emit::passes;
   if (word == "llvm")
      return Emit::llvm;
   if (word == "asm")
      return Emit::assembly;
   if (word == "spirv")
      return Emit::spirv;
   if (word == "spirv-text")
      return Emit::spirv_text;
   if (word == "map")
      return Emit::map;
   if (word == "register-map")
      return Emit::register_map;
   if (word == "plan")
      return Emit::plan;
   return std::nullopt;
}

std::optional<uint64_t> parse_integer(const std::string &text)
{
   char *end = nullptr;
   const bool negative = text.starts_with('-');
   const uint64_t value =
      negative ? uint64_t(strtoll(text.c_str(), &end, 0)) : strtoull(text.c_str(), &end, 0);
   return !text.empty() && *end == '\0' ? std::optional(value) : std::nullopt;
}

/// Parses decimal digits only.
std::optional<uint64_t> parse_number(const std::string &text, uint64_t most)
{
   if (text.empty() || text.size() > 18 ||
       text.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
   const uint64_t value = strtoull(text.c_str(), nullptr, 10);
   return value <= most ? std::optional(value) : std::nullopt;
}

std::vector<std::string> split(const std::string &text, char separator)
{
   std::vector<std::string> parts(1);
   for (char c : text) {
      if (c == separator)
         parts.emplace_back();
      else
         parts.back() += c;
   }
   return parts;
}

std::optional<SpecArgument> parse_spec(const std::string &text)
{
   const size_t equals = text.find('=');
   if (equals == std::string::npos)
      return std::nullopt;
   const std::optional<uint64_t> id = parse_integer(text.substr(0, equals));
   const std::optional<ParsedValue> value = parse_value(text.substr(equals + 1));
   if (!id || *id > UINT32_MAX || !value)
      return std::nullopt;
   return SpecArgument{uint32_t(*id), value->bits};
}

/// "8x8x8"
std::optional<std::array<uint32_t, 3>> parse_shape(const std::string &text)
{
   std::array<uint32_t, 3> shape;
   char end;
   if (sscanf(text.c_str(), "%ux%ux%u%c", &shape[0], &shape[1], &shape[2], &end) != 3)
      return std::nullopt;
   return shape;
}

std::optional<runner::BufferPlace> parse_place(const std::string &text)
{
   const std::vector<std::string> parts = split(text, '.');
   std::array<uint32_t, 3> numbers = {};
   if (parts.size() < 2 || parts.size() > 3)
      return std::nullopt;
   for (size_t i = 0; i < parts.size(); i++) {
      const std::optional<uint64_t> number = parse_number(parts[i], i == 2 ? 65535 : UINT32_MAX);
      if (!number)
         return std::nullopt;
      numbers[i] = uint32_t(*number);
   }
   return runner::BufferPlace{numbers[0], numbers[1], numbers[2]};
}

std::optional<BufferArgument> parse_buffer(const std::string &text)
{
   constexpr uint64_t most = 1u << 30;
   const size_t equals = text.find('=');
   const auto place = parse_place(text.substr(0, equals));
   if (equals == std::string::npos || !place || equals + 1 == text.size())
      return std::nullopt;
   const std::string what = text.substr(equals + 1);
   using enum BufferArgument::Contents;
   for (const auto &[word, contents] : {std::pair("random:", random), {"zero:", zero}}) {
      if (!what.starts_with(word))
         continue;
      const auto size = parse_number(what.substr(std::string(word).size()), most);
      return size ? std::optional(BufferArgument{*place, contents, "", *size}) : std::nullopt;
   }
   return BufferArgument{*place, file, what, 0};
}

std::optional<std::array<uint32_t, 3>> parse_workgroups(const std::string &text)
{
   const std::vector<std::string> parts = split(text, ',');
   std::array<uint32_t, 3> counts = {1, 1, 1};
   if (parts.size() > 3)
      return std::nullopt;
   for (size_t i = 0; i < parts.size(); i++) {
      const std::optional<uint64_t> number = parse_number(parts[i], 65535);
      if (!number)
         return std::nullopt;
      counts[i] = uint32_t(*number);
   }
   return counts;
}

enum Option {
   emit = 256,
   entry,
   spec,
   subgroup_size,
   registers,
   native,
   stats,
   run,
   path,
   compare,
   buffer,
   push,
   workgroups,
   seed,
   tolerance,
   save,
   timeout,
   bisect,
   reference,
   isa,
   target,
   driver,
   spirv_version,
   robust,
   no_robust,
   stop_after,
   skip,
   pass_limit,
   version,
};

const option options[] = {
   {"emit", required_argument, nullptr, emit},
   {"entry", required_argument, nullptr, entry},
   {"spec", required_argument, nullptr, spec},
   {"subgroup-size", required_argument, nullptr, subgroup_size},
   {"registers", no_argument, nullptr, registers},
   {"native", required_argument, nullptr, native},
   {"stats", no_argument, nullptr, stats},
   {"run", no_argument, nullptr, run},
   {"path", required_argument, nullptr, path},
   {"compare", required_argument, nullptr, compare},
   {"buffer", required_argument, nullptr, buffer},
   {"push", required_argument, nullptr, push},
   {"workgroups", required_argument, nullptr, workgroups},
   {"seed", required_argument, nullptr, seed},
   {"tolerance", required_argument, nullptr, tolerance},
   {"save", required_argument, nullptr, save},
   {"timeout", required_argument, nullptr, timeout},
   {"bisect", no_argument, nullptr, bisect},
   {"reference", required_argument, nullptr, reference},
   {"isa", required_argument, nullptr, isa},
   {"target", required_argument, nullptr, target},
   {"driver", required_argument, nullptr, driver},
   {"spirv-version", required_argument, nullptr, spirv_version},
   {"robust", no_argument, nullptr, robust},
   {"no-robust", no_argument, nullptr, no_robust},
   {"stop-after", required_argument, nullptr, stop_after},
   {"skip", required_argument, nullptr, skip},
   {"pass-limit", required_argument, nullptr, pass_limit},
   {"output", required_argument, nullptr, 'o'},
   {"help", no_argument, nullptr, 'h'},
   {"version", no_argument, nullptr, version},
   {},
};

/// Takes options that control the compiler or select the output.
Result<bool> take_compile_option(int option, const std::string &value, Arguments &arguments)
{
   switch (option) {
   case emit: {
      const std::optional<Emit> what = parse_emit(value);
      if (!what)
         return Error{
            "--emit=" + value +
            ": there are nir, passes, llvm, asm, spirv, spirv-text, map, register-map and plan"};
      arguments.emit = *what;
      return true;
   }
   case entry:
      arguments.entry = value;
      return true;
   case spec: {
      const std::optional<SpecArgument> constant = parse_spec(value);
      if (!constant)
         return Error{"--spec " + value + ": not of the form ID=VALUE"};
      arguments.constants.push_back(*constant);
      return true;
   }
   case subgroup_size:
      if (value != "8" && value != "16" && value != "32" && value != "64")
         return Error{"--subgroup-size " + value + ": there are 8, 16, 32 and 64"};
      arguments.subgroup_size = uint32_t(strtoul(value.c_str(), nullptr, 10));
      return true;
   case registers:
      arguments.registers = true;
      return true;
   case native: {
      const std::optional<std::array<uint32_t, 3>> shape = parse_shape(value);
      if (!shape)
         return Error{"--native=" + value + ": not of the form MxNxK"};
      arguments.native_shapes.push_back(*shape);
      return true;
   }
   case stats:
      arguments.command = Command::statistics;
      return true;
   case isa:
      if (value != "avx2" && value != "avx512")
         return Error{"--isa " + value + ": there are avx2 and avx512"};
      arguments.instruction_set =
         value == "avx2" ? cpu::InstructionSet::avx2 : cpu::InstructionSet::avx512;
      return true;
   case target:
      if (value != "cpu" && value != "layer")
         return Error{"--target " + value + ": there are cpu and layer"};
      arguments.layer = value == "layer";
      return true;
   case driver:
      arguments.driver = value;
      return true;
   case spirv_version: {
      const std::optional<uint64_t> minor =
         value.starts_with("1.") ? parse_number(value.substr(2), 6) : std::nullopt;
      if (!minor || *minor < 3)
         return Error{"--spirv-version " + value + ": there are 1.3 to 1.6"};
      arguments.spirv_version = 0x10000 | uint32_t(*minor) << 8;
      return true;
   }
   case robust:
   case no_robust:
      arguments.robust = option == robust;
      return true;
   default: {
      if (option == pass_limit) {
         const std::optional<uint64_t> number = parse_number(value, UINT32_MAX);
         if (!number)
            return Error{"--pass-limit " + value + ": not a number"};
         arguments.passes.limit = uint32_t(*number);
         return true;
      }
      const std::string text = option == skip ? "--skip " : "--stop-after ";
      const Result<PassSelection::Name> name = parse_pass_name(value);
      if (!name)
         return Error{text + name.error().message};
      if (option == stop_after) {
         arguments.passes.stop_after = *name;
         return true;
      }
      if (!is_optional(name->pass))
         return Error{text + value + ": not an optional pass, which --help tells"};
      arguments.passes.skip.push_back(*name);
      return true;
   }
   }
}

/// Takes options of --run and --bisect.
Result<bool> take_run_option(int option, const std::string &value, Arguments &arguments)
{
   switch (option) {
   case run:
      if (arguments.command != Command::bisect)
         arguments.command = Command::run;
      return true;
   case bisect:
      arguments.command = Command::bisect;
      return true;
   case path:
   case reference: {
      const Result<runner::Path> parsed = runner::parse_path(value);
      if (!parsed)
         return parsed.error();
      (option == path ? arguments.path : arguments.reference) = *parsed;
      return true;
   }
   case compare:
      if (value == "all") {
         arguments.compare_all = true;
         return true;
      }
      for (const std::string &part : split(value, ',')) {
         const Result<runner::Path> parsed = runner::parse_path(part);
         if (!parsed)
            return parsed.error();
         arguments.compared.push_back(*parsed);
      }
      return true;
   case buffer: {
      const std::optional<BufferArgument> parsed = parse_buffer(value);
      if (!parsed)
         return Error{"--buffer " + value +
                      ": not of the form SET.BINDING=FILE, =random:BYTES or =zero:BYTES"};
      arguments.buffers.push_back(*parsed);
      return true;
   }
   case save: {
      const size_t equals = value.find('=');
      const auto place = parse_place(value.substr(0, equals));
      if (equals == std::string::npos || !place || equals + 1 == value.size())
         return Error{"--save " + value + ": not of the form SET.BINDING=FILE"};
      arguments.saves.push_back({*place, value.substr(equals + 1)});
      return true;
   }
   case push:
      arguments.push_constants = value;
      for (const std::string &part : split(value, ',')) {
         if (!parse_value(part))
            return Error{"--push " + value + ": '" + part + "' is no value"};
      }
      return true;
   case workgroups: {
      const auto counts = parse_workgroups(value);
      if (!counts)
         return Error{"--workgroups " + value + ": not of the form X,Y,Z with numbers up to 65535"};
      arguments.workgroups = *counts;
      return true;
   }
   case seed:
      arguments.seed = parse_integer(value);
      return arguments.seed ? Result<bool>(true) : Error{"--seed " + value + ": not a number"};
   case tolerance: {
      char *end = nullptr;
      arguments.tolerance = strtod(value.c_str(), &end);
      if (value.empty() || *end || !(arguments.tolerance >= 0) || std::isinf(arguments.tolerance))
         return Error{"--tolerance " + value + ": not a number from 0 on"};
      return true;
   }
   default: {
      const std::optional<uint64_t> seconds = parse_number(value, 86400);
      if (!seconds || !*seconds)
         return Error{"--timeout " + value + ": not a number of seconds"};
      arguments.timeout_ms = uint32_t(*seconds * 1000);
      return true;
   }
   }
}

bool is_run_option(int option)
{
   return (option >= run && option <= reference);
}

/// Refuses options that cannot be combined.
Result<bool> check(const Arguments &arguments, const char *run_option)
{
   const bool runs = arguments.command == Command::run || arguments.command == Command::bisect;
   if (run_option && !runs)
      return Error{std::string("--") + run_option + " goes with --run or --bisect"};
   const bool shows_layer =
      runs || arguments.emit == Emit::spirv || arguments.emit == Emit::spirv_text;
   const bool nir = arguments.emit == Emit::nir || arguments.emit == Emit::passes ||
                    arguments.command == Command::statistics;
   if (arguments.layer && !nir)
      return Error{"--target=layer goes with --emit=nir, --emit=passes and --stats"};
   if (!arguments.native_shapes.empty() && !shows_layer && !arguments.layer)
      return Error{"--native goes with --emit=spirv, --target=layer and paths through SPIR-V"};
   if (arguments.registers && (shows_layer || arguments.layer))
      return Error{"--registers goes with the CPU back end's stages; a path has it in its name, a "
                   "driver in what it lacks"};
   if (arguments.command == Command::bisect && !arguments.passes.is_default())
      return Error{"--bisect limits the passes itself"};
   if (arguments.compare_all && !arguments.compared.empty())
      return Error{"--compare takes all paths or some"};
   return true;
}

} // namespace

std::optional<ParsedValue> parse_value(const std::string &text)
{
   if (text == "true" || text == "false")
      return ParsedValue{text == "true", 4};
   if (const std::optional<uint64_t> integer = parse_integer(text))
      return ParsedValue{*integer, 4};
   char *end = nullptr;
   const double value = strtod(text.c_str(), &end);
   if (end == text.c_str())
      return std::nullopt;
   if (std::string(end) == "d")
      return ParsedValue{std::bit_cast<uint64_t>(value), 8};
   if (*end != '\0')
      return std::nullopt;
   return ParsedValue{std::bit_cast<uint32_t>(float(value)), 4};
}

Result<Arguments> parse_arguments(int argc, char **argv)
{
   Arguments arguments;
   const char *run_option = nullptr;
   opterr = 0;
   for (;;) {
      const int at = optind;
      int index = -1;
      const int c = getopt_long(argc, argv, ":o:h", options, &index);
      if (c == -1)
         break;
      const std::string value = optarg ? optarg : "";
      switch (c) {
      case 'o':
         arguments.output = value;
         break;
      case 'h':
         arguments.help = true;
         return arguments;
      case version:
         arguments.version = true;
         return arguments;
      case ':':
         return Error{std::string(argv[at]) + " needs a value"};
      case '?':
         return Error{"unknown option " + std::string(argv[at])};
      default: {
         if (is_run_option(c) && c != run && c != bisect && index >= 0)
            run_option = options[index].name;
         const Result<bool> taken = is_run_option(c) ? take_run_option(c, value, arguments)
                                                     : take_compile_option(c, value, arguments);
         if (!taken)
            return taken.error();
      }
      }
   }
   const bool has_input = arguments.command != Command::emit || arguments.emit != Emit::plan;
   if (!has_input && optind != argc)
      return Error{"--emit=plan takes no input file"};
   if (has_input && optind + 1 != argc)
      return Error{optind == argc ? "no input file" : "more than one input file"};
   if (has_input)
      arguments.input = argv[optind];
   const Result<bool> consistent = check(arguments, run_option);
   if (!consistent)
      return consistent.error();
   return arguments;
}

} // namespace weft::weftc
