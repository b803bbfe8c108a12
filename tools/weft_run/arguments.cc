// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/arguments.h"

#include <getopt.h>

namespace weft::weft_run {

const char *const usage = R"(usage: weft-run [option...] PROGRAM [argument...]
       weft-run --info [--json] [option...]
       weft-run --env [option...]
       weft-run --describe-driver DEVICE [option...]

Runs a Vulkan program on Weft's CPU device, or with Weft's layer above the machine's own drivers.

Devices:
  --cpu             the CPU device alone (default)
  --add             the CPU device beside the machine's own devices
  --layer           the machine's own devices, with the layer: matrices for drivers that lack them;
                    with --cpu or --add, above those devices instead
  --profile NAME    the matrices of a vendor's device (WEFT_PROFILE): nvidia, amd, intel, apple,
                    lavapipe; with the suffix +identity also the vendor's IDs and names
  --gpu             the CPU device presents itself as an integrated GPU (WEFT_DEVICE_TYPE), for
                    programs that ignore CPUs
  --log             reasons for refusals on stderr (WEFT_DEBUG=log)
Instead of running a program:
  --info            prints one page: the devices, their cooperative matrices or the reason for none,
                    the CPU's instructions, the shader cache, versions
  --json            prints --info for scripts
  --env             prints the variables, as commands for a shell
  --describe-driver DEVICE
                    prints the capabilities of a device's driver as JSON, for weftc --driver; DEVICE
                    is a part of the device's name.  Without --cpu, of the machine's own devices
  -h, --help        prints this text
  --version         prints the version

Exit status: the program's; 125 if weft-run itself fails, 126 if the program cannot be run,
127 if it is not found.  --info ends with 0 if a device has VK_KHR_cooperative_matrix, with 1
if none has.
)";

namespace {

enum Option {
   cpu = 256,
   add,
   layer,
   profile,
   gpu,
   log,
   info,
   json,
   environment,
   driver_report,
   version
};

const option options[] = {
   {"cpu", no_argument, nullptr, cpu},
   {"add", no_argument, nullptr, add},
   {"layer", no_argument, nullptr, layer},
   {"profile", required_argument, nullptr, profile},
   {"gpu", no_argument, nullptr, gpu},
   {"log", no_argument, nullptr, log},
   {"info", no_argument, nullptr, info},
   {"json", no_argument, nullptr, json},
   {"env", no_argument, nullptr, environment},
   {"version", no_argument, nullptr, version},
   {"help", no_argument, nullptr, 'h'},
   {"describe-driver", required_argument, nullptr, driver_report},
   {},
};

std::string check(const Arguments &arguments, int argc)
{
   const bool runs = arguments.command == Command::run;
   if (arguments.json && arguments.command != Command::info)
      return "--json goes with --info";
   if (runs && arguments.program == argc)
      return "no program";
   if (!runs && arguments.program != argc)
      return "--info, --env and --describe-driver run no program";
   return {};
}

} // namespace

std::string parse_arguments(int argc, char **argv, Arguments &arguments)
{
   opterr = 0;
   for (;;) {
      const int at = optind;
      // "+": options behind the program's name belong to the program.
      const int c = getopt_long(argc, argv, "+:h", options, nullptr);
      if (c == -1)
         break;
      switch (c) {
      case cpu:
         arguments.choice.cpu = true;
         break;
      case add:
         arguments.choice.cpu = arguments.choice.own = true;
         break;
      case layer:
         arguments.choice.layer = true;
         break;
      case profile:
         arguments.choice.profile = optarg;
         break;
      case gpu:
         arguments.choice.gpu = true;
         break;
      case log:
         arguments.choice.log = true;
         break;
      case json:
         arguments.json = true;
         break;
      case info:
      case environment:
         arguments.command = c == info ? Command::info : Command::environment;
         break;
      case driver_report:
         arguments.command = Command::driver_report;
         arguments.device = optarg;
         break;
      case version:
         arguments.command = Command::version;
         return {};
      case 'h':
         arguments.command = Command::help;
         return {};
      case ':':
         return std::string(argv[at]) + " needs a value";
      default:
         return "unknown option " + std::string(argv[at]);
      }
   }
   arguments.program = optind;
   Choice &choice = arguments.choice;
   if (arguments.command == Command::driver_report)
      choice.layer = true; // it reads the capabilities
   arguments.chosen = choice.cpu || choice.layer;
   if (!choice.cpu && choice.layer)
      choice.own = true;
   else if (!choice.cpu)
      choice.cpu = true;
   return check(arguments, argc);
}

} // namespace weft::weft_run
