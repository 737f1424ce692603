#!/usr/bin/python3
"""Compares who calls whom in the image with the table of rooms (tests/check_includes.py).

    tests/check_symbols.py [OBJECTS]     reads the objects below that folder (build/program), prints
                                         violations, then `symbols: N passed, N failed`
    tests/check_symbols.py --self-test   proves on made-up objects that every rule can fail

A reference to a function or a variable is a call here. Five rules:

1. A room calls only what it may include. A header that a low room declares and a high one fills in
   would get around the check of includes; CONTRACTS names those that are meant to.
2. In the rooms of WATCHED no group of more than GROUP_MAX objects call each other.
3. What ONE names is called by the objects named there alone.
4. CONTRACTS and ONE name what exists.
5. Functions of foreign code (third/) are called by control/crypto alone.

Exit code: 0 when all is well, 1 otherwise.
"""

import os
import re
import subprocess
import sys

from check_includes import FOREIGN_ROOM, may_include, room_of
from check_run import TREE, run

GROUP_MAX = 5
WATCHED = ("apps", "control", "dataplane", "tools/pktgen")

# What a room declares for a higher one to define, and why.
CONTRACTS = {
    "assert_fail": "lib/assert.h: kernel and runtime each end the program in their own way",
    "__stack_chk_fail": "the compiler's: likewise",
    "__stack_chk_guard": "the compiler's: likewise",
    "pci_read": "abi/pci.h: by the kernel, or by a call of it",
    "pci_write": "abi/pci.h: likewise",
    "pci_msix_route": "abi/pci.h: likewise",
    "core_apps": "runtime/apps.h: the table of applications",
    "pktgen_app": "the generator, an application outside of apps/",
    "router_app": "apps/router/router.h, which apps/apps.c may include",
}

# Who alone may call these: all routes, of whatever source, come to the forwarding tables by one file.
ONE = {symbol: ("control/forwarding/routes",)
       for symbol in ("rib_set", "rib_replace", "rib_remove_stale", "fib4_insert", "fib4_remove",
                      "fib6_insert", "fib6_remove", "host6_insert", "host6_remove")}


# Functions of foreign code, by their names. Those of ours that are named so are in the tree, and rule 1 holds
# for them.
FOREIGN = re.compile(r"(mbedtls|psa|crypto|sodium)_|randombytes")


def references(top):
    """{object: (what it defines, what it wants)}, objects by the path of their source without `.c`."""
    found = {}
    for folder, _, files in os.walk(top):
        for name in sorted(files):
            path = os.path.join(folder, name)
            source = os.path.relpath(path, top)[:-2]
            if not name.endswith(".o") or not os.path.isfile(os.path.join(TREE, source + ".c")):
                continue  # an object that was left behind by a source that has gone
            lines = subprocess.run(["nm", path], capture_output=True, text=True,
                                   check=True).stdout.splitlines()
            symbols = [line.split()[-2:] for line in lines]
            found[source] = ({s for kind, s in symbols if kind.isupper() and kind != "U"},
                             {s for kind, s in symbols if kind == "U"})
    return found


def may_call(source, target):
    row, room = room_of(source + ".c")
    if row is None or room_of(target + ".c")[1] == room:
        return True
    return any(may_include(row, room, target + end) for end in (".c", ".h"))


def groups(calls):
    """The strongly connected groups of a graph {node: set of nodes} (Tarjan), largest first."""
    index, low, stack, held, out = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        held.add(node)
        for following in sorted(calls.get(node, ())):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in held:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
                held.discard(group[-1])
            out.append(sorted(group))

    for node in sorted(calls):
        if node not in index:
            visit(node)
    return sorted(out, key=len, reverse=True)


