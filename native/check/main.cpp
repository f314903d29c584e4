// assay-check: measures the parts of a node, each for the time that an order states.
//
// With --devices it measures the node's accelerators instead, so that a driver that hangs holds up
// no other measurement.
//
// It reads orders from standard input and answers each with a line of JSON. It ends at the end of
// the input, at its deadline, and with its parent. See src/assay/check/measuring/.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "check/answers.hpp"
#include "check/component.hpp"
#include "check/devices.hpp"
#include "check/orders.hpp"
#include "check/quiet.hpp"
#include "harness/clock.hpp"
#include "harness/json_writer.hpp"
#include "harness/test_build.hpp"
#include "processor/check.hpp"

namespace assay::check {
namespace {

constexpr int kProtocol = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDeadline = 4;

// Everything that the command line may state.
struct Options {
  Settings settings;
  double deadline = 0.0;  // s; 0: none
  long parent = 0;        // its process id; 0: any
  std::string devices;    // the backend whose devices are measured, instead of the processors
  double ready = 10.0;    // s, until the devices must be ready
  double patience = 2.0;  // s, with a device that doesn't answer
};

[[noreturn]] void end_with(int status, const std::string& words) {
  std::fprintf(stderr, "assay-check: %s\n", words.c_str());
  std::exit(status);
}

template <class Number>
Number number_of(std::string_view option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    end_with(kExitUsage, "the value '" + std::string(text) + "' of " + std::string(option) +
                             " is not a number in its range");
  }
  return value;
}

Options options_of(int count, char** words) {
  Options options;
  const char* const folder = std::getenv("TMPDIR");
  options.settings.scratch = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  options.settings.self = name.data();
  for (int i = 1; i < count; i += 2) {
    const std::string_view option = words[i];
    if (i + 1 == count)
      end_with(kExitUsage, "the option '" + std::string(option) + "' has no value");
    const std::string_view value = words[i + 1];
    if (option == "--scratch") {
      options.settings.scratch = value;
    } else if (option == "--partner") {
      options.settings.partner = value;
    } else if (option == "--self") {
      options.settings.self = value;
    } else if (option == "--port") {
      options.settings.port = number_of(option, value, 1, 65'535);
    } else if (option == "--wait") {
      options.settings.wait = number_of(option, value, 0.0, kMostSeconds);
    } else if (option == "--deadline") {
      options.deadline = number_of(option, value, 1e-3, 1e6);
    } else if (option == "--devices") {
      options.devices = value;
    } else if (option == "--ready") {
      options.ready = number_of(option, value, 0.0, 1e6);
    } else if (option == "--patience") {
      options.patience = number_of(option, value, 0.0, 1e6);
    } else if (option == "--parent") {
      options.parent = number_of(option, value, 1L, 1L << 31);
    } else {
      end_with(kExitUsage, "there is no option '" + std::string(option) + "'");
    }
  }
  return options;
}

// Called from a signal: only functions that are safe there.
void end_at_deadline(int) {
  constexpr char kWords[] = "assay-check: the deadline has passed\n";
  const ssize_t written = write(STDERR_FILENO, kWords, sizeof kWords - 1);
  (void)written;
  _exit(kExitDeadline);
}

// Ends with its parent and at its deadline, whatever it is doing.
void limit_life(const Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the call.
  if (options.parent != 0 && getppid() != options.parent)
    end_with(kExitFailed, "the parent has ended");
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes must make write() fail
  if (options.deadline <= 0.0) return;
  struct sigaction action{};
  action.sa_handler = end_at_deadline;
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(options.deadline);
  timer.it_value.tv_usec =
      static_cast<suseconds_t>(1e6 * (options.deadline - std::floor(options.deadline)));
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// The first line, without its end: what both kinds of measurements say.
JsonWriter hello(const std::vector<int>& cpus, const std::vector<std::string>& components) {
  JsonWriter json;
  json.begin_object();
  json.field("program", "assay-check");
  json.field("version", ASSAY_VERSION);
  json.field("protocol", kProtocol);
  json.field("cpus", cpus);
  json.field("instructions", assay_built_for);
  json.field("components", components);
  json.field("test", kTestFaults);
  return json;
}

// Calls carry_out(order) for each order of these components until the input ends.
template <class CarryOut>
void answer_orders(const std::vector<std::string>& components, const CarryOut& carry_out) {
  LineReader lines(STDIN_FILENO);
  while (const auto line = lines.next()) {
    const auto order = parse_order(*line);
    if (const auto* const problem = std::get_if<std::string>(&order)) {
      say_text("problem", *problem);
      continue;
    }
    const Order& given = std::get<Order>(order);
    if (std::find(components.begin(), components.end(), given.component) == components.end()) {
      say_text("problem", "there is no component '" + given.component + "'");
    } else {
      carry_out(given);
    }
  }
}

void measure_processors(const Options& options, const Machine& machine,
                        const std::vector<int>& cpus) {
  Team team(cpus);
  QuietWatch watch(machine);
  JsonWriter first = hello(team.cpus(), component_names());
  say(first.end_object());
  answer_orders(component_names(), [&](const Order& order) {
    Measured measured;
    std::string failed;
    watch.begin();
    const Ticks start = ticks();
    try {
      const Component* const component = find_component(order.component);
      measured =
          component->measure({team, machine, options.settings, order.seconds, Fault(order.fault)});
    } catch (const std::bad_alloc&) {
      failed = "the system refused memory";
    } catch (const std::exception& error) {
      failed = error.what();
    }
    const double span = seconds(ticks() - start);
    say_answer(order, measured, failed, span, watch.end());
  });
}

// Ends after the first failure: devices can't be used after that, and threads may hang.
[[noreturn]] void measure_devices(const Options& options, const Machine& machine,
                                  const std::vector<int>& cpus) {
  QuietWatch watch(machine);
  std::optional<Devices> devices;
  try {
    devices.emplace(options.devices, options.ready, options.patience);
  } catch (const LateError& error) {
    say_text("late", error.what());
    _exit(kExitFailed);
  } catch (const std::exception& error) {
    say_text("failed", error.what());
    _exit(kExitFailed);
  }
  JsonWriter first = hello(cpus, Devices::components());
  first.field("backend", devices->infos().at(0).backend);
  first.key("devices").begin_array();
  for (const device::Info& each : devices->infos()) {
    first.begin_object().field("name", each.name).field("address", each.address).end_object();
  }
  first.end_array();
  say(first.end_object());
  answer_orders(Devices::components(), [&](const Order& order) {
    Measured measured;
    std::string failed;
    watch.begin();
    const Ticks start = ticks();
    try {
      measured = devices->measure(order.component, order.seconds, Fault(order.fault));
    } catch (const std::exception& error) {
      failed = error.what();
    }
    const double span = seconds(ticks() - start);
    say_answer(order, measured, failed, span, watch.end());
    if (!failed.empty()) _exit(kExitFailed);
  });
  _exit(0);  // libraries of drivers have threads that outlive main()
}

int run(int count, char** words) {
  const Options options = options_of(count, words);
  limit_life(options);
  const Machine machine = read_machine();
  std::vector<int> cpus;
  for (const Cpu& cpu : machine.cores) cpus.push_back(cpu.id);
  if (!options.devices.empty()) measure_devices(options, machine, cpus);
  measure_processors(options, machine, cpus);
  return 0;
}

}  // namespace
}  // namespace assay::check

int main(int count, char** words) {
  try {
    return assay::check::run(count, words);
  } catch (const std::exception& error) {
    assay::check::end_with(assay::check::kExitFailed, error.what());
  }
}
