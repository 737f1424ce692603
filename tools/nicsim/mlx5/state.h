/*
 * The state of one ConnectX-5, and the functions shared by its files.
 *
 * The guest creates objects by commands. Each kind is an array in struct nic. An object's number,
 * which commands and queue entries use, is its index plus the first number of its kind. Kinds have
 * disjoint numbers where the manual allows it, and a number is reused only after all others: so a
 * driver that confuses two numbers, or uses one too long, is caught.
 */
#ifndef NICSIM_MLX5_STATE_H
#define NICSIM_MLX5_STATE_H

#include "tools/nicsim/mlx5/spec.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/packet/headers.h"
#include "tools/nicsim/packet/toeplitz.h"

#define VECTORS 64
#define LINE    64u /* bytes of a cache line, on the guest's core and ours */
#define NEVER   UINT64_MAX

#define CMD_DATA_MAX (16u << 10) /* of a command, in each direction */
#define PACKET_MAX   (256u << 10) /* longest packet to be segmented */
#define PAGES_MAX    1024u       /* most pages that the guest may give */
#define TIMER_KHZ    156250u

/* How many objects of each kind there can be, and their sizes, as in the capabilities. */
enum {
	LOG_EQS = 6,
	LOG_EQ_SIZE_MAX = 16,
	LOG_CQS = 10,
	LOG_CQ_SIZE_MAX = 16,
	SESSION_MAX = 32, /* frames of a compressed session */
	LOG_MKEYS = 8,
	LOG_PDS = 6,
	LOG_TDS = 4,
	LOG_SQS = 8,
	LOG_RQS = 8,
	LOG_WQ_SIZE_MAX = 15,
	LOG_RQ_STRIDE_MIN = 4,
	LOG_RQ_STRIDE_MAX = 9,
	WQE_BYTES_MAX = 1024,
	LOG_TISES = 6,
	LOG_TIRS = 9,
	LOG_RQTS = 8,
	LOG_RQT_SIZE_MAX = 9,
	COUNTERS = 64,
	LOG_LIST_MAX = 7,
	LOG_TABLES = 6,
	LOG_FT_SIZE_MAX = 16,
	FT_LEVELS = 64,
	LOG_GROUPS = 9,
	LOG_FTES = 12,
};

enum fault {
	FAULT_INITIALIZING,
	FAULT_SLOW_START,
	FAULT_COMMAND_TIMEOUT,
	FAULT_COMMAND_STATUS,
	FAULT_COMMAND_DELIVERY,
	FAULT_HEALTH_STUCK,
	FAULT_HEALTH_SYNDROME,
	FAULT_FOREIGN_PORT,
	FAULT_NO_COUNTERS,
	FAULT_MIN_INLINE,
	FAULT_SEND_STUCK,
	FAULT_SEND_ERROR,
	FAULT_RECEIVE_STUCK,
	FAULT_RECEIVE_ERROR,
	FAULT_BAD_LENGTH,
	FAULT_COMPLETION_LOST,
	FAULTS_OF_MLX5,
};

/* --- objects, object.c --- */

/* Later kinds refer to earlier ones. */
enum kind {
	NO_KIND,
	UAR,
	PD,
	TD,
	COUNTER,
	MKEY,
	EQ,
	CQ,
	TIS,
	SQ,
	RQ,
	RQT,
	TIR,
	TABLE,
	GROUP,
	FTE,
	KINDS,
};

struct object {
	uint32_t holders; /* number of objects that refer to this one */
};

/* --- commands, cmd.c --- */

struct command {
	const struct command_row *row;
	const uint8_t *in;
	uint8_t *out; /* already zeroed */
	uint32_t in_bytes, out_bytes;
};

/* The command-specific part: checks everything, then acts, and returns the status. */
typedef enum status (*command_do)(struct model *m, struct command *c);

/* Bits that may be set in the 32-bit row at `at` of a command's fixed input; all others are
 * reserved. Lists end with bits 0. */
struct input_bits {
	uint16_t at;
	uint32_t bits;
};

/* The state that a command requires of the HCA, as in the bring-up sequence of "Driver
 * Initialization":
 *
 *     DISABLED --ENABLE_HCA--> ENABLED --INIT_HCA--> READY
 *     READY --TEARDOWN_HCA--> ENABLED --DISABLE_HCA--> DISABLED */
