#include "harness/json_reader.hpp"

#include <bit>
#include <initializer_list>
#include <random>
#include <string>

#include "harness/json_writer.hpp"
#include "tests/unit/check.hpp"

using assay::Json;
using assay::JsonError;
using assay::JsonWriter;
using assay::parse_json;

namespace {

std::size_t byte_of_error(const std::string& text) {
  try {
    parse_json(text);
  } catch (const JsonError& error) {
    return error.byte;
  }
  return 0;
}

}  // namespace

TEST(json_values_have_their_kinds) {
  const std::string text =
      R"( {"n": null, "t": true, "f": false, "i": -12, "r": 2.5e-1, "s": "x", "a": [1, [ ], {}]} )";
  const Json json = parse_json(text);
  CHECK(json.is(Json::Kind::kObject));
  CHECK(json.find("n")->is(Json::Kind::kNull));
  CHECK(json.find("t")->is(Json::Kind::kBoolean) && json.find("t")->integer == 1);
  CHECK(json.find("f")->is(Json::Kind::kBoolean) && json.find("f")->integer == 0);
  CHECK(json.find("i")->is(Json::Kind::kInteger) && json.find("i")->integer == -12);
  CHECK_EQUAL(json.find("i")->real, -12.0);
  CHECK(json.find("r")->is(Json::Kind::kReal) && json.find("r")->real == 0.25);
  CHECK_EQUAL(json.find("s")->text, "x");
  CHECK_EQUAL(json.find("a")->items.size(), 3u);
  CHECK_EQUAL(json.find("a")->source, "[1, [ ], {}]");
  CHECK(json.find("z") == nullptr);
  CHECK_EQUAL(parse_json(R"({"a": 1, "a": 2})").find("a")->integer, 2);
}

TEST(json_numbers_and_strings_read_back) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const auto whole = static_cast<std::int64_t>(random());
    CHECK_EQUAL(parse_json(JsonWriter().value(whole).text()).integer, whole);
    const double real = std::bit_cast<double>(random());
    if (!std::isfinite(real)) continue;
    const Json read = parse_json(JsonWriter().value(real).text());
    CHECK(std::bit_cast<std::uint64_t>(read.real) == std::bit_cast<std::uint64_t>(real));
  }
  for (const std::string text : {"a\"b\\c", "tab\there\n\x01", "caf\xc3\xa9 \xf0\x9f\x98\x80"}) {
    CHECK_EQUAL(parse_json(JsonWriter().value(text).text()).text, text);
  }
  CHECK_EQUAL(parse_json(R"("\/\b\f\r\u00e9\u20AC\uD83D\uDE00")").text,
              "/\b\f\r\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(json_errors_name_their_place) {
  CHECK_EQUAL(byte_of_error("not json"), 1u);
  CHECK_EQUAL(byte_of_error(""), 1u);
  CHECK_EQUAL(byte_of_error("{\"a\": 1,}"), 9u);
  for (const char* text :
       {"{",           "[1,]",     "[1 2]",    "{\"a\" 1}", "{a: 1}",      "01",
        "-",           "1.",       ".5",       "1e",        "+1",          "tru",
        "nan",         "Infinity", "\"open",   "\"\\x\"",   "\"\\u12g4\"", "\"\\ud800\"",
        "\"\\udc00\"", "\"\xff\"", "\"a\nb\"", "1 1",       "[1]]"}) {
    CHECK(byte_of_error(text) > 0);
  }
  CHECK(parse_json("-9223372036854775808").fits);
  CHECK(!parse_json("9223372036854775808").fits);
  CHECK_THROWS(parse_json("1e999"), JsonError, "out of range");
  CHECK_THROWS(parse_json(std::string(100, '[')), JsonError, "too deeply");
}
