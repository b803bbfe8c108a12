// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares random command buffers on the driver with the model. See docs/testing.md, or --help.

#include "tests/commands/child.h"
#include "tests/commands/execute.h"
#include "tests/commands/generate.h"
#include "tests/commands/print.h"
#include "tests/commands/shrink.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <unistd.h>

namespace weft::commands {
namespace {

constexpr const char *help = R"(usage: weft_commands [option]…
Makes random valid command buffers and submissions, and compares what the driver does with what a
model of Vulkan says.

  --seed S          the first case's seed; the next ones count up (default: WEFT_SEED, or random)
  --count N         how many cases (default 4000; 1000 with WEFT_SWEEP=reduced)
  --minutes M       as many as fit into M minutes instead
  --path PATH       driver, or layer: the layer above the driver (default: by turns)
  --failures N      stop after so many failing cases (default 1)
  --no-shrink       do not make failing cases smaller
  --shrink-seconds N  spend at most that on each (default 120)
  --output FOLDER   where failing cases are written (default: .)
  --print           show the cases instead of running them
  --help            show this
)";

/// The number of cases, which is smaller for slow builds.
uint64_t default_count()
{
   const char *sweep = getenv("WEFT_SWEEP");
   return sweep && strcmp(sweep, "reduced") == 0 ? 1000 : 4000;
}

uint64_t default_seed()
{
   const char *seed = getenv("WEFT_SEED");
   return seed ? strtoull(seed, nullptr, 0) : std::random_device()();
}

struct Settings {
   uint64_t seed = default_seed();
   uint64_t count = default_count();
   double minutes = 0;
   std::string path;
   uint32_t failures = 1;
   bool shrinks = true, prints = false;
   uint32_t shrink_seconds = 120;
   std::string output = ".";
};

/// Whole numbers and fractions; false for any other text.
template <typename T>
bool parse_number(const char *text, T &number)
{
   char *end = nullptr;
   number = std::is_floating_point_v<T> ? T(strtod(text, &end)) : T(strtoull(text, &end, 0));
   return end != text && *end == 0;
}

bool parse(int argc, char **argv, Settings &s)
{
   for (int i = 1; i < argc; i++) {
      const std::string option = argv[i];
      const char *value = i + 1 < argc ? argv[i + 1] : "";
      i++;
      if (option == "--seed") {
         if (!parse_number(value, s.seed))
            return false;
      } else if (option == "--count") {
         if (!parse_number(value, s.count))
            return false;
      } else if (option == "--minutes") {
         if (!parse_number(value, s.minutes))
            return false;
      } else if (option == "--failures") {
         if (!parse_number(value, s.failures))
            return false;
      } else if (option == "--shrink-seconds") {
         if (!parse_number(value, s.shrink_seconds))
            return false;
      } else if (option == "--path") {
         s.path = value;
         if (s.path != "driver" && s.path != "layer")
            return false;
      } else if (option == "--output") {
         s.output = value;
      } else {
         i--; // without a value
         if (option == "--no-shrink")
            s.shrinks = false;
         else if (option == "--print")
            s.prints = true;
         else
            return false;
      }
   }
   return true;
}

constexpr uint64_t batch = 500; ///< cases for each child
/// The longest time of a case, on a busy machine that compiles. A second limit is for the many runs
/// while a case is shrunk, when the cache has its code.
constexpr int silence_seconds = 100, alone_seconds = 20;

VulkanFiles files_of(const std::string &path)
{
   return {WEFT_ICD_MANIFEST, path == "layer" ? WEFT_LAYER_FOLDER : ""};
}

/// A child's devices. Each is created for the first case that needs it.
class Machines {
public:
   explicit Machines(const std::string &path) : instance(files_of(path)) {}

   uint64_t longest_wait = 0; ///< if it is not the usual

