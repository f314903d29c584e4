#include "harness/job.hpp"

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/text_file.hpp"

namespace assay {
namespace {

using nlohmann::json;

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw JobError((where.empty() ? "" : where + ": ") + what);
}

const json& member(const json& object, const std::string& name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end()) wrong(where, "the key '" + name + "' is missing");
  return *found;
}

std::string text(const json& object, const std::string& name, const std::string& where) {
  const json& found = member(object, name, where);
  if (!found.is_string()) wrong(where, "'" + name + "' must be a string");
  return found.get<std::string>();
}

double real(const json& object, const std::string& name, const std::string& where) {
  const json& found = member(object, name, where);
  if (!found.is_number()) wrong(where, "'" + name + "' must be a number");
  return found.get<double>();
}

std::int64_t integer(const json& object, const std::string& name, const std::string& where,
                     std::int64_t low, std::int64_t high) {
  const json& found = member(object, name, where);
  const bool fits =
      found.is_number_integer() &&
      (!found.is_number_unsigned() ||
       found.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits || found.get<std::int64_t>() < low || found.get<std::int64_t>() > high) {
    wrong(where, "'" + name + "' must be an integer from " + std::to_string(low) + " to " +
                     std::to_string(high));
  }
  return found.get<std::int64_t>();
}

std::map<std::string, Value> parameters(const json& order, const std::string& where) {
  const json& given = member(order, "parameters", where);
  if (!given.is_object()) wrong(where, "'parameters' must be an object");
  std::map<std::string, Value> values;
  for (const auto& [name, value] : given.items()) {
    if (value.is_string()) {
      values[name] = value.get<std::string>();
    } else if (value.is_number_float()) {
      values[name] = value.get<double>();
    } else {
      if (!value.is_number_integer()) {
        wrong(where, "parameter '" + name + "' must be a number or a string");
      }
      values[name] = integer(given, name, where, std::numeric_limits<std::int64_t>::min(),
                             std::numeric_limits<std::int64_t>::max());
    }
  }
  return values;
}

Order order(const json& given, const std::string& where) {
  if (!given.is_object()) wrong(where, "must be an object");
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
  if (given.contains("longest")) order.longest = real(given, "longest", where);
  if (!(order.longest > 0)) wrong(where, "'longest' must be greater than 0");
  return order;
}

Binding binding(const json& job) {
  const std::string word = text(job, "binding", "");
  std::optional<Binding> found = parse_binding(word);
  if (!found) {
    wrong("", "'binding' can't be '" + word +
                  "'; valid are: compact, spread, per-numa, none, numa:NODE");
  }
  if (job.contains("smt")) {
    const std::string smt = text(job, "smt", "");
    if (smt != "on" && smt != "off") wrong("", "'smt' must be on or off, not '" + smt + "'");
    found->share_cores = smt == "on";
  }
  return *found;
}

}  // namespace

Job parse_job(const std::string& content) {
  json given;
  try {
    given = json::parse(content);
  } catch (const json::parse_error& error) {
    throw JobError("it is not JSON (byte " + std::to_string(error.byte) + ")");
  }
  if (!given.is_object()) throw JobError("it must be a JSON object");
  const json& schema = member(given, "schema", "");
  if (schema != kJobSchema) {
    throw JobError("it has schema " + schema.dump() + ", and this program reads schema " +
                   std::to_string(kJobSchema));
  }
  Job job;
  job.job = text(given, "job", "");
  job.threads = static_cast<int>(integer(given, "threads", "", 1, 65536));
  job.binding = binding(given);
  job.seed = static_cast<std::uint64_t>(
      integer(given, "seed", "", 0, std::numeric_limits<std::int64_t>::max()));
  if (given.contains("order")) job.order = text(given, "order", "");
  const json& orders = member(given, "measurements", "");
  if (!orders.is_array()) throw JobError("'measurements' must be an array");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const std::string where = "measurements[" + std::to_string(i) + "]";
    job.measurements.push_back(order(orders[i], where));
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
