"""Memory of the cores and published memory on their NUMA nodes (kernel/numa.c, shares.c), counted by
`show cores` and `show memory`."""
import re

from conftest import LEFT_HOST, RIGHT_HOST, pings


def nodes(*sizes_mib, cpus):
    """QEMU arguments of a machine with these nodes; node N has the CPUs of cpus[N]."""
    words = []
    for node, mib in enumerate(sizes_mib):
        words += ["-object", "memory-backend-ram,id=n%d,size=%dM" % (node, mib),
                  "-numa", "node,nodeid=%d,memdev=n%d%s" % (
                      node, node, "".join(",cpus=%d" % cpu for cpu in cpus[node]))]
    return ["--memory", "%dM" % sum(sizes_mib)] + ["--qemu-arg=" + word for word in words]


def places(router):
    """(node of the core, node of its memory), by core."""
    return [(int(core["node"]), int(core["memory"])) for core in router.cores()]


def test_memory_is_near(make_lab):
    """Cores of two nodes in turn: each has its memory on its own."""
    lab = make_lab(None, "--append", "test=1", *nodes(512, 512, cpus=[(0, 2), (1, 3)]), cpus=4)
    assert places(lab.router) == [(0, 0), (1, 1), (0, 0), (1, 1)]
    said = lab.router.command("show memory")
    kib = [int(text) for text in re.findall(r"^node \d +(\d+)  of the machine's, free at boot", said, re.MULTILINE)]
    assert len(kib) == 2 and all(450 * 1024 < k <= 512 * 1024 for k in kib), said
    assert "published memory is on node 0, near 1 of 3 data cores\n" in said.replace("\r", ""), said
    pings(lab.left, RIGHT_HOST, count=3)
    pings(lab.right, LEFT_HOST, count=3)


def test_published_memory_is_near_its_readers(make_lab):
    """All data cores are on the other node, and so are published memory and the control core's tables."""
    lab = make_lab(None, "--append", "test=1", *nodes(512, 1024, cpus=[(0,), (1, 2)]), cpus=3)
    assert places(lab.router) == [(0, 1), (1, 1), (1, 1)]
    said = lab.router.command("show memory")
    assert "published memory is on node 1, near 2 of 2 data cores\n" in said.replace("\r", ""), said
    pings(lab.left, RIGHT_HOST, count=3)
    pings(lab.right, LEFT_HOST, count=3)


def test_nearest_node(make_lab):
    """A core whose node has no room takes the memory of the nearest other node, by SLIT."""
    far = ["--qemu-arg=-numa", "--qemu-arg=dist,src=0,dst=1,val=20", "--qemu-arg=-numa",
           "--qemu-arg=dist,src=1,dst=2,val=15", "--qemu-arg=-numa", "--qemu-arg=dist,src=0,dst=2,val=20"]
    lab = make_lab(None, *nodes(512, 4, 512, cpus=[(0,), (1,), (2,)]), *far, cpus=3)
    assert places(lab.router) == [(0, 0), (1, 2), (2, 2)]
    assert "published memory is on node 0, near 0 of 2 data cores" in lab.router.command("show memory")
    pings(lab.left, RIGHT_HOST)


def test_one_node(make_router):
    """Without nodes everything is node 0, and `show memory` names none."""
    router = make_router(None, cpus=2)
    assert places(router) == [(0, 0), (0, 0)]
    assert "node" not in router.command("show memory")
