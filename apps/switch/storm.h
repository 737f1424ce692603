/*
 * Storm control on a data core: a limit to the frames that a port may flood in a second, by class. The
 * configuration names packets per second, not per cent of the line rate: the cost of a flood to the switch
 * and to all hosts of a VLAN grows with the number of frames, whatever their length and the port's rate.
 *
 * A class's frames are counted over the seconds of the clock. When the limit is reached, the frames of the
 * class are dropped until the second ends.
 *
 * The limit is the port's, though several data cores receive from it. Each core publishes how many frames
 * it has let pass in this second (struct switch_core), and adds the numbers of all cores before it lets a
 * frame pass. A store of another core may be on its way meanwhile, so the sum of all cores can exceed the
 * limit by the frames that they handle at the same moment: a few for each further core. A core that has seen
 * the limit reached reads nothing of the others until the second ends.
 *
 * Only frames about to be flooded are looked at. A frame to a known station costs nothing.
 */
#ifndef APPS_SWITCH_STORM_H
#define APPS_SWITCH_STORM_H

#include "apps/switch/shared.h"

/* To be called in data_start and data_tables. fresh: the counts begin anew. */
void storm_start(bool fresh);

/* The class of a frame that is to be flooded, which has a whole Ethernet header. */
enum switch_storm storm_class(const struct pkt *p);

/* May the port flood a frame of that class? It has a limit, of `limit` frames a second. Counts the frame if
 * so. CNT_NONE: yes; else the reason of the drop. */
enum counter storm_police(unsigned port, enum switch_storm class, uint32_t limit);

#endif