enum hca_state { HCA_DISABLED, HCA_ENABLED, HCA_READY };
enum when { WHEN_ALWAYS, WHEN_ENABLED, WHEN_READY };

struct command_row {
	uint16_t opcode;
	const char *name;
	uint16_t in_bytes, out_bytes; /* minimum; the fixed part of the input */
	enum when when;
	command_do run;
	const struct input_bits *bits; /* NULL: none but opcode and op_mod */
	enum kind kind; /* of object_alloc, object_destroy */
};

/* --- queues --- */

#define LOG_RING_PAGE_MAX 24

/* A queue of entries in pages of the guest's memory. */
struct ring {
	uint64_t *page; /* bus addresses */
	uint8_t log_page, log_size, log_stride;
	bool together; /* the pages are contiguous on the bus */
	uint64_t call; /* struct nic's call of the last look-up, ... */
	uint8_t *at;   /* ... the host address then; NULL: not in one piece */
};

struct mkey {
	struct object o;
	uint32_t pd;
	uint8_t variant;
	bool read, write;
	uint64_t start, bytes;
};

struct eq {
	struct object o;
	struct ring ring;
	uint64_t events;
	uint32_t uar, vector;
	uint32_t pi, ci;
	bool armed;
	uint8_t context[64];
};

struct cq {
	struct object o;
	struct ring ring;
	uint64_t dbr;
	uint32_t uar, eqn;
	uint32_t pi, ci; /* ci: at the last read of the record */
	uint32_t solicited; /* pi after the last such entry */
	uint64_t call; /* struct nic's call of that read */
	bool error; /* overrun: accepts no more entries */
	bool overrun_ignored;
	bool scanned;
	enum { CQ_FIRED, CQ_ARMED, CQ_ARMED_SOLICITED } arm;
	uint32_t arm_word;
	uint32_t period_us, max_count, unreported;
	uint64_t event_due;
	struct { /* the open session, not yet written */
		uint32_t count; /* frames */
		uint8_t title[CQE_BYTES];
		uint8_t mini[SESSION_MAX][MINI_CQE_BYTES];
	} session;
	struct cq *next_open; /* list of queues with a session */
	bool compress, open;
	enum mini_format format;
	uint8_t context[64];
};

/* Statistics of the receive queues that use the set. */
struct counter {
	struct object o;
	uint32_t out_of_buffer;
};

/* Common to SQ and RQ. */
struct wq {
	struct object o;
	struct ring ring;
	uint64_t dbr;
	uint32_t pd, cqn;
	uint32_t state; /* enum queue_state */
	uint32_t head;  /* the next entry, 16 bits */
	uint32_t counter; /* the guest's, 16 bits: end of the entries, as read in ... */
	uint64_t call;    /* ... this call of struct nic's */
};

struct sq {
	struct wq w; /* first, as in struct rq: begins with an object */
	uint32_t tis, uar;
	bool flush;
	uint8_t min_inline;
};

struct rq {
	struct wq w;
	uint32_t counter; /* 0: none */
	bool keep_vlan, flush;
	bool primed; /* has had an entry since it left RST */
	uint32_t fetched; /* entries from the head on whose memory is prefetched */
};

struct tis {
	struct object o;
	uint32_t td;
};

struct rqt {
	struct object o;
	uint32_t most, size;
	uint32_t rqn[1 << LOG_RQT_SIZE_MAX];
};

struct tir {
	struct object o;
	uint32_t td;
	enum kind kind; /* RQ or RQT ... */
	uint32_t to;    /* ... with this number */
	uint32_t hash, selected;
	bool symmetric, ipv6, udp;
	uint32_t self_lb; /* SELF_LB_... */
	struct toeplitz toeplitz;
};

/* The hash of a received packet. */
struct hashed {
	uint32_t value;
	uint8_t type; /* RSS_... */
};

/* --- flow tables, flow.c --- */

struct flow_table {
	struct object o;
	uint32_t level, size;
	uint32_t miss;  /* table for packets without a match; 0: they are dropped */
	uint32_t first; /* list of entries, by index */
};

