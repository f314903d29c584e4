// Numbers out of the text that /proc and /sys give.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace assay {

// Without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

// The numbers that follow `label` on the first line that begins with it; empty if there is none. No
// label: those that the text begins with.
std::vector<double> numbers_after(std::string_view text, std::string_view label);

// Ticks that the CPUs of these numbers were busy, of the text of /proc/stat: user, nice, system and
// interrupts, without what a hypervisor took. Nothing if one of them isn't told.
std::optional<double> busy_ticks(std::string_view text, const std::set<int>& cpus);

std::optional<double> first_number(std::string_view text);

// The column RetransSegs of /proc/net/snmp, whose two "Tcp:" lines hold names and numbers.
std::optional<double> tcp_retransmits(std::string_view text);

// Seconds that some task was held up, of the text of a file in /proc/pressure.
std::optional<double> pressure_seconds(std::string_view text);

}  // namespace assay
