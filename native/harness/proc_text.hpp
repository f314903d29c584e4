// Parses numbers from the text of /proc and /sys files.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace assay {

// Without line ends.
std::vector<std::string_view> lines_of(std::string_view text);

// The numbers that follow `label` on the first line that begins with it; empty if there is none.
// With an empty label: the numbers at the start of the text.
std::vector<double> numbers_after(std::string_view text, std::string_view label);

// The numbers of these CPUs in the text of /proc/stat, in its order: user, nice, system, idle,
// iowait, irq, softirq, steal, and more.
std::vector<std::vector<double>> ticks_of_cpus(std::string_view text, const std::set<int>& cpus);

// Of such numbers, at least seven: user, nice, system and interrupts.
double busy_ticks_in(const std::vector<double>& numbers);

// Ticks that these CPUs were busy, from the text of /proc/stat: user, nice, system and interrupts,
// without steal time. Nothing if one of them is missing.
std::optional<double> busy_ticks(std::string_view text, const std::set<int>& cpus);

// Number of CPUs that /proc/stat lists: those that are online. Nothing if the text ends with them.
std::optional<double> cpus_listed(std::string_view text);

std::optional<double> first_number(std::string_view text);

// The column RetransSegs of /proc/net/snmp, whose two "Tcp:" lines hold names and numbers.
std::optional<double> tcp_retransmits(std::string_view text);

// Seconds that some task was stalled, from the text of a file in /proc/pressure.
std::optional<double> pressure_seconds(std::string_view text);

}  // namespace assay