   std::optional<std::string> run(const Case &c, const Interpretation &expected)
   {
      instance.messages.clear();
      std::unique_ptr<Machine> &machine = machines[c.features];
      std::optional<std::string> why;
      try {
         if (!machine)
            machine = std::make_unique<Machine>(instance, c.features);
         if (longest_wait)
            machine->longest_wait = longest_wait;
         why = execute(*machine, c, expected);
      } catch (const std::exception &e) {
         why = e.what();
      }
      if (!instance.messages.empty())
         why = why.value_or("") + "validation: " + instance.messages;
      return why;
   }

private:
   Instance instance; // outlives its devices
   std::map<Features, std::unique_ptr<Machine>> machines;
};

/// The fault of a case, in a child of its own.
std::optional<std::string> run_alone(const std::string &path, const Case &c,
                                     const Interpretation &expected)
{
   std::optional<std::string> why;
   const std::string end = run_in_child(
      [&](Channel &channel) {
         auto *machines = new Machines(path); // a queue that hangs cannot be destroyed
         machines->longest_wait = 5'000'000'000;
         if (const auto differs = machines->run(c, expected))
            channel.send(0, *differs);
         fflush(nullptr);
         _exit(0);
      },
      [&](uint64_t, const std::string &text) { why = text; }, alone_seconds);
   if (!end.empty())
      return why.value_or("") + "crashed: " + end + "\n";
   return why;
}

void report_failure(const Settings &settings, const std::string &path, uint64_t seed,
                    const std::string &why)
{
   printf(
      "case %llu differs on %s:\n%srepeat with: weft_commands --seed %llu --count 1 --path %s\n",
      (unsigned long long)seed, path.c_str(), why.c_str(), (unsigned long long)seed, path.c_str());
   fflush(stdout);
   const GeneratedCase g = generate(seed);
   std::string small_why = "not when it runs alone\n";
   Case small = g.c;
   if (const auto alone = run_alone(path, g.c, g.expected)) {
      small_why = *alone;
      if (settings.shrinks) {
         // The last smaller case with a difference is kept.
         small = shrink(
            g.c,
            [&](const Case &candidate, const Interpretation &expected) {
               const auto differs = run_alone(path, candidate, expected);
               if (differs)
                  small_why = *differs;
               return differs.has_value();
            },
            std::chrono::seconds(settings.shrink_seconds));
      }
   }
   const Size before = size(g.c), after = size(small);
   const std::string text = "path " + path + "\n" + small_why + std::to_string(before.steps) +
                            " steps, " + std::to_string(before.commands) +
                            " commands; smaller: " + std::to_string(after.steps) + ", " +
                            std::to_string(after.commands) + "\n" + to_text(small);
   printf("%s", text.c_str());
   const std::string file = settings.output + "/fuzz-commands-" + std::to_string(seed) + ".txt";
   std::ofstream(file) << text << "\n---- before it was made smaller:\n" << why << to_text(g.c);
   printf("written to %s\n", file.c_str());
   fflush(stdout);
}

struct Totals {
   uint64_t agreed = 0, dispatches = 0;
   uint32_t failed = 0;
};

/// Runs cases first … end-1 in a child; returns the index after the last one.
uint64_t follow(const Settings &settings, uint64_t first, uint64_t end, Totals &totals)
{
   const std::string path = !settings.path.empty()   ? settings.path
                            : first / batch % 2 == 0 ? "driver"
                                                     : "layer";
   // Twice the index of the last case: it begins, or differs if the message has a text. One more:
   // it agrees.
   uint64_t last = 2 * first;
   std::string why;
   const std::string how = run_in_child(
      [&](Channel &channel) {
         auto *machines = new Machines(path);
         for (uint64_t index = first; index < end; index++) {
            channel.send(2 * index);
            const GeneratedCase g = generate(settings.seed + index);
            const auto differs = machines->run(g.c, g.expected);
            if (differs) {
               channel.send(2 * index, *differs);
               _exit(0); // destroying the machines could wait forever for a queue
            }
            channel.send(2 * index + 1, std::to_string(g.expected.dispatches));
         }
         delete machines;
      },
      [&](uint64_t number, const std::string &text) {
         last = number;
         if (number % 2 == 0) {
            why = text;
         } else {
            totals.agreed++;
            totals.dispatches += strtoull(text.c_str(), nullptr, 10);
         }
      },
      silence_seconds);
   if (why.empty() && !how.empty())
      why = how + (last % 2 ? " after the case\n" : "\n");
   if (why.empty())
      return end;
   totals.failed++;
   report_failure(settings, path, settings.seed + last / 2, why);
   return last / 2 + 1;
}

int run_all(const Settings &settings)
{
   printf("seed: %llu\n", (unsigned long long)settings.seed);
   const auto start = std::chrono::steady_clock::now();
   const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
   };
   // Children inherit glslang's output for the shaders.
   for (uint32_t kind = 0; kind < pipeline_kinds().size(); kind++)
      (void)shader_code(kind);
   Totals totals;
   double told = 0;
   for (uint64_t index = 0; totals.failed < settings.failures;) {
      if (seconds() >= told + 60) {
         told = seconds();
         fprintf(stderr, "%.0f minutes: %llu cases agree, %u differ\n", told / 60,
                 (unsigned long long)totals.agreed, totals.failed);
      }
      if (settings.minutes ? seconds() >= settings.minutes * 60 : index >= settings.count)
         break;
      const uint64_t next = (index / batch + 1) * batch;
      index =
         follow(settings, index, settings.minutes ? next : std::min(next, settings.count), totals);
   }
   printf("seed %llu: %llu cases agree, %u differ, %llu dispatches, %.1f minutes, %.0f cases a "
          "second\n",
          (unsigned long long)settings.seed, (unsigned long long)totals.agreed, totals.failed,
          (unsigned long long)totals.dispatches, seconds() / 60,
          double(totals.agreed) / std::max(seconds(), 0.001));
   return totals.failed || totals.agreed == 0 ? 1 : 0;
}

} // namespace
} // namespace weft::commands

int main(int argc, char **argv)
{
   using namespace weft::commands;
   if (argc == 2 && strcmp(argv[1], "--help") == 0) {
      fputs(help, stdout);
      return 0;
   }
   Settings settings;
   if (!parse(argc, argv, settings)) {
      fputs(help, stderr);
      return 2;
   }
   if (settings.prints) {
      for (uint64_t i = 0; i < settings.count; i++)
         printf("%s\n", to_text(generate(settings.seed + i).c).c_str());
      return 0;
   }
   return run_all(settings);
}
