# tenon_add_backend(NAME SOURCES..) builds NAME.so, as Tenon's loader expects it: a library without the "lib"
# prefix that exports tenon_backend_init alone, on the SDK runtime. C++17 or later. NO_RUNTIME as the first of the
# sources: on the C ABI alone, with its headers; in C11 too.
set(TENON_BACKEND_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/backend.map CACHE INTERNAL "")
function(tenon_add_backend name)
  set(sources ${ARGN})
  set(runtime Tenon::sdk_runtime)
  if("${ARGV1}" STREQUAL NO_RUNTIME)
    list(REMOVE_AT sources 0)
    set(runtime Tenon::sdk)
  endif()
  add_library(${name} MODULE ${sources})
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PRIVATE ${runtime})
  target_link_options(${name} PRIVATE -Wl,-z,defs -Wl,--version-script=${TENON_BACKEND_EXPORTS})
endfunction()
