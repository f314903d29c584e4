// The lines that the program writes.
#pragma once

#include <string>

#include "check/component.hpp"
#include "check/orders.hpp"
#include "check/quiet.hpp"
#include "harness/json_writer.hpp"

namespace assay::check {

constexpr int kExitFailed = 3;

// A whole line; the program ends if no process reads any more.
void say(const JsonWriter& json);
// An object of one text: "problem" for what is wrong with an order.
void say_text(const char* name, const std::string& words);
// The answer to an order. `failed`: why there is no value, or empty. `span`: s.
void say_answer(const Order& order, const Measured& measured, const std::string& failed,
                double span, const Quiet& quiet);

}  // namespace assay::check
