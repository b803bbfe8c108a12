// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/cpu/later_refusals.h"
#include "backend/cpu/passes.h"

#include <gtest/gtest.h>

namespace weft::test {

/// All passes. The first part must announce the errors of the second one.
inline Result<Shader> lower_in_two_parts(const ShaderSource &source,
                                         const cpu::PassOptions &options)
{
   Result<Shader> shader = cpu::read_for_cpu(source, options);
   if (!shader)
      return shader;
   const bool is_announced = cpu::may_be_refused_later(shader->get(), options.bindings);
   Result<Shader> finished = cpu::finish_for_cpu(std::move(*shader), options);
   EXPECT_TRUE(finished || is_announced) << finished.error().message;
   return finished;
}

} // namespace weft::test