struct flow_group {
	struct object o;
	uint32_t table, start, end;
	uint64_t mask[MATCH_WORDS];
	uint32_t looks; /* bitmap of the nonzero words of mask */
};

struct fte {
	struct object o;
	uint32_t table, group, index;
	uint32_t next; /* in the table's list */
	uint64_t value[MATCH_WORDS]; /* 0 where the mask is 0 */
	uint32_t action, tag;
	enum kind kind; /* TABLE or TIR ... */
	uint32_t to;    /* ... with this number */
};

/* The path of the previous packet. Other packets of the same call of the model take it too, unless
 * they differ in a compared field; no command runs in between. */
struct way_taken {
	uint64_t call;
	uint64_t packet[MATCH_WORDS], mask[MATCH_WORDS];
	uint32_t looks; /* as in struct flow_group */
	const struct tir *to;
	uint32_t tag;
};

/* --- vport.c, eth_port.c --- */

enum way { WAY_RX, WAY_TX };
enum cast { CAST_BROAD, CAST_UNI, CAST_MULTI, CASTS };

struct vport {
	uint64_t permanent;
	uint32_t mtu, min_inline, local_lb, events, promisc;
	uint8_t guids[24]; /* system image, port, node */
	uint32_t listed[LISTS];
	uint64_t list[LISTS][1 << LOG_LIST_MAX];
	uint64_t packets[2][CASTS], bytes[2][CASTS];
};

#define SIZES 10 /* classes of frames: 64, to 127, 255, 511, 1023, 1518, 2047, 4095, 8191, 10239 */

struct eth_port {
	bool admin_up, link;
	uint64_t link_due; /* when it comes up; NEVER: not training */
	uint8_t events;
	uint32_t mtu; /* the longest frame, with FCS */
	uint32_t modes;
	uint8_t pfcc[16];
	uint64_t frames[2], octets[2], casts[2][CASTS], sizes[SIZES];
	uint64_t bad_fcs, too_long, discards;
	uint32_t downs;
};

/* --- the whole --- */

#define SQ_WORDS (((1u << LOG_SQS) + 63) / 64)

struct nic {
	/* --- mlx5.c --- */
	uint64_t link_downs; /* since the model was made, also by resets */
	uint64_t call;      /* number of the model's call: it limits host pointers */
	uint64_t born;      /* time of the last reset: counters and timer start there */
	uint64_t ready_due; /* when INITIALIZING clears; 0: it is clear */
	uint64_t stuck_at;  /* fault health-stuck: since when */

	/* --- cmd.c --- */
	uint64_t queue;      /* bus address of the command queue */
	uint32_t rung;       /* slots whose doorbell has rung */
	uint64_t command_due;
	uint8_t in[CMD_DATA_MAX], out[CMD_DATA_MAX];
	uint64_t commands, commands_refused;

	/* --- hca.c --- */
	enum hca_state state;
	uint16_t issi;
	uint64_t page[PAGES_MAX]; /* given by the guest, unordered */
	unsigned pages;
	uint8_t general[256]; /* current general capabilities; caps.c */

	/* --- objects --- */
	uint32_t next[KINDS]; /* where the search for a free object begins */
	struct object uar[UAR_END - UAR_FIRST], pd[1 << LOG_PDS], td[1 << LOG_TDS];
	struct counter counter[COUNTERS];
	struct mkey mkey[1 << LOG_MKEYS];
	struct eq eq[1 << LOG_EQS];
	struct cq cq[1 << LOG_CQS];
	struct tis tis[1 << LOG_TISES];
	struct sq sq[1 << LOG_SQS];
	struct rq rq[1 << LOG_RQS];
	struct rqt rqt[1 << LOG_RQTS];
	struct tir tir[1 << LOG_TIRS];
	struct flow_table table[1 << LOG_TABLES];
	struct flow_group group[1 << LOG_GROUPS];
	struct fte fte[1 << LOG_FTES];
	uint32_t root; /* flow table; 0: none */
	struct way_taken way;
	struct vport vport;
	struct eth_port port;
	uint64_t cq_due; /* earliest event_due */
	struct cq *cq_open; /* queues with a session; none between two bursts of frames */
	uint64_t sq_ready[SQ_WORDS], sq_rung[SQ_WORDS]; /* bitmaps by place in sq */
	uint64_t there[KINDS][(1 << LOG_FTES) / 64]; /* bitmaps by place: existing objects */
	bool send_more; /* a queue whose doorbell rang has work left for the next turn */
	uint64_t flush_due; /* when to check receive queues in ERR; NEVER: there are none */
	uint64_t room_due; /* when to check for receive entries again; NEVER: there are enough */
	uint8_t packet[PACKET_MAX];           /* as gathered */
	uint8_t segment[FRAME_MAX], frame[FRAME_MAX]; /* as sent; frame: also without its tag */
	uint64_t scan_due; /* line-rate: when to read the records of CQs */
};

