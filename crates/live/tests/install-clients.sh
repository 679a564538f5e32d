#!/bin/sh
# Installs the clients that the tests of the block device use (Debian, as root).
set -eu
apt-get update
apt-get install -y --no-install-recommends fio libnbd-bin python3-libnbd qemu-utils
