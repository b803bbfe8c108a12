// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The command line of weft-run.

#pragma once

#include <string>
#include <vector>

namespace weft::weft_run {

/// The devices that a program shall find, and their configuration.
struct Choice {
   bool cpu = false;   ///< the CPU device
   bool own = false;   ///< the machine's own devices
   bool layer = false; ///< with the layer above them
   bool gpu = false;   ///< the CPU device presents itself as an integrated GPU
   bool log = false;   ///< WEFT_DEBUG=log
   std::string profile = {};
};

enum class Command { run, info, environment, driver_report, help, version };

struct Arguments {
   Command command = Command::run;
   Choice choice;
   bool chosen = false; ///< an option named devices: --cpu, --add or --layer
   bool json = false;
   std::string device; ///< --describe-driver: a part of its name
   int program = 0;    ///< the program's index in argv
};

extern const char *const usage;

/// Exit statuses besides the program's own, as in env(1) and timeout(1).
enum Status { no_matrices = 1, failure = 125, cannot_run = 126, not_found = 127 };

/// Returns an empty string, or an error message about the command line.
std::string parse_arguments(int argc, char **argv, Arguments &);

} // namespace weft::weft_run