static inline void mark(uint64_t *map, uint32_t index, bool on)
{
	map[index / 64] = (map[index / 64] & ~(1ull << index % 64)) | (uint64_t)on << index % 64;
}

static inline struct nic *nic_of(const struct model *m)
{
	return m->state;
}

/* The registers as bytes, in the guest's order. */
static inline uint8_t *registers(const struct model *m)
{
	return (uint8_t *)m->bar0;
}

/* The free-running timer, in cycles of TIMER_KHZ. */
static inline uint64_t cycles(const struct model *m)
{
	return (m->now - nic_of(m)->born) * (TIMER_KHZ / 31250) / (1000000 / 31250);
}

/* --- cmd.c --- */
void cmd_reset(struct model *m);
void cmd_doorbell(struct model *m, uint32_t slots);
void cmd_work(struct model *m);
/*
 * Refuses a command: reports why, and sets the syndrome. Returns `status`. STATUS_BAD_OP, by which
 * a driver may probe for a command, is no violation.
 */
enum status refuse(struct model *m, struct command *c, enum status status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* --- commands.c --- */
const struct command_row *command_find(uint16_t opcode); /* NULL: no such command */

/* --- caps.c --- */
void caps_reset(struct model *m);
/* A field of the current general capabilities. */
static inline uint32_t cap(const struct model *m, struct field f)
{
	return field_get(nic_of(m)->general, f);
}
#define CAP_CMDIF_CHECKSUM FIELD(0x40, 15, 14)
enum { CHECKSUM_OFF = 0, CHECKSUM_INITIAL = 1, CHECKSUM_ON = 3 };
enum status caps_query(struct model *m, struct command *c);
enum status caps_set(struct model *m, struct command *c);

/* --- object.c --- */
void *object_find(const struct model *m, enum kind kind, uint32_t number); /* NULL: none */
/* The next object of the kind after `behind`, by number, or the first for NULL; NULL: no more. */
void *object_next(const struct model *m, enum kind kind, const void *behind);
uint32_t object_number(const struct model *m, enum kind kind, const void *object);
/* A zeroed object; NULL: none is free. */
void *object_new(struct model *m, enum kind kind);
void object_end(struct model *m, enum kind kind, void *object);
void object_end_all(struct model *m);
unsigned object_count(const struct model *m, enum kind kind);
/* Count that another object refers to this one, or no longer does. */
void object_hold(struct model *m, enum kind kind, uint32_t number);
void object_drop(struct model *m, enum kind kind, uint32_t number);
/* The results of commands about objects. */
enum status object_missing(struct model *m, struct command *c, enum kind kind, uint32_t number);
enum status object_none_left(struct model *m, struct command *c, enum kind kind);
enum status object_made(struct model *m, struct command *c, enum kind kind, const void *object);
/* Commands about c->row->kind: allocate an object without contents; destroy the one at
 * IN_NUMBER. */
enum status object_alloc(struct model *m, struct command *c);
enum status object_destroy(struct model *m, struct command *c);
enum status counter_query(struct model *m, struct command *c);
enum status mkey_create(struct model *m, struct command *c);
void mkey_destroy(struct model *m, void *object);
/* Whether a queue of that PD may access that memory with the key; a violation if not. */
bool mkey_allows(struct model *m, uint32_t lkey, uint32_t pd, uint64_t bus, uint32_t bytes,
                 enum dma_access access);
/* Whether it may read, or write, all memory; no violation. */
bool mkey_allows_all(const struct model *m, uint32_t lkey, uint32_t pd, enum dma_access access);

/* --- ring.c --- */
/* Reads the pages of r, whose sizes are set, from the list at byte `pas` of the input. */
enum status ring_make(struct model *m, struct command *c, struct ring *r, uint32_t pas);
void ring_free(struct ring *r);
uint8_t *ring_find(struct model *m, struct ring *r, uint64_t at, enum dma_access access,
                   const char *what);
/* Entry `index`, modulo the size; NULL: no longer guest memory. */
static inline uint8_t *ring_at(struct model *m, struct ring *r, uint32_t index,
                               enum dma_access access, const char *what)
{
	const uint64_t at = (uint64_t)(index & ((1u << r->log_size) - 1)) << r->log_stride;
	if (r->call == nic_of(m)->call && r->at)
		return r->at + at;
	return ring_find(m, r, at, access, what);
}

/* --- eq.c --- */
enum status eq_create(struct model *m, struct command *c);
enum status eq_query(struct model *m, struct command *c);
void eq_destroy(struct model *m, void *object);
void eq_completion(struct model *m, uint32_t eqn, uint32_t cqn);
bool eq_takes(const struct model *m, enum event type);
/* Posts an event to the EQ that takes this type; without one, the event is lost. */
void eq_event(struct model *m, enum event type, uint8_t subtype,
              const uint8_t data[EQE_DATA_BYTES]);
void eq_doorbell(struct model *m, uint32_t uar, uint32_t value, bool arm);

/* --- cq.c --- */
enum status cq_create(struct model *m, struct command *c);
enum status cq_query(struct model *m, struct command *c);
enum status cq_modify(struct model *m, struct command *c);
void cq_destroy(struct model *m, void *object);
bool cq_alive(const struct model *m, uint32_t cqn);
/* Posts an entry; the caller has filled in all but its owner bit. The entry of a received frame may
 * be delayed to be compressed with others, ... */
void cq_post(struct model *m, uint32_t cqn, uint8_t cqe[CQE_BYTES], bool solicited);
/* Posts the entries of n consecutive frames that differ from `title` in these fields alone. */
struct cq_entry {
	uint32_t hash, bytes;
	uint16_t sum; /* in memory order */
	uint16_t counter;
};
void cq_post_row(struct model *m, uint32_t cqn, const uint8_t title[CQE_BYTES],
                 const struct cq_entry *e, uint32_t n);
/* ... but not beyond the burst of frames. */
void cq_burst_end(struct model *m);
/* Prefetches, for writing, the lines of the next `count` entries. */
void cq_fetch(struct model *m, uint32_t cqn, uint32_t count);
void cq_doorbell(struct model *m, uint32_t uar, uint32_t word, uint32_t cqn);
void cq_scan(struct model *m);
void cq_work(struct model *m);

/* --- wq.c --- */
enum status sq_create(struct model *m, struct command *c);
enum status sq_modify(struct model *m, struct command *c);
enum status sq_query(struct model *m, struct command *c);
void sq_destroy(struct model *m, void *object);
enum status rq_create(struct model *m, struct command *c);
enum status rq_modify(struct model *m, struct command *c);
enum status rq_query(struct model *m, struct command *c);
void rq_destroy(struct model *m, void *object);
/* Reads half `which`, DBR_..., of the doorbell record into w->counter; false: it cannot be read. */
bool wq_look(struct model *m, struct wq *w, unsigned which);
/* The number of waiting entries (BBs of a send queue). The guest writes the record's cache line, so
 * it is read once per call of the model, and again when all entries it announced are done. */
uint32_t wq_posted(struct model *m, struct wq *w, unsigned which);
/* Whether the queue can hold that many; a violation if not. */
bool wq_holds(struct model *m, enum kind kind, const struct wq *w, uint32_t posted);

/* --- tir.c --- */
enum status tis_create(struct model *m, struct command *c);
void tis_destroy(struct model *m, void *object);
enum status rqt_create(struct model *m, struct command *c);
enum status rqt_modify(struct model *m, struct command *c);
void rqt_destroy(struct model *m, void *object);
enum status tir_create(struct model *m, struct command *c);
enum status tir_modify(struct model *m, struct command *c);
void tir_destroy(struct model *m, void *object);
/* Whether the TIR accepts a frame sent in the transport domain `from`; 0: by others. */
bool tir_admits(const struct tir *t, const uint8_t *frame, uint32_t from);
/* The queue for a frame. */
struct rq *tir_choose(struct model *m, const struct tir *t, const uint8_t *frame,
                      const struct headers *h, struct hashed *hashed);
/* The queue of all frames; NULL: it depends on their hash. */
struct rq *tir_only(struct model *m, const struct tir *t);
void tir_hash(const struct tir *t, const uint8_t *frame, const struct headers *h,
              struct hashed *hashed);

/* --- flow.c --- */
enum status table_create(struct model *m, struct command *c);
enum status table_modify(struct model *m, struct command *c);
enum status table_destroy(struct model *m, struct command *c);
enum status root_set(struct model *m, struct command *c);
enum status group_create(struct model *m, struct command *c);
enum status group_destroy(struct model *m, struct command *c);
enum status fte_set(struct model *m, struct command *c);
enum status fte_delete(struct model *m, struct command *c);
void table_end(struct model *m, void *object);
void group_end(struct model *m, void *object);
void fte_end(struct model *m, void *object);
/* The destination of a frame; NULL: drop it. *tag: of the last entry that had one, or 0. */
const struct tir *flow_steer(struct model *m, const uint8_t *frame, const struct headers *h,
                             uint32_t *tag);
/* Whether the frame steered last, an untagged whole datagram of UDP over IPv4, goes where every such
 * frame with its Ethernet header goes. */
bool flow_same_by_ethernet(const struct model *m);

/* --- vport.c --- */
void vport_reset(struct model *m);
uint32_t vport_min_inline(const struct model *m);
enum status vport_query(struct model *m, struct command *c);
enum status vport_modify(struct model *m, struct command *c);
enum status vport_state(struct model *m, struct command *c);
enum status vport_counters(struct model *m, struct command *c);
bool vport_takes(const struct model *m, const uint8_t *frame);
/* Whether the vport receives a frame that it sends: one to an address of its own. */
bool vport_loops(const struct model *m, const uint8_t *frame);
enum cast cast_of(const uint8_t *frame);
void vport_count(struct model *m, enum way way, const uint8_t *frame, uint32_t bytes);
void vport_count_unicast(struct model *m, enum way way, unsigned frames, uint64_t bytes);

/* --- eth_port.c --- */
void eth_port_reset(struct model *m);
/* Call when carrier or admin status may have changed. */
void eth_port_abandon(struct model *m); /* TEARDOWN_HCA: the link falls, and comes up again */
void eth_port_link(struct model *m);
void eth_port_work(struct model *m);
/* Counts an arriving frame; false: it is not accepted. */
bool eth_port_takes(struct model *m, const uint8_t *frame, uint32_t bytes, bool bad_fcs);
void eth_port_sent(struct model *m, const uint8_t *frame, uint32_t bytes);
void eth_port_sent_unicast(struct model *m, unsigned frames, uint64_t bytes);
enum status eth_port_access(struct model *m, struct command *c);

/* --- tx.c --- */
/* The queue has left RST, or has returned there, or is destroyed. */
void send_ready(struct model *m, const struct sq *q, bool ready);
/* The two halves of a write to a send doorbell. */
void send_doorbell(struct model *m, uint32_t uar, uint32_t first, uint32_t second);
bool send_work(struct model *m);

/* --- rx.c --- */
void receive_frames(struct model *m, const struct frame *v, unsigned count);
/* Receives a looped-back frame, sent in the transport domain td. */
void receive_own(struct model *m, uint32_t td, const uint8_t *frame, uint32_t bytes);
unsigned receive_room(struct model *m, unsigned max);
void receive_work(struct model *m);

/* --- hca.c --- */
void hca_reset(struct model *m);
enum status hca_enable(struct model *m, struct command *c);
enum status hca_disable(struct model *m, struct command *c);
enum status hca_init(struct model *m, struct command *c);
enum status hca_teardown(struct model *m, struct command *c);
enum status hca_query_issi(struct model *m, struct command *c);
enum status hca_set_issi(struct model *m, struct command *c);
enum status hca_query_pages(struct model *m, struct command *c);
enum status hca_manage_pages(struct model *m, struct command *c);
enum status hca_driver_version(struct model *m, struct command *c);
enum status hca_query_adapter(struct model *m, struct command *c);

#endif
