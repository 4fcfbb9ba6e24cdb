# One static library per room (a folder of src/), with the include doors it may use.

add_library(plait_options INTERFACE)
target_compile_options(plait_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                               -Woverloaded-virtual -Werror)
if(PLAIT_SANITIZE)
  add_compile_options(-fsanitize=${PLAIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # g++ 12 warns of its own <regex> under the sanitizers.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${PLAIT_SANITIZE})
  # Every further instruction set makes the SIMD files slow to compile; AVX2 and the baseline stay.
  add_compile_definitions(HWY_DISABLED_TARGETS=\(HWY_SSE4|HWY_AVX3|HWY_AVX3_DL\))
endif()

# With PLAIT_UNITY the compiler gets eight files of a target at a time and reads the headers they share once: a first build takes less
# than half the time. Names in anonymous namespaces must then be unique in a room.
function(plait_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PLAIT_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# plait_room(NAME [COLD] [ALONE] DOORS room... LINK library... EXCLUDE pattern...)
# COLD: nothing in it is worth optimising, so that it builds sooner. ALONE: its files are always compiled one by one. A room without a
# .cpp is a header-only library. The global property PLAIT_DOORS collects "name=door,door" for tests/house.
function(plait_room name)
  cmake_parse_arguments(ROOM "COLD;ALONE" "" "DOORS;LINK;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  foreach(pattern ${ROOM_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  if(sources)
    add_library(plait_${name} STATIC ${sources})
    target_link_libraries(plait_${name} PRIVATE $<BUILD_INTERFACE:plait_options>)
    if(ROOM_ALONE)
      set_property(GLOBAL APPEND PROPERTY PLAIT_ALONE ${name})
    else()
      plait_unity(plait_${name})
    endif()
    if(ROOM_COLD)
      target_compile_options(plait_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    set(scope PUBLIC)
  else()
    add_library(plait_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(plait::${name} ALIAS plait_${name})
  set_target_properties(plait_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(plait_${name} ${scope} cxx_std_20)
  target_include_directories(plait_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/plait>)
  list(TRANSFORM ROOM_DOORS PREPEND plait_ OUTPUT_VARIABLE doors)
  target_link_libraries(plait_${name} ${scope} ${doors} ${ROOM_LINK} Threads::Threads)
  list(JOIN ROOM_DOORS "," joined)
  set_property(GLOBAL APPEND PROPERTY PLAIT_ROOMS ${name})
  set_property(GLOBAL APPEND PROPERTY PLAIT_DOORS "${name}=${joined}")
endfunction()

# The whole house behind one name for consumers: plait::plait (every room but cli).
function(plait_library)
  add_library(plait INTERFACE)
  add_library(plait::plait ALIAS plait)
  target_link_libraries(plait INTERFACE plait_session plait_strategy plait_simulate plait_report
                                        plait_onnx)
endfunction()
