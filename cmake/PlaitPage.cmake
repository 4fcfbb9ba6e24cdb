# The report page: the files of src/report/page/ become a .cpp of the report room, so that the
# program has them inside. Run as a script (-P) it writes that .cpp; included, it sets the rule.
if(CMAKE_SCRIPT_MODE_FILE)
  function(read_all out)
    set(text "")
    foreach(file ${ARGN})
      file(READ ${folder}/${file} one)
      string(APPEND text "${one}")
    endforeach()
    set(${out} "${text}" PARENT_SCOPE)
  endfunction()
  string(REPLACE "," ";" scripts "${scripts}")
  read_all(html page.html)
  read_all(style page.css)
  read_all(script ${scripts})
  file(WRITE ${out} "#include \"report/page_files.hpp\"\n\nnamespace plait::report {\n\n"
       "const std::string_view kPageHtml = R\"~page~(${html})~page~\";\n"
       "const std::string_view kPageStyle = R\"~page~(${style})~page~\";\n"
       "const std::string_view kPageScript = R\"~page~(${script})~page~\";\n\n}  // namespace plait::report\n")
  return()
endif()

function(plait_page)
  set(folder ${PROJECT_SOURCE_DIR}/src/report/page)
  # One script after the other: what a file uses stands in those before it.
  set(scripts dom.js numbers.js curves.js lanes.js panel.js timeline.js breakdown.js overview.js methods.js
      main.js)
  set(files page.html page.css ${scripts})
  list(TRANSFORM files PREPEND ${folder}/)
  list(JOIN scripts "," joined)
  set(out ${PROJECT_BINARY_DIR}/page_files.cpp)
  add_custom_command(OUTPUT ${out} DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/PlaitPage.cmake
                     COMMAND ${CMAKE_COMMAND} -D folder=${folder} -D scripts=${joined} -D out=${out}
                             -P ${PROJECT_SOURCE_DIR}/cmake/PlaitPage.cmake
                     COMMENT "The report page" VERBATIM)
  target_sources(plait_report PRIVATE ${out})
endfunction()
