// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Other SPIR-V for the same shader than glslang writes: by SPIRV-Tools' optimizer, or rewritten
/// with its values in other places, as other compilers may have them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::forms {

enum class Form : uint8_t {
   glslang,     ///< as it is
   performance, ///< spirv-opt -O
   size,        ///< spirv-opt -Os
   values,      ///< variables become values, among them composites that hold matrices
   variables,   ///< the same, and then values become variables again
};

struct NamedForm {
   std::string_view name;
   Form form;
};
inline constexpr std::array<NamedForm, 5> all_forms = {{
   {"glslang", Form::glslang},
   {"O", Form::performance},
   {"Os", Form::size},
   {"values", Form::values},
   {"variables", Form::variables},
}};

std::string_view name(Form);
std::optional<Form> find_form(std::string_view name);

/// A module in another form. A seed decides the rewriting of each place. Throws std::runtime_error
/// with the reason if the result is not valid.
std::vector<uint32_t> in_form(std::span<const uint32_t> spirv, Form, uint64_t seed);

/// The reason why a module is not valid for Vulkan 1.3, or nothing.
std::optional<std::string> find_fault(std::span<const uint32_t> spirv);

/// A seed that is the same for the same module.
uint64_t seed_of(std::span<const uint32_t> spirv);

} // namespace weft::forms
