# Rows 1 to 6: checkpoints under kills, faults, power loss, damage and without memory.
add_executable(trust_checkpoint ${CMAKE_CURRENT_LIST_DIR}/checkpoint_rows.cc
  ${CMAKE_SOURCE_DIR}/tests/unit/train/checkpoint/checkpoint_io_faults.cc)
# What they define of libc and of the allocator must not meet other files.
set_target_properties(trust_checkpoint PROPERTIES UNITY_BUILD OFF)
target_include_directories(trust_checkpoint PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR})
target_link_libraries(trust_checkpoint PRIVATE tenon_train GTest::gtest)
