"""What tools/hayate is made of.

cli      arguments, help text, exit codes
options  `hayate run` options -> QEMU's command line (pure: opens nothing, starts nothing)
ports    --port: grammar, tap file descriptors
process  children that die with us, network namespaces that vanish with us
machine  one QEMU: start, watch, map its exit status
image    the hybrid BIOS/UEFI image
guest    a Hayate console as an object, and the parsers of what it prints
netlab   hosts in network namespaces, for the demo and the tests
demo     `hayate demo`

Python's standard library only, so that it runs wherever /usr/bin/python3 does.
"""
