#!/bin/sh
# A Slurm cluster of this one machine for tests: everything it has is below DIR, and nothing outlives `stop`.
#
#     one-node-slurm.sh start DIR    start munged, slurmctld and slurmd; then SLURM_CONF=DIR/slurm.conf
#     one-node-slurm.sh stop DIR     end them
#
# Needs root and Debian's packages slurmctld, slurmd, slurm-client and munge. Exit code 77: it cannot run here,
# and says why.
set -eu

fail() {
    echo "one-node-slurm: $*" >&2
    exit 1
}

skip() {
    echo "one-node-slurm: cannot run here: $*" >&2
    exit 77
}

[ $# -eq 2 ] || fail "usage: $0 start|stop DIR"
action=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)

end() {
    [ -s "$dir/$1.pid" ] || return 0
    pid=$(cat "$dir/$1.pid")
    kill "$pid" 2>/dev/null || return 0
    for _ in $(seq 100); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
}

stop() {
    end slurmd
    end slurmctld
    end munged
}

if [ "$action" = stop ]; then
    stop
    exit 0
fi
[ "$action" = start ] || fail "neither start nor stop: $action"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || skip "it needs root"
for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || skip "there is no $program (Debian: slurmctld, slurmd, slurm-client, munge)"
done

# munged refuses folders that others may write, and files of others.
chmod 755 "$dir"
mkdir -p "$dir/state" "$dir/spool" "$dir/munge"
chmod 700 "$dir/munge"
[ -s "$dir/munge/key" ] || dd if=/dev/urandom of="$dir/munge/key" bs=1 count=1024 2>/dev/null
chmod 400 "$dir/munge/key"
host=$(hostname -s)
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}
cat > "$dir/slurm.conf" <<EOF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munged.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MaxArraySize=100001
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=300
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
EOF

munged --key-file="$dir/munge/key" --socket="$dir/munged.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --force || skip "munged does not start"
slurmctld -f "$dir/slurm.conf" -c || skip "slurmctld does not start: $(tail -n 3 "$dir/slurmctld.log")"
slurmd -f "$dir/slurm.conf" || skip "slurmd does not start: $(tail -n 3 "$dir/slurmd.log")"
export SLURM_CONF="$dir/slurm.conf"
for _ in $(seq 600); do
    if sinfo --noheader --format=%t 2>/dev/null | grep -q '^idle$'; then
        echo "$SLURM_CONF"
        exit 0
    fi
    sleep 0.1
done
sinfo >&2 || true
tail -n 5 "$dir/slurmctld.log" "$dir/slurmd.log" >&2
stop
skip "the node does not become idle"
