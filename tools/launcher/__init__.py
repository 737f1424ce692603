"""The modules of tools/hayate.

cli      arguments, help text, exit codes
options  `hayate run` options -> QEMU's command line (pure: opens nothing, starts nothing)
ports    --port: grammar, tap file descriptors
process  child processes and network namespaces that end with the launcher
machine  one QEMU: start, watch, map its exit status
image    the hybrid BIOS/UEFI image
guest    a Hayate console as an object, and parsers of its output
netlab   hosts in network namespaces, for the demo and the tests
demo, demo_web, demo_bgp  `hayate demo`, `hayate demo --app web`, `hayate demo-bgp`
engine   `hayate engine`: the routing engine on Linux

Only Python's standard library is used, so the launcher runs wherever /usr/bin/python3 does.
"""
