// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The cost of a barrier and of a dispatch.

#include "backend/cpu/runtime/executor.h"
#include "tests/backend/cpu/handwritten_program.h"

#include <benchmark/benchmark.h>

namespace weft::cpu {
namespace {

constexpr int barriers = 1000;

bool many_barriers(const DispatchState *, WorkgroupState *group, uint32_t)
{
   for (int i = 0; i < barriers; i++)
      group->barrier(group);
   return true;
}

/// Time per barrier and subgroup.
void barrier(benchmark::State &bench)
{
   const uint32_t subgroups = bench.range(0);
   Executor executor(1);
   const HandwrittenProgram program(many_barriers, program_info(subgroups, true));
   const DispatchState state = {};
   for (auto _ : bench)
      executor.dispatch(program, state, {1, 1, 1});
   bench.counters["each"] = benchmark::Counter(double(barriers) * subgroups,
                                               benchmark::Counter::kIsIterationInvariantRate |
                                                  benchmark::Counter::kInvert);
}
BENCHMARK(barrier)->Arg(2)->Arg(8)->Arg(32)->Arg(128);

bool nothing(const DispatchState *, WorkgroupState *, uint32_t)
{
   return true;
}

/// Time per dispatch of that many empty workgroups, with that many threads.
void dispatch(benchmark::State &bench)
{
   Executor executor(bench.range(1));
   const HandwrittenProgram program(nothing, program_info(4, bench.range(2)));
   const DispatchState state = {};
   const uint32_t groups = bench.range(0);
   for (auto _ : bench)
      executor.dispatch(program, state, {groups, 1, 1});
   bench.counters["each"] = benchmark::Counter(
      groups, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(dispatch)
   ->ArgNames({"groups", "threads", "barriers"})
   ->ArgsProduct({{1, 2, 64, 10000}, {1, 2}, {0, 1}})
   ->UseRealTime();

} // namespace
} // namespace weft::cpu

BENCHMARK_MAIN();