def check(objects, contracts=None, one=None):
    """(references that are right, [violations])."""
    contracts = CONTRACTS if contracts is None else contracts
    one = ONE if one is None else one
    good, bad, wanted = 0, [], set()
    home = {symbol: source for source, (defines, _) in objects.items() for symbol in defines}
    calls = {source: set() for source in objects}
    for source, (_, wants) in sorted(objects.items()):
        wanted |= wants
        for symbol in sorted(wants):
            target = home.get(symbol)
            if target is None and FOREIGN.match(symbol) and room_of(source + ".c")[1] != FOREIGN_ROOM:
                bad.append(f"{source}: calls {symbol} of foreign code, which {FOREIGN_ROOM} alone may")
            if target is None or target == source:
                continue
            if symbol not in contracts:
                calls[source].add(target)
            if symbol in one and source not in one[symbol]:
                bad.append(f"{source}: calls {symbol}, which is {' and '.join(one[symbol])}'s alone")
            elif symbol in contracts or may_call(source, target):
                good += 1
            else:
                bad.append(f"{source}: calls {symbol} of {target}, which room "
                           f"{room_of(source + '.c')[1]} may not")
    watched = {s: {t for t in calls[s] if t.startswith(WATCHED)} for s in calls
               if s.startswith(WATCHED)}
    for group in groups(watched):
        if len(group) > GROUP_MAX:
            bad.append(f"{len(group)} objects call each other: {' '.join(group)}")
        else:
            good += 1
    for symbol in sorted(set(contracts) | set(one)):
        if symbol not in wanted:
            bad.append(f"nobody calls {symbol}, which the rules name")
        else:
            good += 1
    return good, bad


# --- self-test ---

def made_up(*calls, also=()):
    """Objects of the program that call each other: (caller, callee), by a symbol of the callee's."""
    names = {name for call in calls for name in call} | set(also)
    return {name: ({"of_" + name}, {"of_" + to for by, to in calls if by == name})
            for name in names}


def self_test():
    failures = []

    def expect(what, objects, word, **rules):
        bad = check(objects, **{"contracts": {}, "one": {}, **rules})[1]
        if (word is None) != (not bad) or (word and not any(word in line for line in bad)):
            failures.append(f"{what}: {bad}")

    ring = ["control/cli/" + name for name in "abcdef"]
    expect("a call downwards", made_up(("control/cli/show", "control/forwarding/routes")), None)
    expect("a call within a room", made_up(("net/ip4", "net/fib/fib")), None)
    expect("a header by name", made_up(("runtime/data", "net/counters")), None)
    expect("a call upwards", made_up(("control/forwarding/routes", "control/cli/show")),
           "room control/forwarding may not")
    expect("net calls the runtime", made_up(("net/ip4", "runtime/data")), "room net may not")
    expect("siblings", made_up(("drivers/a/a", "drivers/b/b")), "room drivers/a may not")
    expect("a data core calls the control plane", made_up(("dataplane/state", "control/host/punt")),
           "room dataplane may not")
    expect("a contract", made_up(("net/ip4", "runtime/data")), None,
           contracts={"of_runtime/data": ""})
    expect("a contract that nobody wants", made_up(), "nobody calls gone", contracts={"gone": ""})
    expect("six in a ring", made_up(*zip(ring, ring[1:] + ring[:1])), "6 objects call each other")
    expect("five in a ring", made_up(*zip(ring[:5], ring[1:5] + ring[:1])), None)
    expect("one writer", made_up(("control/cli/show", "net/fib/fib")), "alone",
           one={"of_net/fib/fib": ("control/forwarding/routes",)})
    expect("the writer itself", made_up(("control/forwarding/routes", "net/fib/fib")), None,
           one={"of_net/fib/fib": ("control/forwarding/routes",)})
    foreign = made_up(("control/crypto/a", "control/crypto/b"), also=("control/cli/c",))
    foreign["control/crypto/a"][1].update({"psa_sign_hash", "sodium_memzero"})
    expect("foreign code", foreign, None)
    for symbol in "mbedtls_ssl_read", "psa_sign_hash", "crypto_sign_ed25519", "sodium_memzero", "randombytes_buf":
        expect("foreign code, from elsewhere", {"control/cli/c": (set(), {symbol})}, "control/crypto alone may")
    return 19, failures


def check_objects(top):
    objects = references(top)
    if not objects:
        print(f"no objects below {top}: make all")
        sys.exit(1)
    return check(objects)


if __name__ == "__main__":
    run("symbols", __doc__, check_objects, self_test, os.path.join(TREE, "build", "program"))
