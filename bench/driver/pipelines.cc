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

/// Resident memory of the process.
size_t resident_bytes()
{
   malloc_trim(0);
   size_t size = 0, resident = 0;
   std::ifstream("/proc/self/statm") >> size >> resident;
   return resident * size_t(sysconf(_SC_PAGESIZE));
}

/// Creates pipelines of a GEMM and makes each ready to run, which vkCreateComputePipelines does not
/// guarantee. Each uses a new number, so that no cache contains it.
class Maker {
public:
   explicit Maker(e2e::Device &device)
       : device(device), nothing(device, sizeof(uint32_t)),
         spirv(e2e::compile_glsl(gemm_shader({16, 16, 16, ComponentType::f16, ComponentType::f16,
                                              ComponentType::f32, ComponentType::f32, false}))),
         // The shader compares the number with a matrix size; it exceeds all sizes.
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
      const GemmPush push = {.m = 0, .n = number, .k = 0}; // the shader does nothing for this size
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
      maker.make_new(); // creates state that all later pipelines share
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
