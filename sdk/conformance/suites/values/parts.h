// Parts of suites that have files of their own.
#pragma once

#include "conformance/host/harness.h"

namespace tenon::conformance {

void add_flag_tests(Tests&);                // of the device suite: flags of every entry
void add_struct_tests(Tests&);              // of the device suite: struct sizes of every entry
void add_tracing_tests(Tests&);             // of the device suite: what a host is told that traces
void add_state_tests(Tests&);               // of the program suite: what is updated in place
void add_argument_tests(Tests&);            // of the program suite: buffers that are shared, exchanged, refused
void add_default_tests(Tests&);             // of the op suite: attributes that are left out
void add_pattern_tests(Tests&);             // of the op suite: casts of every number of 16 bits
void add_rank_8_tests(Tests&);              // of the op suite: eight axes
void add_beside_tests(Tests&);              // of the program suite: what lies beside a result
void add_description_tests(Tests&);         // of the program suite: what describe says of plans
void add_info_tests(Tests&);                // of the program suite: what compile says of memory and work
void add_text_tests(Tests&);                // of the errors suite: how long texts live
void add_fed_until_tests(Tests&);           // of the feed suite: runs that a result ends
void add_long_random_test(Tests&);          // of the random suite: what takes minutes
void add_borrowed_tests(Tests&);            // of the memory suite: what is given back
void add_range_tests(Tests&);               // of the memory suite: which bytes a copy may have
void add_counter_tests(Tests&);             // of the memory suite: what a device says of its memory
void add_scalar_tests(Tests&);              // of the program suite: scalars to the last bit
void add_dealt_unit_tests(Tests&);          // of the collectives suite: what units are dealt and told of
void add_drawing_unit_tests(Tests&);        // of the collectives suite: what units draw
void add_refused_collective_tests(Tests&);  // of the collectives suite: replicas and groups that are not there
void add_queue_failure_tests(Tests&);       // of the queue suite: failures that stick and spread
void add_error_info_tests(Tests&);          // of the queue suite: what a failed queue tells
void add_fact_tests(Tests&);                // of the device suite: what a device tells of itself
void add_cache_tests(Tests&);               // of the program suite: what the host kept
void add_sampled_graph_tests(Tests&, uint32_t samples);  // of the sampled suite: graphs of many nodes
void add_scratch_tests(Tests&);                          // of the threads suite: what kernels keep while they work

}  // namespace tenon::conformance
