// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/modules/formula.h"

#include <cctype>
#include <cmath>
#include <stdexcept>

namespace weft::modules {

namespace {

/// Computes while it reads, by recursive descent.
class Evaluator {
public:
   Evaluator(std::string_view text, uint32_t i, const Lookup &lookup)
       : text(text), lookup(lookup), variables{{"i", i}}
   {
   }

   double run()
   {
      const double value = choice();
      if (!at_end())
         fail("the end");
      return value;
   }

private:
   [[noreturn]] void fail(const std::string &expected) const
   {
      throw std::runtime_error("formula \"" + std::string(text) + "\": expected " + expected +
                               " at character " + std::to_string(at));
   }

   void skip_blanks()
   {
      while (at < text.size() && text[at] == ' ')
         at++;
   }
   bool at_end()
   {
      skip_blanks();
      return at == text.size();
   }
   bool take(std::string_view token)
   {
      skip_blanks();
      if (!text.substr(at).starts_with(token))
         return false;
      at += token.size();
      return true;
   }
   void expect(std::string_view token)
   {
      if (!take(token))
         fail(std::string(token));
   }

   double choice()
   {
      const double condition = comparison();
      if (!take("?"))
         return condition;
      const double then = choice();
      expect(":");
      const double otherwise = choice();
      return condition != 0 ? then : otherwise;
   }

   double comparison()
   {
      const double left = sum();
      if (take("=="))
         return left == sum();
      if (take("!="))
         return left != sum();
      if (take("<"))
         return left < sum();
      return left;
   }

   double sum()
   {
      double value = product();
      for (;;) {
         if (take("+"))
            value += product();
         else if (take("-"))
            value -= product();
         else
            return value;
      }
   }

   double product()
   {
      double value = factor();
      for (;;) {
         if (take("*"))
            value *= factor();
         else if (take("/"))
            value = std::floor(value / factor());
         else if (take("%"))
            value = std::fmod(value, factor());
         else
            return value;
      }
   }

   double factor()
   {
      if (take("-"))
         return -factor();
      if (take("(")) {
         const double value = choice();
         expect(")");
         return value;
      }
      if (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
         return number();
      const std::string word = name();
      if (word == "sum")
         return repeated_sum();
      if (take("[")) {
         const double index = choice();
         expect("]");
         return lookup(word, index);
      }
      const auto variable = variables.find(word);
      if (variable == variables.end())
         fail("a variable, not " + word);
      return variable->second;
   }

   /// Parses the rest behind "sum": "(k < 16, …)".
   double repeated_sum()
   {
      expect("(");
      const std::string counter = name();
      expect("<");
      const double count = sum();
      expect(",");
      const size_t body = at;
      double total = 0;
      for (double k = 0; k < count; k++) {
         at = body;
         variables[counter] = k;
         total += choice();
      }
      expect(")");
      return total;
   }

   double number()
   {
      double value = 0;
      while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
         value = value * 10 + (text[at++] - '0');
      return value;
   }

   std::string name()
   {
      skip_blanks();
      const size_t begin = at;
      while (at < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
         at++;
      if (at == begin)
         fail("a number or a name");
      return std::string(text.substr(begin, at - begin));
   }

   const std::string_view text;
   const Lookup &lookup;
   std::map<std::string, double> variables;
   size_t at = 0;
};

} // namespace

double evaluate(std::string_view formula, uint32_t i, const Lookup &lookup)
{
   return Evaluator(formula, i, lookup).run();
}

} // namespace weft::modules
