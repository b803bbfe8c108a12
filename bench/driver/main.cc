// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A driver's performance as programs see it, by Google Benchmark. VK_DRIVER_FILES names the
/// driver.

#include "bench/driver/benchmarks.h"

#include <benchmark/benchmark.h>

#include <cstdio>

int main(int argc, char **argv)
{
   benchmark::Initialize(&argc, argv);
   if (benchmark::ReportUnrecognizedArguments(argc, argv))
      return 2;
   try {
      weft::e2e::Device device(false);
      benchmark::AddCustomContext("device", device.properties.deviceName);
      weft::bench::register_gemms(device);
      weft::bench::register_commands(device);
      weft::bench::register_pipelines(device);
      const bool any = benchmark::RunSpecifiedBenchmarks() > 0;
      benchmark::ClearRegisteredBenchmarks(); // destroys their objects before the device
      return any ? 0 : 1;
   } catch (const std::exception &error) {
      fprintf(stderr, "%s\n", error.what());
      return 1;
   }
}
