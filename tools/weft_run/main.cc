// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// weft-run: runs a Vulkan program on Weft's CPU device, or with Weft's layer.

#include "tools/weft_run/arguments.h"
#include "tools/weft_run/environment.h"
#include "tools/weft_run/installation.h"
#include "tools/weft_run/probe.h"
#include "tools/weft_run/report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace weft::weft_run {

namespace {

int fail(const std::string &message, int status = failure)
{
   fprintf(stderr, "weft-run: %s\n", message.c_str());
   return status;
}

int print(const std::string &text)
{
   return fputs(text.c_str(), stdout) < 0 || fflush(stdout) ? int(failure) : 0;
}

int run(int argc, char **argv)
{
   Arguments arguments;
   if (const std::string problem = parse_arguments(argc, argv, arguments); !problem.empty())
      return fail(problem + "\nweft-run --help lists the options");
   if (arguments.command == Command::help)
      return print(usage);
   if (arguments.command == Command::version)
      return print("weft-run " WEFT_VERSION "\n");

   const Installation installation = find_installation(own_folder());
   if (arguments.command == Command::info)
      return print_info(arguments, installation);
   if (arguments.command == Command::driver_report)
      return print_driver_report(arguments, installation);

   const Choice &choice = arguments.choice;
   if (choice.cpu && !installation.driver.problem.empty())
      return fail(installation.driver.problem);
   if (choice.layer && !installation.layer.problem.empty())
      return fail(installation.layer.problem);
   // The variables for adding devices depend on the loader's version.
   const bool asks = choice.layer || choice.own;
   const std::vector<Variable> variables =
      plan_environment(choice, installation, asks ? loader_version() : 0, variable);
   if (arguments.command == Command::environment)
      return print(as_shell(variables));

   apply(variables);
   char **program = argv + arguments.program;
   execvp(program[0], program);
   return fail(std::string(program[0]) + ": " + strerror(errno),
               errno == ENOENT ? not_found : cannot_run);
}

} // namespace

} // namespace weft::weft_run

int main(int argc, char **argv)
{
   return weft::weft_run::run(argc, argv);
}
