# Compiles through ccache where it is installed; who sets CMAKE_CXX_COMPILER_LAUNCHER chooses for himself.
# Without the sloppiness ccache keeps nothing that uses precompiled headers. With CCACHE_COMMENTS a header of which a comment
# alone changed is precompiled anew: GCC knows a `#pragma once` of a precompiled header by the file's checksum, and would read
# the changed file a second time.
find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
if(TENON_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_COMMENTS=1 ${TENON_CCACHE})
    endif()
  endforeach()
endif()
