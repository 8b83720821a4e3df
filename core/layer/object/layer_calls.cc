#include "layer/object/layer_calls.h"

#include <utility>

namespace tenon {
namespace {

thread_local std::vector<LayerCall>* noted_to = nullptr;

}  // namespace

NotedCalls::NotedCalls(std::vector<LayerCall>* to) : before_(std::exchange(noted_to, to)) {}
NotedCalls::~NotedCalls() { noted_to = before_; }
std::vector<LayerCall>* NotedCalls::noting() { return noted_to; }

}  // namespace tenon
