// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "bench/driver/benchmarks.h"

#include "tests/e2e/glsl.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

namespace weft::bench {

namespace {

constexpr uint32_t repetitions = 1000;
constexpr size_t copied_bytes = 64 << 20;

const char *const empty_shader = "layout(local_size_x = 128) in;\nvoid main() {}\n";

/// Shared memory must contain data that the barriers order.
const char *const barrier_shader = R"(
layout(local_size_x = 128) in;
layout(push_constant, std430) uniform Push { uint count; } push;
layout(binding = 0, std430) buffer Data { uint data[]; } result;
shared uint number[128];
void main()
{
   number[gl_LocalInvocationIndex] = 0;
   for (uint i = 0; i < push.count; i++) {
      number[(gl_LocalInvocationIndex + i) % 128]++;
      barrier();
   }
   result.data[gl_LocalInvocationIndex] = number[gl_LocalInvocationIndex];
}
)";

const char *const copy_shader = R"(
layout(local_size_x = 256) in;
layout(binding = 0, std430) readonly buffer From { uvec4 data[]; } from;
layout(binding = 1, std430) writeonly buffer To { uvec4 data[]; } to;
void main()
{
   to.data[gl_GlobalInvocationID.x] = from.data[gl_GlobalInvocationID.x];
}
)";

std::unique_ptr<e2e::Pipeline> make_pipeline(e2e::Device &device, const char *shader,
                                             std::vector<uint32_t> bindings,
                                             uint32_t push_bytes = 0)
{
   return std::make_unique<e2e::Pipeline>(device,
                                          e2e::compile_glsl(std::string(e2e::glsl_header) + shader),
                                          e2e::PipelineOptions{.bindings = std::move(bindings),
                                                               .push_bytes = push_bytes,
                                                               .subgroup_size = 0,
                                                               .spec_constants = {}});
}

} // namespace

void register_commands(e2e::Device &device)
{
   benchmark::RegisterBenchmark("dispatch/submit_and_wait", [&](benchmark::State &bench) {
      const auto pipeline = make_pipeline(device, empty_shader, {});
      for (auto _ : bench)
         pipeline->dispatch({});
      bench.counters["s"] = time_of_each(1);
   })->UseRealTime();

   benchmark::RegisterBenchmark("dispatch/next_after_a_barrier", [&](benchmark::State &bench) {
      const auto pipeline = make_pipeline(device, empty_shader, {});
      for (auto _ : bench)
         pipeline->dispatch({}, {1, 1, 1}, {}, repetitions);
      bench.counters["s"] = time_of_each(repetitions);
   })->UseRealTime();

   benchmark::RegisterBenchmark("barrier/4_subgroups", [&](benchmark::State &bench) {
      const auto pipeline = make_pipeline(device, barrier_shader, {1}, sizeof(uint32_t));
      e2e::Buffer result(device, 128 * sizeof(uint32_t));
      for (auto _ : bench)
         pipeline->dispatch({result}, {}, repetitions);
      for (const uint32_t number : result.as<uint32_t>()) {
         if (number != repetitions)
            throw std::runtime_error("a wrong result");
      }
      bench.counters["s"] = time_of_each(repetitions);
   })->UseRealTime();

   benchmark::RegisterBenchmark("copy/kernel", [&](benchmark::State &bench) {
      const auto pipeline = make_pipeline(device, copy_shader, {1, 1});
      e2e::Buffer from(device, copied_bytes), to(device, copied_bytes);
      memset(from.bytes().data(), 0x5a, copied_bytes);
      memset(to.bytes().data(), 0, copied_bytes);
      for (auto _ : bench)
         pipeline->dispatch({from, to}, {uint32_t(copied_bytes / 16 / 256), 1, 1});
      if (memcmp(from.bytes().data(), to.bytes().data(), copied_bytes))
         throw std::runtime_error("a wrong result");
      bench.SetBytesProcessed(int64_t(copied_bytes) * bench.iterations());
   })->UseRealTime();

   // Each thread copies its own part.
   benchmark::RegisterBenchmark("copy/memcpy",
                                [](benchmark::State &bench) {
                                   const size_t bytes = copied_bytes / bench.threads();
                                   std::vector<char> from(bytes, 0x5a), to(bytes);
                                   for (auto _ : bench) {
                                      memcpy(to.data(), from.data(), bytes);
                                      benchmark::ClobberMemory();
                                   }
                                   bench.SetBytesProcessed(int64_t(bytes) * bench.iterations());
                                })
      ->UseRealTime()
      ->Threads(1)
      ->Threads(int(std::thread::hardware_concurrency()));
}

} // namespace weft::bench
