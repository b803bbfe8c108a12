// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/arguments.h"

#include <bit>
#include <cstdlib>
#include <getopt.h>
#include <optional>

namespace weft::weftc {

const char *const usage =
   "usage: weftc [option...] FILE\n"
   "\n"
   "Compiles one compute entry point of a SPIR-V module as the driver does, and shows a stage of "
   "it.\n"
   "FILE - is the standard input.\n"
   "\n"
   "  --emit=nir           NIR as the back end gets it (default)\n"
   "  --emit=passes        NIR after each pass\n"
   "  --emit=llvm          LLVM IR\n"
   "  --emit=asm           assembly of this machine\n"
   "  --emit=spirv         SPIR-V as the layer gives it to a driver without matrices\n"
   "  --emit=map           SVG drawing: which invocation and component owns which matrix element\n"
   "  --entry NAME         the entry point (main)\n"
   "  --spec ID=VALUE      a specialization constant: 16, 0x10, -1, true, 1.5 (32-bit float), "
   "1.5d\n"
   "                       (64-bit); may be repeated\n"
   "  --subgroup-size N    8, 16, 32 or 64 (the machine's default)\n"
   "  --registers          lower matrices to registers, not to tiles of the back end (with nir, "
   "passes)\n"
   "  --native MxNxK       a shape that the driver has matrices for (with spirv); may be repeated\n"
   "  -o, --output FILE    write there instead of to the standard output\n"
   "  -h, --help           this text\n";

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
   if (word == "map")
      return Emit::map;
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

std::optional<uint64_t> parse_value(const std::string &text)
{
   if (text == "true" || text == "false")
      return text == "true";
   if (const std::optional<uint64_t> integer = parse_integer(text))
      return integer;
   char *end = nullptr;
   const double value = strtod(text.c_str(), &end);
   if (end == text.c_str())
      return std::nullopt;
   if (std::string(end) == "d")
      return std::bit_cast<uint64_t>(value);
   if (*end != '\0')
      return std::nullopt;
   return std::bit_cast<uint32_t>(float(value));
}

std::optional<SpecArgument> parse_spec(const std::string &text)
{
   const size_t equals = text.find('=');
   if (equals == std::string::npos)
      return std::nullopt;
   const std::optional<uint64_t> id = parse_integer(text.substr(0, equals));
   const std::optional<uint64_t> bits = parse_value(text.substr(equals + 1));
   if (!id || *id > UINT32_MAX || !bits)
      return std::nullopt;
   return SpecArgument{uint32_t(*id), *bits};
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

} // namespace

Result<Arguments> parse_arguments(int argc, char **argv)
{
   enum { emit = 256, entry, spec, subgroup_size, registers, native };
   const option options[] = {
      {"emit", required_argument, nullptr, emit},
      {"entry", required_argument, nullptr, entry},
      {"spec", required_argument, nullptr, spec},
      {"subgroup-size", required_argument, nullptr, subgroup_size},
      {"registers", no_argument, nullptr, registers},
      {"native", required_argument, nullptr, native},
      {"output", required_argument, nullptr, 'o'},
      {"help", no_argument, nullptr, 'h'},
      {},
   };

   Arguments arguments;
   opterr = 0;
   for (;;) {
      const int at = optind;
      const int c = getopt_long(argc, argv, ":o:h", options, nullptr);
      if (c == -1)
         break;
      const std::string value = optarg ? optarg : "";
      switch (c) {
      case emit: {
         const std::optional<Emit> what = parse_emit(value);
         if (!what)
            return Error{"--emit=" + value + ": there are nir, passes, llvm, asm, spirv and map"};
         arguments.emit = *what;
         break;
      }
      case entry:
         arguments.entry = value;
         break;
      case spec: {
         const std::optional<SpecArgument> constant = parse_spec(value);
         if (!constant)
            return Error{"--spec " + value + ": not of the form ID=VALUE"};
         arguments.constants.push_back(*constant);
         break;
      }
      case subgroup_size:
         if (value != "8" && value != "16" && value != "32" && value != "64")
            return Error{"--subgroup-size " + value + ": there are 8, 16, 32 and 64"};
         arguments.subgroup_size = uint32_t(strtoul(value.c_str(), nullptr, 10));
         break;
      case registers:
         arguments.registers = true;
         break;
      case native: {
         const std::optional<std::array<uint32_t, 3>> shape = parse_shape(value);
         if (!shape)
            return Error{"--native=" + value + ": not of the form MxNxK"};
         arguments.native_shapes.push_back(*shape);
         break;
      }
      case 'o':
         arguments.output = value;
         break;
      case 'h':
         arguments.help = true;
         return arguments;
      case ':':
         return Error{std::string(argv[at]) + " needs a value"};
      default:
         return Error{"unknown option " + std::string(argv[at])};
      }
   }
   if (optind + 1 != argc)
      return Error{optind == argc ? "no input file" : "more than one input file"};
   arguments.input = argv[optind];
   if (arguments.registers && arguments.emit != Emit::nir && arguments.emit != Emit::passes)
      return Error{"--registers goes with --emit=nir and --emit=passes"};
   if (!arguments.native_shapes.empty() && arguments.emit != Emit::spirv)
      return Error{"--native goes with --emit=spirv"};
   return arguments;
}

} // namespace weft::weftc
