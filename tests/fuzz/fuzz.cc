// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs random programs by every path and compares with the interpreter. See docs/testing.md, or
/// --help.
///
/// Programs run in child processes, so that a crash or a hang is an ordinary failure. A child
/// reports each next step through a pipe.

#include "tests/fuzz/generate.h"
#include "tests/fuzz/paths.h"
#include "tests/fuzz/print.h"
#include "tests/fuzz/shrink.h"
#include "tests/spirv_forms/forms.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <memory>
#include <poll.h>
#include <random>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace weft::fuzz {
namespace {

/// The number of programs, which is smaller for slow builds.
uint64_t default_count()
{
   const char *sweep = getenv("WEFT_SWEEP");
   return sweep && strcmp(sweep, "reduced") == 0 ? 25 : 200;
}

struct Settings {
   uint64_t seed = std::random_device()();
   uint64_t count = default_count();
   double minutes = 0;
   std::vector<std::string> paths;
   std::vector<forms::Form> allowed_forms;
   uint32_t failures = 1;
   bool all_paths = false, in_process = false, shrinks = true, prints = false, lists = false;
   uint32_t shrink_seconds = 120;
   std::string output = ".";
   VulkanFiles vulkan = {WEFT_ICD_MANIFEST, WEFT_LAYER_FOLDER};
};

/// Sets the settings from the command line, or returns the exit status.
std::optional<int> parse(int argc, char **argv, Settings &s)
{
   CLI::App app("Makes random programs with cooperative matrices and compares the results of each "
                "path with an interpreter of its own.");
   std::vector<std::string> form_names;
   app.add_option("--seed", s.seed,
                  "the first program's seed; the next ones count up (default: random)");
   app.add_option("--count", s.count,
                  "number of programs (default 200; 25 with WEFT_SWEEP=reduced)");
   app.add_option("--minutes", s.minutes, "as many programs as fit into these minutes instead");
   app.add_option("--path", s.paths,
                  "these paths; --list names them (default: some of those that are similar)")
      ->delimiter(',')
      ->allow_extra_args(false);
   app.add_flag("--all-paths", s.all_paths, "every path");
   app.add_flag("--in-process", s.in_process, "no path through Vulkan");
   app.add_option("--forms", form_names,
                  "forms of the programs' SPIR-V: glslang; O or Os, by spirv-opt; values or "
                  "variables, rewritten (default: any, by the program's seed)")
      ->delimiter(',')
      ->allow_extra_args(false);
   app.add_option("--failures", s.failures, "stop after this number of failing programs (1)");
   app.add_flag("!--no-shrink", s.shrinks, "do not make failing programs smaller");
   app.add_option("--shrink-seconds", s.shrink_seconds, "the longest time for each of them (120)");
   app.add_option("--output", s.output, "the folder for failing programs (.)");
   app.add_flag("--print", s.prints, "show the programs instead of running them");
   app.add_flag("--list", s.lists, "name the paths");
   try {
      app.parse(argc, argv);
      for (const std::string &name : form_names) {
         const std::optional<forms::Form> form = forms::find_form(name);
         if (!form)
            throw CLI::ValidationError("--forms", "there is no '" + name + "'");
         s.allowed_forms.push_back(*form);
      }
   } catch (const CLI::ParseError &error) {
      return app.exit(error) ? 2 : 0;
   }
   if (s.allowed_forms.empty()) {
      for (const forms::NamedForm &named : forms::all_forms)
         s.allowed_forms.push_back(named.form);
   }
   return std::nullopt;
}

/// A message from a child: its next step, or its result.
struct Report {
   enum class What : uint32_t { starts, agrees, differs, left_out } what;
   uint32_t path; ///< for `differs` and `starts`
   uint64_t index;
};

constexpr uint64_t batch = 40; ///< programs for each child
/// The limits of processor time and of waiting for one path of one program. A wait counts only
/// while this process runs, because a machine may be busy or sleep.
constexpr double most_seconds = 100;
constexpr int most_waits = 900; ///< of a second

using Paths = std::vector<std::unique_ptr<Path>>;

GeneratedProgram program_at(const Settings &settings, uint64_t index,
                            const std::vector<MatrixOperation> &operations)
{
   return generate(settings.seed + index, operations, !settings.in_process);
}

/// The form of a program. Smaller programs made from it keep the form.
forms::Form form_of(const Settings &settings, const Program &program)
{
   oracle::Random random(program.seed);
   return settings.allowed_forms[oracle::draw(random, uint32_t(settings.allowed_forms.size()))];
}

/// A program as SPIR-V, or the reason why it cannot be expressed.
struct Shader {
   std::vector<uint32_t> spirv;
   std::optional<std::string> fault;
};

Shader make_shader(const Program &program, forms::Form form)
{
   try {
      return {forms::in_form(to_spirv(program), form, program.seed), std::nullopt};
   } catch (const std::exception &e) {
      return {{}, std::string(e.what()) + "\n"};
   }
}

std::optional<std::string> run(Path &path, const Program &program, const Shader &shader,
                               const Expected &expected)
{
   return shader.fault ? shader.fault : path.run(program, shader.spirv, expected);
}

std::string describe(const Program &program)
{
   std::ostringstream text;
   text << "subgroups of " << program.subgroup_size << ", " << program.subgroups
        << " of them per workgroup, " << program.workgroups << " workgroups\npush constants:";
   for (uint32_t word : program.push)
      text << " " << word;
   text << "\n";
   static const char *const contents[] = {
      "written by the program", "tiny", "small", "fine", "bounds", "any"};
   static const char *const storages[] = {"buffer",  "buffer reference", "shared",
                                          "uniform", "texel buffer",     "uniform texel buffer",
                                          "image",   "sampled image"};
   for (size_t m = 0; m < program.memories.size(); m++) {
      const Memory &memory = program.memories[m];
      text << "mem" << m << ": " << storages[int(memory.storage)] << ", " << memory.elements
           << " × " << glsl_name(memory.type) << ", " << contents[int(memory.contents)] << "\n";
   }
   return text.str();
}

/// Prints and writes a failing program, shrunk as far as possible.
void report_failure(const Settings &settings, const Program &original, Path &path,
                    const std::string &why, const StillFails &still_fails)
{
   const forms::Form form = form_of(settings, original);
   const std::string form_name(forms::name(form));
   printf("program %llu, form %s, differs on %s:\n%s", (unsigned long long)original.seed,
          form_name.c_str(), path.name().c_str(), why.c_str());
   printf("repeat with: weft_fuzz --seed %llu --count 1 --path %s --forms %s%s\n",
          (unsigned long long)original.seed, path.name().c_str(), form_name.c_str(),
          settings.in_process ? " --in-process" : "");
   fflush(stdout);
   Program small = original;
   if (settings.shrinks)
      small = shrink(original, still_fails, std::chrono::seconds(settings.shrink_seconds));
   std::string small_why = why;
   const std::variant<Expected, Invalid> result = interpret(small);
   if (const Expected *expected = std::get_if<Expected>(&result);
       expected && why.find("crashed") == std::string::npos)
      small_why =
         run(path, small, make_shader(small, form), *expected).value_or("not every time\n");
   const Size before = size(original), after = size(small);
   std::ostringstream text;
   text << "seed " << original.seed << ", path " << path.name() << ", form " << form_name << "\n"
        << small_why << before.statements << " statements, " << before.expressions
        << " expressions; smaller: " << after.statements << ", " << after.expressions << "\n"
        << describe(small) << to_glsl(small);
   printf("%s", text.str().c_str());
   const std::string file = settings.output + "/fuzz-" + std::to_string(original.seed) + ".txt";
   std::ofstream(file) << text.str() << "\n---- before it was made smaller:\n"
                       << describe(original) << to_glsl(original);
   // A form may depend on the whole GLSL text, so the module is kept, too.
   if (const Shader shader = make_shader(small, form); !shader.fault)
      std::ofstream(settings.output + "/fuzz-" + std::to_string(original.seed) + ".spv",
                    std::ios::binary)
         .write(reinterpret_cast<const char *>(shader.spirv.data()),
                std::streamsize(shader.spirv.size() * sizeof(uint32_t)));
   printf("written to %s\n", file.c_str());
   fflush(stdout);
}

void send(int pipe, const Report &report)
{
   if (write(pipe, &report, sizeof(report)) != sizeof(report))
      _exit(2);
}

/// The environment of the driver below the layer: a child has one driver.
struct Driver {
   std::string isa;
   bool split; ///< tiles through the layer are layer-split, else layer-tiles
   bool has(const std::string &path) const
   {
      return path.ends_with("/" + isa) && !path.starts_with(split ? "layer-tiles" : "layer-split");
   }
};

bool is_layer(const std::string &path)
{
   return path.starts_with("layer-");
}

/// Chooses the drivers of the paths alternately, one for each batch.
Driver choose_driver(const Paths &paths, uint64_t index)
{
   std::vector<Driver> drivers;
   for (const char *isa : {"amx", "avx512", "avx2"}) {
      for (const bool split : {true, false}) {
         const Driver driver = {isa, split};
         if (std::ranges::any_of(paths, [&](const auto &path) {
                return is_layer(path->name()) && driver.has(path->name());
             }))
            drivers.push_back(driver);
      }
   }
   return drivers.empty() ? Driver() : drivers[index / batch % drivers.size()];
}

/// The paths of a program. One is tiles in this process. Another is the layer in both lowerings,
/// with the other instruction set below it, or without Vulkan the layer's compilation. One program
/// in four also takes registers in this process, which take much longer to compile.
std::vector<uint32_t> choose_paths(const Settings &settings, const Paths &paths, uint64_t index,
                                   const Program &program)
{
   const Driver driver = choose_driver(paths, index);
   const auto there = [&](const std::string &name) {
      return std::ranges::any_of(paths, [&](const auto &path) { return path->name() == name; });
   };
   const bool avx512_below = driver.isa == "amx" || driver.isa == "avx512";
   const auto isa = [&](bool avx512) {
      return avx512 && there("tiles/avx512") ? std::string("/avx512") : std::string("/avx2");
   };
   std::vector<std::string> usual = {"tiles" + isa(!avx512_below)};
   if (const uint64_t drawn = oracle::Random(settings.seed + index)(); drawn % 4 == 0)
      usual.push_back("registers" + isa(drawn % 8 == 0));
   if (settings.in_process) {
      usual.push_back("spirv-tiles" + isa(avx512_below));
      usual.push_back("spirv-registers" + isa(avx512_below));
   }
   std::vector<uint32_t> chosen;
   for (uint32_t p = 0; p < paths.size(); p++) {
      if (!paths[p]->takes(program))
         continue;
      const std::string name = paths[p]->name();
      const bool wanted = settings.all_paths || !settings.paths.empty() ||
                          std::ranges::find(usual, name) != usual.end();
      if (is_layer(name) ? !settings.in_process && driver.has(name) : wanted)
         chosen.push_back(p);
   }
   return chosen;
}

/// Runs programs first … end-1 and exits.
[[noreturn]] void child(const Settings &settings, uint64_t first, uint64_t end, int pipe)
{
   const std::vector<MatrixOperation> operations = common_operations();
   const Paths paths = make_paths(settings.vulkan, settings.paths);
   for (uint64_t index = first; index < end; index++) {
      send(pipe, {Report::What::starts, uint32_t(paths.size()), index});
      const GeneratedProgram g = program_at(settings, index, operations);
      const forms::Form form = form_of(settings, g.program);
      const Shader shader = make_shader(g.program, form);
      const std::vector<uint32_t> chosen = choose_paths(settings, paths, index, g.program);
      if (chosen.empty()) {
         send(pipe, {Report::What::left_out, 0, index});
         continue;
      }
      bool agrees = true;
      for (const uint32_t p : chosen) {
         if (!agrees)
            break;
         send(pipe, {Report::What::starts, p, index});
         const std::optional<std::string> why = run(*paths[p], g.program, shader, g.expected);
         if (!why)
            continue;
         agrees = false;
         send(pipe, {Report::What::differs, p, index});
         report_failure(
            settings, g.program, *paths[p], *why,
            [&](const Program &candidate, const Expected &expected) {
               return run(*paths[p], candidate, make_shader(candidate, form), expected).has_value();
            });
      }
      if (agrees)
         send(pipe, {Report::What::agrees, 0, index});
   }
   fflush(stdout);
   _exit(0);
}

/// Whether a program crashes on a path, tried in another process.
bool crashes(Path &path, const Program &program, forms::Form form, const Expected &expected)
{
   const pid_t pid = fork();
   if (pid == 0) {
      const rlimit seconds = {rlim_t(most_seconds / 4), RLIM_INFINITY};
      setrlimit(RLIMIT_CPU, &seconds);
      alarm(most_waits);
      // The messages on stderr are not of interest.
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDERR_FILENO);
      run(path, program, make_shader(program, form), expected);
      _exit(0);
   }
   int status = 0;
   waitpid(pid, &status, 0);
   return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/// Reports a child that ended while it ran a path.
void report_crash(const Settings &settings, const Report &last, const std::string &how)
{
   fflush(stdout);
   const pid_t pid = fork();
   if (pid == 0) {
      const GeneratedProgram g = program_at(settings, last.index, common_operations());
      const Paths paths = make_paths(settings.vulkan, settings.paths);
      if (last.path >= paths.size()) {
         printf("program %llu, form %s: %s before any path\n%s", (unsigned long long)g.program.seed,
                std::string(forms::name(form_of(settings, g.program))).c_str(), how.c_str(),
                to_glsl(g.program).c_str());
      } else {
         Path &path = *paths[last.path];
         report_failure(settings, g.program, path, "crashed: " + how + "\n",
                        [&](const Program &candidate, const Expected &expected) {
                           return crashes(path, candidate, form_of(settings, g.program), expected);
                        });
      }
      fflush(stdout);
      _exit(0);
   }
   waitpid(pid, nullptr, 0);
}

struct Totals {
   uint64_t agreed = 0, left_out = 0;
   uint32_t failed = 0;
};

/// A process's time on processors, in seconds.
double processor_seconds(pid_t pid)
{
   clockid_t clock;
   timespec t = {};
   if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
      return 0;
   return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

/// Waits until a child's pipe has data, or the child has ended. Returns false if the child computes
/// or waits too long.
bool says_something(pid_t pid, int pipe, int more_seconds)
{
   const double start = processor_seconds(pid);
   for (int waits = 0; waits < most_waits + more_seconds; waits++) {
      pollfd wait = {pipe, POLLIN, 0};
      if (poll(&wait, 1, 1000) > 0)
         return true;
      if (processor_seconds(pid) - start > most_seconds + more_seconds)
         return false;
   }
   return false;
}

/// Reads the messages of one child; returns the index after the last program that it ran.
uint64_t follow(const Settings &settings, uint64_t first, uint64_t end, Totals &totals)
{
   int ends[2];
   if (pipe(ends) != 0) {
      perror("pipe");
      exit(2);
   }
   fflush(stdout);
   const pid_t pid = fork();
   if (pid == 0) {
      close(ends[0]);
      child(settings, first, end, ends[1]);
   }
   close(ends[1]);
   Report report = {Report::What::starts, ~0u, first};
   bool hangs = false;
   while (true) {
      // Shrinking the program takes more time.
      const int more = report.what == Report::What::differs ? int(settings.shrink_seconds) : 0;
      if (!says_something(pid, ends[0], more)) {
         hangs = true;
         kill(pid, SIGKILL);
         break;
      }
      Report next;
      if (read(ends[0], &next, sizeof(next)) != sizeof(next))
         break;
      report = next;
      totals.agreed += report.what == Report::What::agrees;
      totals.left_out += report.what == Report::What::left_out;
      totals.failed += report.what == Report::What::differs;
      if (totals.failed >= settings.failures && report.what != Report::What::differs)
         break;
   }
   close(ends[0]);
   int status = 0;
   if (totals.failed >= settings.failures && !hangs)
      kill(pid, SIGTERM);
   waitpid(pid, &status, 0);
   if (report.what == Report::What::starts && (hangs || totals.failed < settings.failures)) {
      totals.failed++;
      const std::string how = hangs ? "no end within the time"
                              : WIFSIGNALED(status)
                                 ? strsignal(WTERMSIG(status))
                                 : "exit status " + std::to_string(WEXITSTATUS(status));
      report_crash(settings, report, how);
   }
   return report.index + 1;
}

/// Whether each of the requested paths can run; reports a path that cannot. Runs in a child
/// process, because only the children of this process may make paths.
bool has_paths(const Settings &settings)
{
   const pid_t pid = fork();
   if (pid == 0) {
      const Paths paths = make_paths(settings.vulkan, settings.paths);
      for (const std::string &name : settings.paths) {
         if (std::ranges::none_of(paths, [&](const auto &path) { return path->name() == name; })) {
            fprintf(stderr, "no path %s on this machine; --list names them\n", name.c_str());
            _exit(1);
         }
         if (settings.in_process && is_layer(name)) {
            fprintf(stderr, "%s is through Vulkan, --in-process leaves it out\n", name.c_str());
            _exit(1);
         }
      }
      _exit(0);
   }
   int status = 0;
   return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run_all(const Settings &settings)
{
   printf("seed: %llu\n", (unsigned long long)settings.seed);
   const auto start = std::chrono::steady_clock::now();
   const auto minutes = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
   };
   Totals totals;
   double told = 0;
   for (uint64_t index = 0; totals.failed < settings.failures;) {
      if (minutes() >= told + 1) {
         told = minutes();
         fprintf(stderr, "%.0f minutes: %llu programs agree, %u differ\n", told,
                 (unsigned long long)totals.agreed, totals.failed);
      }
      if (settings.minutes ? minutes() >= settings.minutes : index >= settings.count)
         break;
      // Children begin at the start of a batch, except after a child that ended too early.
      const uint64_t next = (index / batch + 1) * batch;
      index =
         follow(settings, index, settings.minutes ? next : std::min(next, settings.count), totals);
   }
   printf("seed %llu: %llu programs agree, %u differ, %.1f minutes\n",
          (unsigned long long)settings.seed, (unsigned long long)totals.agreed, totals.failed,
          minutes());
   if (totals.left_out)
      printf("left out: %llu programs with images or texel buffers, which no chosen path takes\n",
             (unsigned long long)totals.left_out);
   return totals.failed || totals.agreed == 0 ? 1 : 0;
}

} // namespace
} // namespace weft::fuzz

int main(int argc, char **argv)
{
   using namespace weft::fuzz;
   Settings settings;
   if (const std::optional<int> status = parse(argc, argv, settings))
      return *status;
   if (settings.lists) {
      for (const auto &path : make_paths(settings.vulkan, {}))
         puts(path->name().c_str());
      return 0;
   }
   if (settings.prints) {
      for (uint64_t i = 0; i < settings.count; i++) {
         const GeneratedProgram g = program_at(settings, i, common_operations());
         printf("// seed %llu, form %s\n%s%s\n", (unsigned long long)g.program.seed,
                std::string(weft::forms::name(form_of(settings, g.program))).c_str(),
                describe(g.program).c_str(), to_glsl(g.program).c_str());
      }
      return 0;
   }
   if (!settings.paths.empty() && !has_paths(settings))
      return 2;
   return run_all(settings);
}
