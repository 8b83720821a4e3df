# Takes the code blocks out of documents, to be compiled and run: DOCUMENT.md.. are read, DIR/blocks.cc is written, and for each
# document with something to run DIR/DOCUMENT.steps, a line a block in their order.
#   awk -v dir=DIR -f extract.awk DOCUMENT.md..
# A line before a block says what becomes of it; a block with a language and without that line is an error.
#   <!-- test: program -->           C++ as a file has it; main() is run
#   <!-- test: program, prints: LINE -->   the same, whose last line of output is LINE
#   <!-- test: body -->              C++ as a function has it, behind the program before it; run
#   <!-- test: body, not run: WHY -->      compiled alone; program likewise
#   <!-- test: shell -->             commands, run in the document's directory
#   <!-- test: console -->           commands behind "$ " and what they print, ".." standing for what is left out
#   <!-- test: none: WHY -->
# What a block needs and a reader does not, stands before it: <!-- setup cpp or <!-- setup sh, lines, -->

function fail(why) {
  print FILENAME ":" FNR ": " why > "/dev/stderr"
  failed = 1
  exit 1
}

function add(text) { code = code text "\n" }
function add_line(text) {
  if (text ~ /^#include/) includes = includes text "\n"
  else add(text)
}
function origin() { add("#line " (FNR + 1) " \"" FILENAME "\"") }

function close_document() {
  if (in_scope) add("}")
  in_scope = 0
}
function open_scope() {
  if (in_scope) add("}")
  in_scope = 1
  add("namespace block_" ++blocks " {")
}

function step(how, file) { print how, file > (dir "/" name ".steps") }

# Registers the block as a step, by its place.
function registered(function_name) {
  if (kind ~ /not run/) return
  add("const documents::Registered registered_" blocks "(\"" name ":" begun "\", " function_name ");")
  prints = kind
  if (!sub(/^program, prints: /, "", prints)) prints = ""
  step("cpp", name ":" begun " " prints)
}

function shell_step(how, file) {
  printf "%s", shell > (dir "/" file)
  close(dir "/" file)
  step(how, file)
}

function begin_block() {
  begun = FNR
  has_main = 0
  shell = setup["sh"]
  setup["sh"] = ""
  if (kind ~ /^(program|body)/ && shell != "") shell_step("shell", name ".before." begun)
  if (kind ~ /^program/) {
    open_scope()
    add(setup["cpp"])
    origin()
  } else if (kind ~ /^body/) {
    if (!in_scope) open_scope()
    ++blocks
    add((kind ~ /not run/ ? "inline " : "") "void body_" blocks "() {")  # what nobody calls is not linked
    add(setup["cpp"])
    origin()
  }
  if (kind ~ /^(program|body)/) setup["cpp"] = ""
}

function block_line(line) {
  if (kind ~ /^(shell|console)/) {
    shell = shell line "\n"
    return
  }
  if (line ~ /^int main\(.*\) \{/) {
    has_main = 1
    sub(/^int main\(.*\) \{/, "void program() {", line)
  }
  add_line(line)
}

function end_block() {
  if (kind ~ /^program/) {
    if (has_main) registered("program")
  } else if (kind ~ /^body/) {
    add("}")
    registered("body_" blocks)
  } else if (kind ~ /^(shell|console)/) {
    shell_step(kind, name "." begun)
  }
  kind = ""
}

FNR == 1 {
  close_document()
  name = FILENAME
  sub(/.*\//, "", name)
  sub(/\.md$/, "", name)
  printf "" > (dir "/" name ".steps")
}

in_setup && /^-->$/ { in_setup = 0; next }
in_setup {
  if (setup_of == "cpp" && /^#include/) includes = includes $0 "\n"
  else setup[setup_of] = setup[setup_of] $0 "\n"
  next
}
in_block && /^```$/ {
  in_block = 0
  if (kind !~ /^none/) end_block()
  kind = ""
  next
}
in_block {
  if (kind !~ /^none/) block_line($0)
  next
}
/^<!-- setup (cpp|sh)$/ {
  in_setup = 1
  setup_of = $3
  next
}
/^<!-- test: .* -->$/ {
  kind = $0
  sub(/^<!-- test: /, "", kind)
  sub(/ -->$/, "", kind)
  if (kind !~ /^((program|body)(, not run: .+)?|program, prints: .+|shell|console|none: .+)$/) fail("'" kind "' is nothing that a block can be")
  next
}
/^```/ {
  in_block = 1
  language = substr($0, 4)
  if (language == "" && kind == "") kind = "none: text"
  if (kind == "") fail("a block of " language " that no test knows, expected <!-- test: .. --> before it")
  expected = language == "cpp" ? "^(program|body|none)" : language == "sh" ? "^(shell|none)" \
    : language == "console" ? "^(console|none)" : "^none"
  if (kind !~ expected) fail("'" kind "' is nothing that a block of '" language "' can be")
  if (kind !~ /^none/) begin_block()
  next
}
kind != "" && !/^$/ { fail("expected a block after <!-- test: " kind " -->") }

END {
  if (failed) exit 1
  close_document()
  printf "#include \"documents/registered.h\"\n%s%s", includes, code > (dir "/blocks.cc")
}
