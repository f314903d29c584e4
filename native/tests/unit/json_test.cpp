#include <bit>
#include <cstdlib>
#include <limits>
#include <random>

#include "harness/json_writer.hpp"
#include "tests/unit/check.hpp"

using assay::JsonWriter;
using assay::Value;

namespace {

template <typename T>
std::string json(const T& value) {
  return JsonWriter().value(value).text();
}

}  // namespace

TEST(json_doubles_read_back_exactly) {
  std::mt19937_64 random(1);
  int finite = 0;
  for (int i = 0; i < 20000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    ++finite;
    const double back = std::strtod(json(number).c_str(), nullptr);
    CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(number));
  }
  CHECK(finite > 19000);
  CHECK_EQUAL(json(0.1), "0.1");
  CHECK_EQUAL(json(5.0), "5.0");
  CHECK_EQUAL(json(-0.0), "-0.0");
  CHECK_EQUAL(json(1e-9), "1e-09");
}

TEST(json_has_null_for_what_is_no_number) {
  CHECK_EQUAL(json(std::numeric_limits<double>::quiet_NaN()), "null");
  CHECK_EQUAL(json(std::numeric_limits<double>::infinity()), "null");
  CHECK_EQUAL(json(-std::numeric_limits<double>::infinity()), "null");
  CHECK_EQUAL(json(std::optional<double>()), "null");
}

TEST(json_strings_are_escaped_and_valid) {
  CHECK_EQUAL(json("a\"b\\c"), "\"a\\\"b\\\\c\"");
  CHECK_EQUAL(json("tab\there\n"), "\"tab\\u0009here\\u000a\"");
  CHECK_EQUAL(json("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  const std::string replaced = "\"\xef\xbf\xbd\"";
  CHECK_EQUAL(json("\xff"), replaced);
  CHECK_EQUAL(json("\xc3"), replaced);                       // cut off
  CHECK_EQUAL(json("\xc0\x80").size(), 2 + 2 * 3u);          // an overlong form
  CHECK_EQUAL(json("\xed\xa0\x80").size(), 2 + 3 * 3u);      // a surrogate
  CHECK_EQUAL(json("\xf4\x90\x80\x80").size(), 2 + 4 * 3u);  // beyond U+10FFFF
}

TEST(json_nests_with_commas_where_they_belong) {
  JsonWriter writer;
  writer.begin_object().field("a", 1).key("b").begin_array().begin_object().end_object();
  writer.value(true).value("x").begin_array().end_array().end_array().key("c").null().end_object();
  CHECK_EQUAL(writer.text(), R"({"a":1,"b":[{},true,"x",[]],"c":null})");
  CHECK_EQUAL(json(std::vector<double>{1.5, 2.0}), "[1.5,2.0]");
  CHECK_EQUAL(json(std::map<std::string, Value>{{"n", std::int64_t{3}}, {"r", 2.0}, {"w", "x"}}),
              R"({"n":3,"r":2.0,"w":"x"})");
  CHECK_EQUAL(json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}
