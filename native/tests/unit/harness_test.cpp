// Parameters, the job file, the clock and the texts of /proc.
#include "harness/clock.hpp"
#include "harness/job.hpp"
#include "harness/kernel.hpp"
#include "harness/proc_text.hpp"
#include "harness/sampler.hpp"
#include "tests/unit/check.hpp"

using namespace assay;

namespace {

Parameters given() {
  return Parameters(
      {{"n", std::int64_t{7}}, {"x", 2.5}, {"whole", 4.0}, {"op", std::string("copy")}});
}

const std::string kOrder =
    R"({"measurement":"m1","kernel":"k","parameters":{"n":3,"x":1.5,"w":"a"},"precision":0.01,)"
    R"("confidence":0.95,"budget":2,"min_samples":5,"max_samples":10})";

std::string job_with(
    const std::string& orders,
    const std::string& head = R"("schema":1,"job":"j","threads":2,"binding":"spread","seed":9)") {
  return "{" + head + R"(,"measurements":[)" + orders + "]}";
}

std::string replaced(std::string text, const std::string& part, const std::string& other) {
  const std::size_t at = text.find(part);
  CHECK(at != std::string::npos);
  return text.replace(at, part.size(), other);
}

}  // namespace

TEST(parameters_are_read_and_recorded) {
  Parameters parameters = given();
  CHECK_EQUAL(parameters.integer("n", 1), 7);
  CHECK_EQUAL(parameters.integer("absent", 5), 5);
  CHECK_EQUAL(parameters.integer("whole", 1), 4);
  CHECK_EQUAL(parameters.real("n", 0.0), 7.0);
  CHECK_EQUAL(parameters.real("x", 0.0), 2.5);
  CHECK_EQUAL(parameters.choice("op", "triad", {"copy", "triad"}), "copy");
  CHECK_EQUAL(std::get<std::int64_t>(parameters.resolved().at("absent")), 5);
  parameters.resolve("absent", std::int64_t{6});
  CHECK_EQUAL(std::get<std::int64_t>(parameters.resolved().at("absent")), 6);
  CHECK(parameters.unread().empty());
}

TEST(parameters_nobody_reads_are_named) {
  Parameters parameters = given();
  parameters.integer("n", 1);
  parameters.real("x", 1.0);
  parameters.integer("whole", 1);
  CHECK_EQUAL(parameters.unread().size(), 1u);
  CHECK_EQUAL(parameters.unread()[0], "op");
}

TEST(parameters_of_the_wrong_kind_are_errors) {
  Parameters parameters = given();
  CHECK_THROWS(parameters.integer("x", 1), KernelError, "'x' must be an integer");
  CHECK_THROWS(parameters.integer("op", 1), KernelError, "'op' must be an integer");
  CHECK_THROWS(parameters.real("op", 1), KernelError, "'op' must be a number");
  CHECK_THROWS(parameters.text("n", ""), KernelError, "'n' must be a word");
  CHECK_THROWS(parameters.choice("op", "a", {"a", "b"}), KernelError, "valid are: a, b");
}

TEST(job_is_read) {
  const Job job = parse_job(job_with(kOrder));
  CHECK_EQUAL(job.job, "j");
  CHECK_EQUAL(job.threads, 2);
  CHECK(job.binding.kind == Binding::kSpread);
  CHECK_EQUAL(job.binding.numa_node, -1);
  CHECK(!job.binding.share_cores);
  CHECK_EQUAL(job.seed, 9u);
  CHECK_EQUAL(job.measurements.size(), 1u);
  const Order& order = job.measurements[0];
  CHECK_EQUAL(order.kernel, "k");
  CHECK_EQUAL(std::get<std::int64_t>(order.parameters.at("n")), 3);
  CHECK_EQUAL(std::get<double>(order.parameters.at("x")), 1.5);
  CHECK_EQUAL(std::get<std::string>(order.parameters.at("w")), "a");
  CHECK_EQUAL(order.limits.budget, 2.0);
  CHECK_EQUAL(order.limits.max_samples, 10);
}

