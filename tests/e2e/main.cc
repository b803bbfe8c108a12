// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cases.h"
#include "tests/spirv_forms/forms.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace weft;

/// Adds the form of the last shader to messages about failures.
class FormOfFailures : public testing::EmptyTestEventListener {
public:
   explicit FormOfFailures(std::optional<forms::Form> form) : fixed(form) {}

   std::vector<uint32_t> change(std::span<const uint32_t> spirv)
   {
      const uint64_t seed = forms::seed_of(spirv);
      last = fixed.value_or(forms::all_forms[seed % forms::all_forms.size()].form);
      return forms::in_form(spirv, last, seed);
   }

private:
   const std::optional<forms::Form> fixed;
   forms::Form last = forms::Form::glslang;

   void OnTestPartResult(const testing::TestPartResult &result) override
   {
      if (result.failed())
         printf("the last shader has the form %s\n", std::string(forms::name(last)).c_str());
   }
};

/// WEFT_E2E_FORM: the form of all shaders; `any`: a random form for each shader.
bool set_form(const char *text)
{
   const std::optional<forms::Form> form = forms::find_form(text);
   if (!form && strcmp(text, "any") != 0)
      return false;
   auto *changer = new FormOfFailures(form);
   testing::UnitTest::GetInstance()->listeners().Append(changer);
   e2e::change_module = [changer](std::span<const uint32_t> spirv) {
      return changer->change(spirv);
   };
   return true;
}

} // namespace

int main(int argc, char **argv)
{
   testing::InitGoogleTest(&argc, argv);
   if (const char *text = getenv("WEFT_E2E_FORM"); text && !set_form(text)) {
      fprintf(stderr, "WEFT_E2E_FORM: no form %s\n", text);
      return 2;
   }
   testing::AddGlobalTestEnvironment(new weft::e2e::CaseEnvironment);
   return RUN_ALL_TESTS();
}
