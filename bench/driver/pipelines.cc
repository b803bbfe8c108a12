// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "bench/driver/benchmarks.h"

#include "tests/e2e/glsl.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <memory>
#include <random>

#include <malloc.h>
#include <unistd.h>

namespace weft::bench {

namespace {

constexpr uint32_t kept_pipelines = 50;

/// Of the process.
size_t resident_bytes()
{
   malloc_trim(0);
   size_t size = 0, resident = 0;
   std::ifstream("/proc/self/statm") >> size >> resident;
   return resident * size_t(sysconf(_SC_PAGESIZE));
}

/// Makes pipelines of a GEMM, each ready to run, which it may not be yet when vkCreateComputePipelines
/// returns: of a number that was never used, no cache knows one.
class Maker {
public:
   explicit Maker(e2e::Device &device)
       : device(device), nothing(device, sizeof(uint32_t)),
         spirv(e2e::compile_glsl(gemm_shader({16, 16, 16, ComponentType::f16, ComponentType::f16,
                                              ComponentType::f32, ComponentType::f32, false}))),
         // Beyond any size of a matrix, which it is compared with.
         next(std::random_device{}() | 1u << 31)
   {
   }

   std::unique_ptr<e2e::Pipeline> make_new() { return make(++next); }
   std::unique_ptr<e2e::Pipeline> make_again() { return make(next); }

private:
   std::unique_ptr<e2e::Pipeline> make(uint32_t number)
   {
      auto pipeline =
         std::make_unique<e2e::Pipeline>(device, spirv,
                                         e2e::PipelineOptions{.bindings = {1, 1, 1},
                                                              .push_bytes = sizeof(GemmPush),
                                                              .subgroup_size = gemm_subgroup,
                                                              .spec_constants = {{0, number}}});
      const GemmPush push = {.m = 0, .n = number, .k = 0}; // with which it does nothing
      pipeline->dispatch({nothing, nothing, nothing}, {1, 1, 1}, push);
      return pipeline;
   }

   e2e::Device &device;
   e2e::Buffer nothing;
   std::vector<uint32_t> spirv;
   uint32_t next;
};

} // namespace

void register_pipelines(e2e::Device &device)
{
   benchmark::RegisterBenchmark("pipeline/cold", [&](benchmark::State &bench) {
      Maker maker(device);
      for (auto _ : bench)
         maker.make_new();
      bench.counters["s"] = time_of_each(1);
   })->UseRealTime();

   benchmark::RegisterBenchmark("pipeline/warm", [&](benchmark::State &bench) {
      Maker maker(device);
      maker.make_new();
      for (auto _ : bench)
         maker.make_again();
      bench.counters["s"] = time_of_each(1);
   })->UseRealTime();

   benchmark::RegisterBenchmark("pipeline/memory", [&](benchmark::State &bench) {
      Maker maker(device);
      maker.make_new(); // and what the first one leaves behind
      std::vector<std::unique_ptr<e2e::Pipeline>> kept;
      for (auto _ : bench) {
         const size_t before = resident_bytes();
         for (uint32_t i = 0; i < kept_pipelines; i++)
            kept.push_back(maker.make_new());
         const double bytes = double(resident_bytes()) - double(before);
         bench.counters["bytes"] = bytes / kept_pipelines;
      }
   })->Iterations(1);
}

} // namespace weft::bench
