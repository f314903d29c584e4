#include "harness/job.hpp"

#include <cerrno>
#include <cstring>
#include <limits>
#include <set>

#include "harness/json_reader.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw JobError((where.empty() ? "" : where + ": ") + what);
}

const Json& member(const Json& object, const std::string& name, const std::string& where) {
  const Json* found = object.find(name);
  if (!found) wrong(where, "the key '" + name + "' is missing");
  return *found;
}

std::string text(const Json& object, const std::string& name, const std::string& where) {
  const Json& found = member(object, name, where);
  if (!found.is(Json::Kind::kString)) wrong(where, "'" + name + "' must be a string");
  return found.text;
}

double real(const Json& object, const std::string& name, const std::string& where) {
  const Json& found = member(object, name, where);
  if (!found.is_number()) wrong(where, "'" + name + "' must be a number");
  return found.real;
}

std::int64_t whole(const Json& found, const std::string& name, const std::string& where,
                   std::int64_t low, std::int64_t high) {
  if (!found.is(Json::Kind::kInteger) || !found.fits || found.integer < low ||
      found.integer > high) {
    wrong(where, "'" + name + "' must be an integer from " + std::to_string(low) + " to " +
                     std::to_string(high));
  }
  return found.integer;
}

std::int64_t integer(const Json& object, const std::string& name, const std::string& where,
                     std::int64_t low, std::int64_t high) {
  return whole(member(object, name, where), name, where, low, high);
}

std::map<std::string, Value> parameters(const Json& order, const std::string& where) {
  const Json& given = member(order, "parameters", where);
  if (!given.is(Json::Kind::kObject)) wrong(where, "'parameters' must be an object");
  std::map<std::string, Value> values;
  for (std::size_t i = 0; i < given.names.size(); ++i) {
    const Json& value = given.items[i];
    Value& kept = values[given.names[i]];
    if (value.is(Json::Kind::kString)) {
      kept = value.text;
    } else if (value.is(Json::Kind::kReal)) {
      kept = value.real;
    } else if (value.is(Json::Kind::kInteger)) {
      kept = whole(value, given.names[i], where, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max());
    } else {
      wrong(where, "parameter '" + given.names[i] + "' must be a number or a string");
    }
  }
  return values;
}

Order order(const Json& given, const std::string& where) {
  if (!given.is(Json::Kind::kObject)) wrong(where, "must be an object");
  Order order;
  order.measurement = text(given, "measurement", where);
  order.kernel = text(given, "kernel", where);
  order.parameters = parameters(given, where);
  Limits& limits = order.limits;
  constexpr std::int64_t kMost = 100'000'000;  // samples; 0.8 GB a rank
  limits.precision = real(given, "precision", where);
  limits.confidence = real(given, "confidence", where);
  limits.budget = real(given, "budget", where);
  limits.min_samples = integer(given, "min_samples", where, 1, kMost);
  limits.max_samples = integer(given, "max_samples", where, limits.min_samples, kMost);
  if (!(limits.precision > 0)) wrong(where, "'precision' must be greater than 0");
  if (!(limits.confidence > 0 && limits.confidence < 1)) {
    wrong(where, "'confidence' must lie between 0 and 1");
  }
  if (!(limits.budget >= 0)) wrong(where, "'budget' must not be negative");
  if (given.find("longest")) order.longest = real(given, "longest", where);
  if (!(order.longest > 0)) wrong(where, "'longest' must be greater than 0");
  return order;
}

Binding binding(const Json& job) {
  const std::string word = text(job, "binding", "");
  std::optional<Binding> found = parse_binding(word);
  if (!found) {
    wrong("", "'binding' can't be '" + word +
                  "'; valid are: compact, spread, per-numa, near-device, none, numa:NODE");
  }
  if (job.find("smt")) {
    const std::string smt = text(job, "smt", "");
    if (smt != "on" && smt != "off") wrong("", "'smt' must be on or off, not '" + smt + "'");
    found->share_cores = smt == "on";
  }
  return *found;
}

}  // namespace

Job parse_job(const std::string& content) {
  Json given;
  try {
    given = parse_json(content);
  } catch (const JsonError& error) {
    throw JobError(error.what() + (" (byte " + std::to_string(error.byte) + ")"));
  }
  if (!given.is(Json::Kind::kObject)) throw JobError("it must be a JSON object");
  const Json& schema = member(given, "schema", "");
  if (!schema.is(Json::Kind::kInteger) || schema.integer != kJobSchema) {
    throw JobError("it has schema " + std::string(schema.source) +
                   ", and this program reads schema " + std::to_string(kJobSchema));
  }
  Job job;
  job.job = text(given, "job", "");
  job.threads = static_cast<int>(integer(given, "threads", "", 1, 65536));
  job.binding = binding(given);
  job.seed = static_cast<std::uint64_t>(
      integer(given, "seed", "", 0, std::numeric_limits<std::int64_t>::max()));
  if (given.find("order")) job.order = text(given, "order", "");
  if (given.find("devices"))
    job.devices = static_cast<int>(integer(given, "devices", "", 0, 65536));
  const Json& orders = member(given, "measurements", "");
  if (!orders.is(Json::Kind::kArray)) throw JobError("'measurements' must be an array");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < orders.items.size(); ++i) {
    const std::string where = "measurements[" + std::to_string(i) + "]";
    job.measurements.push_back(order(orders.items[i], where));
    if (!seen.insert(job.measurements.back().measurement).second) {
      wrong(where, "measurement '" + job.measurements.back().measurement + "' occurs twice");
    }
  }
  return job;
}

std::string read_job(const std::string& path) {
  std::optional<std::string> text = read_text(path);
  if (!text) throw JobError(std::string("it can't be read: ") + std::strerror(errno));
  return *std::move(text);
}

}  // namespace assay
