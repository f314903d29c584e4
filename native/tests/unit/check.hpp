// A minimal test framework: TEST registers, CHECK counts, main() runs all.
#pragma once

#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace check {

struct Test {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Register {
  Register(const char* name, std::function<void()> body) { tests().push_back({name, body}); }
};

inline void report(bool good, const char* file, int line, const std::string& what) {
  if (good) return;
  ++failures();
  std::cerr << file << ":" << line << ": " << what << "\n";
}

template <typename A, typename B>
void equal(const A& found, const B& wanted, const char* file, int line, const char* what) {
  if (found == wanted) return;
  ++failures();
  std::cerr << file << ":" << line << ": " << what << " is " << found << ", wanted " << wanted
            << "\n";
}

}  // namespace check

#define TEST(name)                                                 \
  static void test_##name();                                       \
  static const check::Register test_of_##name(#name, test_##name); \
  static void test_##name()
#define CHECK(condition) check::report(condition, __FILE__, __LINE__, #condition)
#define CHECK_EQUAL(found, wanted) check::equal(found, wanted, __FILE__, __LINE__, #found)
#define CHECK_NEAR(found, wanted, tolerance)                                     \
  check::report(std::abs((found) - (wanted)) <= (tolerance), __FILE__, __LINE__, \
                #found " is " + std::to_string(found) + ", wanted " + std::to_string(wanted))
// The message of the exception that `expression` throws must contain `part`.
#define CHECK_THROWS(expression, type, part)                                                     \
  try {                                                                                          \
    expression;                                                                                  \
    check::report(false, __FILE__, __LINE__, #expression " does not throw");                     \
  } catch (const type& error) {                                                                  \
    check::report(std::string(error.what()).find(part) != std::string::npos, __FILE__, __LINE__, \
                  std::string("the message is '") + error.what() + "'");                         \
  }
