// What the readings of a device say of the samples between them.
#include "harness/device_watch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/check.hpp"

using namespace assay;

namespace fs = std::filesystem;

namespace {

TimedReading at(double time, double power, std::optional<std::uint64_t> reasons = 0) {
  TimedReading found{time, {}};
  found.reading.clock = 1e9 + time;
  found.reading.power = power;
  found.reading.temperature = 40.0 + time;
  found.reading.errors = time;
  found.reading.reasons = reasons;
  return found;
}

}  // namespace

TEST(levels_are_those_between_the_first_and_the_last_reading) {
  const DeviceCourse course =
      course_of({at(0.0, 50.0), at(1.0, 200.0, 0x4), at(2.0, 400.0, 0x1), at(3.0, 100.0)});
  CHECK_EQUAL(*course.clock, 1e9 + 1.5);
  CHECK_EQUAL(*course.power, 300.0);
  CHECK_EQUAL(*course.temperature, 42.0);
  CHECK_EQUAL(*course.throttled, 0.5);  // an idle device isn't throttled
  CHECK_EQUAL(*course.errors, 3.0);
  CHECK_EQUAL(throttle_names(course.reasons), "power limit");
  // Trapezoids of 125, 300 and 250 J; half of the steps of 150, 200 and 300 W; 0.1 s of 400 W.
  CHECK_EQUAL(*course.energy, 675.0);
  CHECK_EQUAL(*course.energy_error, 325.0 + 40.0);
  CHECK(!course.counted);
  CHECK(!course.memory_clock);
}

TEST(without_a_reading_between_them_the_last_one_counts) {
  auto first = at(0.0, 50.0), last = at(0.01, 300.0, 0x40);
  first.reading.energy = 1000.0;
  last.reading.energy = 1002.0;
  const DeviceCourse course = course_of({first, last});
  CHECK_EQUAL(*course.power, 300.0);
  CHECK_EQUAL(*course.throttled, 1.0);
  CHECK_EQUAL(*course.energy, 2.0);
  CHECK_EQUAL(*course.energy_error, 30.0);
  CHECK(course.counted);
}

TEST(what_a_device_does_not_tell_is_unknown) {
  auto without = at(1.0, 100.0, std::nullopt);
  without.reading.power = std::nullopt;
  const DeviceCourse course = course_of({at(0.0, 50.0), without, at(2.0, 50.0)});
  CHECK(!course.throttled && !course.power && !course.energy && !course.energy_error);
  CHECK(course.clock.has_value());
  CHECK(!course_of({}).clock && !course_of({at(0.0, 1.0)}).energy);
}

TEST(files_of_a_driver_tell_its_state) {
  const fs::path folder = fs::temp_directory_path() / ("assay-device-" + std::to_string(getpid()));
  CHECK(!device_state_by_files(folder.string()));
  fs::create_directories(folder / "hwmon" / "hwmon4");
  fs::create_directories(folder / "ras");
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text << "\n";
  };
  write("hwmon/hwmon4/power1_average", "150000000");
  write("hwmon/hwmon4/temp1_input", "41000");
  write("hwmon/hwmon4/freq1_input", "2100000000");
  write("ras/umc_err_count", "ue: 2\nce: 7");
  const auto state = device_state_by_files(folder.string());
  CHECK(state != nullptr);
  const DeviceReading found = state->read();
  fs::remove_all(folder);
  CHECK_EQUAL(*found.power, 150.0);
  CHECK_EQUAL(*found.temperature, 41.0);
  CHECK_EQUAL(*found.clock, 2.1e9);
  CHECK_EQUAL(*found.errors, 2.0);
  CHECK(!found.energy && !found.reasons && !state->errors());
}
