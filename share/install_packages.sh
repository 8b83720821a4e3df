#!/bin/sh
# Installs the Debian packages that Tenon needs, and only those that are missing.
#
#   share/install_packages.sh build                            compiler, build tools and libraries
#   share/install_packages.sh check                            what the tests need beside
#   share/install_packages.sh data                             the images that `make quickstart` trains on
#   share/install_packages.sh format tidy interop peers deb    what these make targets use
#
# Runs as root, or with sudo where it is there; says what it installs. With nothing missing it is done at once.
set -eu

packages_of() {
  case "$1" in
    build)
      # tools
      echo g++ make cmake ninja-build binutils file
      # images, checkpoints and records
      echo libjpeg-dev libpng-dev libwebp-dev zlib1g-dev libprotobuf-dev protobuf-compiler libsnappy-dev
      # text: Unicode's tables, translation memories
      echo libutf8proc-dev libexpat1-dev
      # machine files of the TPU emulator
      echo nlohmann-json3-dev
      # any GPU: the loader of OpenCL drivers
      echo ocl-icd-opencl-dev opencl-c-headers
      # several processes
      echo libopenmpi-dev openmpi-bin
      # pictures
      echo libcairo2-dev libpango1.0-dev
      # serving: HTTP, JSON, TLS, gRPC
      echo libboost-dev libsimdjson-dev libssl-dev libgrpc++-dev protobuf-compiler-grpc
      # Keras's files
      echo libhdf5-dev
      # random numbers, tests
      echo librandom123-dev libgtest-dev
      ;;
    check)
      # OpenCL on the CPU: what opencl-gpu is tested on
      echo pocl-opencl-icd
      # network namespaces as hosts, and how MPI reaches them
      echo iproute2 openssh-server openssh-client
      # what makes the tables of peers
      echo python3
      # images of an example's data
      echo libjpeg-turbo-progs
      # who asks the server, and a certificate of its
      echo curl openssl
      ;;
    data) echo dataset-fashion-mnist libjpeg-turbo-progs ;;
    format) echo clang-format git ;;
    tidy) echo clang-tidy ;;
    interop) echo python3-venv ca-certificates ;;
    # headers of Python: a peer compiles its kernels
    peers) echo g++ python3-venv python3-dev ca-certificates ;;
    deb) echo dpkg-dev file ;;
    *)
      echo "install_packages: unknown set '$1'; expected build, check, data, format, tidy, interop, peers or deb" >&2
      return 2
      ;;
  esac
}

fail() {
  echo "install_packages: $*" >&2
  exit 1
}

[ $# -gt 0 ] || set -- build
missing=
for set in "$@"; do
  names=$(packages_of "$set") || exit 2
  for name in $names; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $name"
  done
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null || fail "no apt-get here; install the equivalents of these Debian packages:$missing"
if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root=sudo
else
  fail "neither root nor sudo here; have an administrator run: apt-get install$missing"
fi

echo "installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" >"$log" 2>&1 && return
  cat "$log" >&2
  fail "apt-get $1 failed; its own words stand above"
}
apt update
# shellcheck disable=SC2086  # one word a package
apt install -y --no-install-recommends $missing
