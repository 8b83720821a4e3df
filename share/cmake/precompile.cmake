# tenon_compile_quickly(TARGET..): programs that wait for others, where a faster build is worth more than faster code.
function(tenon_compile_quickly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # at -Og it takes std::regex for uninitialised
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
  endforeach()
endfunction()

# The standard headers (with gtest, in tests) are up to half of what a file costs to compile: they are compiled once
# for all targets of a group. The debug preset does without, and so finds a file that includes less than it uses.
set(tenon_standard_headers <algorithm> <atomic> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>)

# tenon_targets_below(FOLDER RESULT): the targets of C++20 in and below FOLDER.
function(tenon_targets_below folder result)
  set(found)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(standard ${target} CXX_STANDARD)
    if(NOT type MATCHES "UTILITY|INTERFACE" AND standard EQUAL 20)
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    tenon_targets_below(${subfolder} more)
    list(APPEND found ${more})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# tenon_precompile(NAME FOLDERS HEADERS..): compiles HEADERS with the options of the calling folder, for the targets
# in and below FOLDERS that are there now and have no precompiled headers of their own.
function(tenon_precompile name folders)
  set(users)
  foreach(folder IN LISTS folders)
    tenon_targets_below(${folder} more)
    list(APPEND users ${more})
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  foreach(target IN LISTS users)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    if(NOT own)
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()
