"""`hayate engine`: the routing engine's side of a router, on Linux (docs/routing-engine.md).

page    the router's page /api/v1/engine.json: read and checked
plan    the difference between page and kernel -> arguments of ip(8) (pure)
links   the namespace: what the kernel has, and carrying out a plan
relay   the FPM connection from zebra's namespace to the router
frr     FRRouting's daemons: which, started, restarted
agent   the loop
"""