TEST(wrong_jobs_say_what_is_wrong_and_where) {
  const auto parse = [](const std::string& text) { parse_job(text); };
  CHECK_THROWS(parse("{"), JobError, "not JSON");
  CHECK_THROWS(parse("[]"), JobError, "must be a JSON object");
  CHECK_THROWS(parse("{}"), JobError, "'schema' is missing");
  CHECK_THROWS(parse(R"({"schema":2})"), JobError, "schema 2, and this program reads schema 1");
  const std::string good = job_with(kOrder);
  const auto wrong = [&](const std::string& part, const std::string& other) {
    return replaced(good, part, other);
  };
  CHECK_THROWS(parse(wrong("spread", "tight")), JobError, "'tight'; valid are: compact");
  const std::string shared = "\"seed\":9,\"smt\":\"on\"";
  CHECK(parse_job(replaced(good, "\"seed\":9", shared)).binding.share_cores);
  CHECK_THROWS(parse(wrong("\"seed\":9", "\"seed\":9,\"smt\":\"yes\"")), JobError,
               "'smt' must be on or off, not 'yes'");
  CHECK_THROWS(parse(wrong("\"threads\":2", "\"threads\":0")), JobError, "'threads' must be");
  CHECK_THROWS(parse(wrong("\"seed\":9", "\"seed\":1e3")), JobError, "'seed' must be an integer");
  CHECK_THROWS(parse(wrong("\"n\":3", "\"n\":true")), JobError,
               "measurements[0]: parameter 'n' must be a number or a string");
  CHECK_THROWS(parse(wrong("\"n\":3", "\"n\":18446744073709551615")), JobError, "'n' must be");
  CHECK_THROWS(parse(wrong("\"kernel\":\"k\",", "")), JobError,
               "measurements[0]: the key 'kernel' is missing");
  CHECK_THROWS(parse(wrong("0.01", "0")), JobError, "'precision' must be greater than 0");
  CHECK_THROWS(parse(wrong("0.95", "1.0")), JobError, "'confidence' must lie between 0 and 1");
  CHECK_THROWS(parse(wrong("\"budget\":2", "\"budget\":-2")), JobError, "'budget'");
  CHECK_THROWS(parse(wrong("\"max_samples\":10", "\"max_samples\":4")), JobError,
               "'max_samples' must be an integer from 5");
  CHECK_THROWS(parse(job_with(kOrder + "," + kOrder)), JobError,
               "measurements[1]: measurement 'm1' occurs twice");
  CHECK_THROWS(read_job("/nonexistent/job.json"), JobError, "No such file");
}

TEST(clock_knows_itself) {
  const ClockQuality clock = measure_clock();
  CHECK(clock.overhead > 0.0 && clock.overhead < 1e-3);
  CHECK(clock.resolution > 0.0 && clock.resolution < 0.1);
  const auto rate = clock_rate();
  if (rate) CHECK(*rate > 1e8 && *rate < 1e10);
}

TEST(samples_last_long_enough_for_the_clock) {
  CHECK_NEAR(least_sample({20e-9, 1e-9}, 0.01), 20e-6, 1e-12);
  CHECK_NEAR(least_sample({1e-9, 30e-9}, 0.01), 30e-6, 1e-12);
  CHECK_NEAR(least_sample({20e-9, 20e-9}, 0.001), 200e-6, 1e-12);
  CHECK_NEAR(least_sample({1e-9, 1e-9}, 0.01), 10e-6, 1e-12);
}

TEST(texts_of_proc_are_read) {
  const auto cpu = numbers_after("cpu  6835 0 2936\ncpu0 1 2 3\n", "cpu ");
  CHECK_EQUAL(cpu.size(), 3u);
  CHECK_EQUAL(cpu[0], 6835.0);
  const auto memory = numbers_after("MemTotal: 5 kB\nMemAvailable:   1024 kB\n", "MemAvailable:");
  CHECK_EQUAL(memory.size(), 1u);
  CHECK_EQUAL(memory[0], 1024.0);
  CHECK(numbers_after("a 1\n", "b").empty());
  CHECK(numbers_after("", "b").empty());
  CHECK_EQUAL(*first_number("0.25 0.5\n"), 0.25);
  CHECK(!first_number("").has_value());
  const std::string snmp =
      "Ip: A RetransSegs\nIp: 8 9\nTcp: RtoMin MaxConn RetransSegs InErrs\nTcp: 200 -1 42 7\n";
  CHECK_EQUAL(*tcp_retransmits(snmp), 42.0);
  CHECK(!tcp_retransmits("Tcp: A B\nTcp: 1 2\n").has_value());
  CHECK(!tcp_retransmits("Udp: RetransSegs\nUdp: 1\n").has_value());
}
