// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// weftc, the offline compiler: shows each stage of the pipelines from SPIR-V to machine code and
/// to SPIR-V, and runs shaders without a driver.

#include "tools/runner/shader_interface.h"
#include "tools/weftc/arguments.h"
#include "tools/weftc/driver.h"
#include "tools/weftc/emit.h"
#include "tools/weftc/run.h"
#include "tools/weftc/spirv_file.h"
#include "tools/weftc/statistics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace weft::weftc {

namespace {

/// Additional information for the user about an error in a module.
std::string hint(const Arguments &arguments, std::span<const uint32_t> words)
{
   const std::vector<std::string> names =
      runner::read_interface(source_of(arguments, words)).entry_points;
   if (names.empty() || std::ranges::find(names, arguments.entry) != names.end())
      return "";
   std::string list;
   for (const std::string &name : names)
      list += (list.empty() ? "" : ", ") + name;
   return "\nthe module's compute entry points are: " + list + " (--entry NAME)";
}

Result<bool> write(const std::string &path, const std::string &text)
{
   if (path.empty()) {
      if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout))
         return Error{"the standard output cannot be written"};
      return true;
   }
   std::ofstream file(path, std::ios::binary);
   file << text;
   file.close();
   if (!file)
      return Error{path + ": cannot be written"};
   return true;
}

int fail(const std::string &message, Status status = Status::failure)
{
   fprintf(stderr, "weftc: %s\n", message.c_str());
   return int(status);
}

struct Finished {
   Status status;
   std::string text;
   std::optional<Error> error;
};

Finished carry_out(const Arguments &arguments, std::span<const uint32_t> words)
{
   const auto finish = [](Result<Outcome> outcome) {
      if (!outcome)
         return Finished{Status::failure, "", outcome.error()};
      return Finished{outcome->status, std::move(outcome->report), {}};
   };
   switch (arguments.command) {
   case Command::run:
      return finish(run_shader(arguments, words));
   case Command::bisect:
      return finish(bisect_shader(arguments, words));
   case Command::statistics: {
      Result<std::string> text = compile_statistics(arguments, words);
      if (!text)
         return {Status::failure, "", text.error()};
      return {Status::success, std::move(*text), {}};
   }
   case Command::emit:
      break;
   }
   Emitted emitted = emit_stage(arguments, words);
   return {emitted.error ? Status::failure : Status::success, std::move(emitted.text),
           std::move(emitted.error)};
}

int print_plan(const Arguments &arguments)
{
   const Result<std::string> text = plan_for_driver(arguments);
   if (!text)
      return fail(text.error().message);
   const Result<bool> written = write(arguments.output, *text);
   return written ? int(Status::success) : fail(written.error().message);
}

int run(int argc, char **argv)
{
   const Result<Arguments> arguments = parse_arguments(argc, argv);
   if (!arguments)
      return fail(arguments.error().message + "\nweftc --help lists the options", Status::usage);
   if (arguments->help || arguments->version) {
      fputs(arguments->help ? usage().c_str() : "weftc " WEFT_VERSION "\n", stdout);
      return fflush(stdout) ? int(Status::failure) : 0;
   }
   if (arguments->input.empty())
      return print_plan(*arguments);
   const bool binary = arguments->command == Command::emit && arguments->emit == Emit::spirv;
   if (binary && arguments->output.empty() && isatty(STDOUT_FILENO))
      return fail("a module is no text for a terminal: -o FILE, or --emit=spirv-text",
                  Status::usage);
   const Result<std::vector<uint32_t>> words = read_spirv(arguments->input);
   if (!words)
      return fail(arguments->input + ": " + words.error().message);
   const Finished finished = carry_out(*arguments, *words);
   if (!finished.text.empty() || !finished.error) {
      const Result<bool> written = write(arguments->output, finished.text);
      if (!written)
         return fail(written.error().message);
   }
   if (finished.error) {
      return fail(arguments->input + ": " + finished.error->message + hint(*arguments, *words),
                  finished.status);
   }
   return int(finished.status);
}

} // namespace

} // namespace weft::weftc

int main(int argc, char **argv)
{
   return weft::weftc::run(argc, argv);
}
