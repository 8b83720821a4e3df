# Sourced by summaries.sh, answers.sh and translation.sh: Debian's lists of packages with their descriptions, brought by apt into a
# directory of one's own; the system's lists stay as they are.   package_lists DIR [LANGUAGE]   sets `lists`. English is always there.
package_lists() {
  mkdir -p "$1/lists/partial" "$1/cache"
  local directory
  directory=$(cd "$1" && pwd)  # apt takes a relative one as below its own
  lists=$directory/lists
  local language=${2:-en}
  local quiet=(-qq -o "Dir::State::Lists=$lists" -o "Dir::Cache=$directory/cache" -o "Acquire::Languages=en,$language")
  compgen -G "$lists/*Translation-$language*" >/dev/null || apt-get "${quiet[@]}" update
  compgen -G "$lists/*Translation-$language*" >/dev/null ||
    { echo "$0: apt-get update brought no descriptions; $lists has $(ls "$lists" | wc -l) files" >&2; exit 1; }
}
# The lists whose names end so, uncompressed.
show_lists() { /usr/lib/apt/apt-helper cat-file "$lists"/*"$1"*; }
