# Sourced by tools/sluice, tools/test and .ci/run: where things are, the packages, the build.
# Everything it says goes to standard error; standard output belongs to the caller.

sluice_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

# What this checkout keeps between calls: the binary last built and the list of sources it was built from.
sluice_state="${XDG_CACHE_HOME:-$HOME/.cache}/sluice/checkout$(tr / - <<<"$sluice_root")"

# Names the packages of the given sections of packages.txt.
packages_of() {
  local section
  for section in "$@"; do
    awk -v want="[$section]" '/^\[/ { on = ($1 == want); next } on && NF && $1 !~ /^#/ { print $1 }' \
      "$sluice_root/tools/setup/packages.txt"
  done
}

# Installs what is missing of the given sections, or says what is missing where SLUICE_NO_INSTALL=1.
ensure_packages() {
  local -a missing=() as_root=()
  local package
  for package in $(packages_of "$@"); do
    if [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return 0; fi
  if [[ "${SLUICE_NO_INSTALL:-}" == 1 ]]; then
    echo "sluice: these Debian packages are missing, and SLUICE_NO_INSTALL=1 forbids to install them:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    echo "sluice: install them with: apt-get install ${missing[*]}" >&2
    return 1
  fi
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "sluice: neither root nor sudo to install these Debian packages: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "sluice: installing Debian packages: ${missing[*]} (${#missing[@]}, and what they need)" >&2
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o Dpkg::Use-Pty=0)
  local log
  log="$(mktemp)"
  apt+=(install --no-install-recommends -y "${missing[@]}")
  # A fresh machine may have no package lists yet, an old one stale lists.
  if ! show_install_of "$log" "${apt[@]}"; then
    "${as_root[@]}" apt-get -q update </dev/null >&2 || echo "sluice: the package lists cannot be updated" >&2
    if ! show_install_of "$log" "${apt[@]}"; then
      cat "$log" >&2
      rm "$log"
      echo "sluice: installing the packages failed" >&2
      return 1
    fi
  fi
  rm "$log"
}

# Runs the command $2 … with its output in the file $1, says how far it is, and returns its status.
show_install_of() (
  set -o pipefail
  "${@:2}" </dev/null 2>&1 | tee "$1" | show_install
)

# Reads what apt-get prints while it installs, and says how far it is: a line that is rewritten on a terminal, else one
# every 15 s.
show_install() {
  local line total=0 unpacked=0 configured=0 next=15 begin=$SECONDS text
  while read -r line; do
    case "$line" in
      *" newly installed, "*) total="$(awk '{ print $3 }' <<<"$line")" ;;
      "Unpacking "*) unpacked=$((unpacked + 1)) ;;
      "Setting up "*) configured=$((configured + 1)) ;;
    esac
    text="sluice: installing: $unpacked of $total packages unpacked, $configured set up, $((SECONDS - begin)) s"
    if [[ -t 2 ]]; then
      printf '\r\033[K%s' "$text" >&2
    elif ((SECONDS - begin >= next)); then
      echo "$text" >&2
      next=$((SECONDS - begin + 15))
    fi
  done
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if ((configured > 0)); then echo "sluice: installed $configured packages in $((SECONDS - begin)) s" >&2; fi
}

# Bazel in this checkout. Its own options come from .bazelrc.
run_bazel() {
  # Bazel's server outlives this call: it must not inherit the lock of ensure_binary.
  (cd "$sluice_root" && exec bazel "$@" </dev/null 9>&-)
}

# One line for every file that the binary may depend on: path, size, time of change of content and of inode. Files
# that are edited, added, deleted or moved change it.
list_sources() {
  local -a places=() place
  for place in .bazelrc .bazelversion .bazelignore user.bazelrc WORKSPACE BUILD.bazel \
    graph frames rendezvous kernels executor tools; do
    if [[ -e "$sluice_root/$place" ]]; then places+=("$place"); fi
  done
  (cd "$sluice_root" && exec find "${places[@]}" -type f -not -name '*.md' -not -name '*.pyc' -printf '%p %s %T@ %C@\n')
}

# Builds the program, says how far it is, and leaves what Bazel prints in build.log.
build_program() {
  (cd "$sluice_root" && exec python3 -B tools/setup/build_progress.py --name building --log "$sluice_state/build.log" \
    -- bazel build //tools/cli:sluice </dev/null 9>&-)
}

# Builds the binary when a source is newer than it, and leaves it at $sluice_state/sluice. Silent when there was
# nothing to do; Bazel is not started then.
ensure_binary() {
  local sources built
  sources="$(list_sources)"
  if [[ -x "$sluice_state/sluice" && -r "$sluice_state/sources" && "$(<"$sluice_state/sources")" == "$sources" ]]; then
    return 0
  fi
  ensure_packages build
  mkdir -p "$sluice_state"
  # Two calls at once build one after the other; each takes its own copy.
  exec 9>"$sluice_state/lock"
  if ! flock -n 9; then
    echo "sluice: waiting for another call, which builds this checkout" >&2
    flock 9
  fi
  if ! build_program; then
    cat "$sluice_state/build.log" >&2
    echo "sluice: the build failed" >&2
    return 1
  fi
  built="$(run_bazel info bazel-bin 2>/dev/null)/tools/cli/sluice"
  # Replaced in one step: a program that runs now keeps the file it started from.
  cp -f "$built" "$sluice_state/sluice.new"
  mv -f "$sluice_state/sluice.new" "$sluice_state/sluice"
  printf '%s\n' "$sources" >"$sluice_state/sources"
  exec 9>&-
}
