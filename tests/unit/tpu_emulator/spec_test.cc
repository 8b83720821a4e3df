#include "machine/spec.h"

#include <gtest/gtest.h>

#include "tenon/plugin/entry.h"

namespace {

std::string refusal_of(const char* text) {
  try {
    tpu::parse_spec(text);
  } catch (const tenon::plugin::Error& e) {
    EXPECT_EQ(e.code, TENON_INVALID);
    return e.what();
  }
  return "";
}

TEST(Spec, DefaultsToV3OnCpuWithRoundedDots) {
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    const tpu::Spec spec = tpu::parse_spec(text);
    EXPECT_EQ(spec.machine, "v3-8");
    EXPECT_EQ(spec.backend, "cpu");
    EXPECT_TRUE(spec.rounds);
  }
}

TEST(Spec, ReadsMachineAndKeys) {
  const tpu::Spec spec = tpu::parse_spec("v2-32,backend=example,dots=f32");
  EXPECT_EQ(spec.machine, "v2-32");
  EXPECT_EQ(spec.backend, "example");
  EXPECT_FALSE(spec.rounds);
  EXPECT_EQ(tpu::parse_spec("backend=example").machine, "v3-8");
}

TEST(Spec, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal_of("v3-8,dots=f16"), "spec 'dots=f16': expected bf16 or f32");
  EXPECT_EQ(refusal_of("v3-8,cores=4"), "spec 'cores=4': unknown key, expected backend or dots");
  EXPECT_EQ(refusal_of("v3-8,v2-8"), "spec 'v2-8': expected KEY=VALUE after the machine");
  EXPECT_EQ(refusal_of("v3-8,backend=tpu-emulator"),
            "spec 'backend=tpu-emulator': expected another backend's name, such as cpu");
}

}  // namespace
