#include "check/answers.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace assay::check {
namespace {

void write_quiet(JsonWriter& json, const Quiet& quiet) {
  json.key("quiet").begin_object();
  json.field("others", quiet.others);
  json.field("steal", quiet.steal);
  json.field("held_back", quiet.held_back);
  json.key("throttled");
  if (quiet.throttled) {
    json.value(static_cast<std::int64_t>(*quiet.throttled));
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

void say(const JsonWriter& json) {
  const std::string line = json.text() + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t now = write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) _exit(kExitFailed);
    done += static_cast<std::size_t>(now);
  }
}

void say_text(const char* name, const std::string& words) {
  JsonWriter json;
  json.begin_object().field(name, words).end_object();
  say(json);
}

void say_answer(const Order& order, const Measured& measured, const std::string& failed,
                double span, const Quiet& quiet) {
  JsonWriter json;
  json.begin_object();
  json.field("component", order.component);
  json.field("values", measured.values);
  json.field("cpus", measured.cpus);
  json.field("seconds", span);
  json.field("verified", failed.empty() ? measured.verified : true);
  json.field("failed", failed);
  write_quiet(json, quiet);
  json.end_object();
  say(json);
}

}  // namespace assay::check
