// SPDX-License-Identifier: MIT
// Prints the cases of gpuocelot's TestPTXAssembly: it is compiled together with that file of the reader's checkout.
// Each case is a line of JSON: the PTX, the launch, the bytes of the input, and the bytes that its own reference gives.

#include <cstdio>
#include <cstring>
#include <functional>
#include <math.h>
#include <unordered_map>
#undef issubnormal
#define main main_of_the_suite
#include <ocelot/ir/test/TestPTXAssembly.cpp>
#undef main

static void text(const char* name, const std::string& value) {
  std::printf("\"%s\": \"", name);
  for (unsigned char x : value)
    if (x == '"' || x == '\\' || x < 32 || x > 126) std::printf("\\u%04x", x);
    else std::putchar(x);
  std::printf("\", ");
}

static std::string hexadecimal(const std::vector<char>& bytes) {
  std::string found;
  char two[3];
  for (unsigned char x : bytes) std::snprintf(two, sizeof two, "%02x", x), found += two;
  return found;
}

static std::string types(const test::TestPTXAssembly::TypeVector& given) {
  std::string found;
  for (auto x : given) found += "bhiqfd"[x];
  return found;
}

// The size as the suite computes it: aligned for each type.
static unsigned bytes(const test::TestPTXAssembly::TypeVector& given) {
  unsigned size = 0;
  for (auto x : given) {
    unsigned one = test::TestPTXAssembly::bytes(x);
    size = (size + one - 1) / one * one + one;
  }
  return size;
}

int main(int, char** arguments) {
  unsigned seeds = std::atoi(arguments[1]);
  test::TestPTXAssembly suite;
  suite.enumerate = suite.print = false;
  suite._loadTests(ir::Instruction::Emulated);
  for (auto& x : suite._tests)
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      suite.random.seed(seed);
      unsigned size = bytes(x.inputTypes);
      // References read beyond the input in a few cases, and the generators say how much there is only in their type.
      char* drawn = x.generator(suite.random);
      std::vector<char> input(drawn, drawn + size), output(bytes(x.outputTypes));
      std::vector<char> expected(output.size() + 64);
      x.reference(expected.data(), drawn);
      expected.resize(output.size());
      std::printf("{");
      text("name", x.name);
      text("ptx", x.ptx);
      text("input", hexadecimal(input));
      text("expected", hexadecimal(expected));
      text("results", types(x.outputTypes));
      std::printf("\"seed\": %u, \"threads\": %u, \"blocks\": %u, \"epsilon\": %d}\n", seed, x.threads, x.ctas, x.epsilon);
    }
}
