/*
 * Frames of the routing engine's interfaces, in VXLAN (net/vxlan.h). The engine has an interface for
 * each of ours with a VNI; docs/routing-engine.md says how. This machine remains the one that
 * resolves neighbours.
 *
 *     up      a frame of a routing protocol that data cores hand over (dataplane/to_engine.h), and
 *             copies of router discovery: unchanged, with its TTL, without a VLAN tag
 *     down    group, broadcast and non-IP frames, and those to another station: sent by the
 *             interface as they are. IP packets to the interface's own MAC address: routed, with
 *             their TTL as it is; they wait for ARP or ND like the machine's own packets
 *
 * Invariants
 * 1. A VXLAN packet is taken only from the engine's address to our source address, by the interface
 *    that leads to the engine, and with a VNI of ours.
 * 2. A frame from the engine has the source MAC address of its interface, and a packet to be routed
 *    has a source address of ours. Each refused one is counted by its reason (vxlan_judge, and
 *    drop_vxlan_route).
 * 3. Outer packets are the machine's own: they have no DF and are fragmented if the link's MTU is
 *    less than VXLAN_OVERHEAD above the inner one's.
 */
#ifndef CONTROL_HOST_VXLAN_H
#define CONTROL_HOST_VXLAN_H

#include "dataplane/state.h"

/* Reasons to drop a frame of the engine whose VNI is known. */
#define VXLAN_DROP_FIRST CNT_drop_vxlan_malformed
#define VXLAN_DROPS (CNT_drop_vxlan_route - CNT_drop_vxlan_malformed + 1)

/* Of an interface, since the ports started: frames and their octets. */
struct vxlan_counts {
	uint64_t up_frames, up_octets, down_frames, down_octets;
	uint64_t drops[VXLAN_DROPS]; /* frames of the engine, by counter from VXLAN_DROP_FIRST on */
};
extern struct vxlan_counts vxlan_counts[DP_INTERFACES_MAX];

/* Begins to count anew. Before the ports start. */
void vxlan_start(void);

/* Uses the VNIs and addresses of running.config from now on. May be called at any time. */
void vxlan_set(void);

/* Hands the frame of a message to the engine. Returns its fate for the caller to count. */
enum counter vxlan_hand_over(const struct core_msg *m);

/* Hands a copy of the frame to the engine if it is router discovery and its interface has that. It
 * has no fate: the machine itself takes the frame. */
void vxlan_copy(const struct core_msg *m);

#endif
