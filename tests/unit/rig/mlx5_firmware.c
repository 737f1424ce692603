#include "tests/unit/rig/mlx5_firmware.h"
#include "tests/unit/rig/spread.h"

#include "abi/layout.h"
#include "hal/mmio.h"

#define BAR 0x200000000000ull
#define BAR_BYTES (1u << 25)
#define TSC_HZ 1000000000ull
#define TICK_NS 500
#define PAIRS_MAX 8
#define RINGS_AT (GUEST_BYTES / 2) /* guest memory below: device half; from there on: data cores */

struct fw fw;

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void set32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static void set64(uint8_t *p, uint64_t v)
{
	set32(p, (uint32_t)(v >> 32));
	set32(p + 4, (uint32_t)v);
}

static uint8_t sum(const uint8_t *p, size_t n)
{
	uint8_t x = 0;
	while (n--)
		x ^= *p++;
	return x;
}

/* --- the machine --- */

#define EXPRESS 0x60 /* the capability, after one for power management */

static void forget(void)
{
	memset(fw.due, 0, sizeof fw.due);
	fw.state = FW_OFF;
	fw.pages = fw.objects = 0;
	fw.eq = 0;
}

uint32_t pci_read(const struct pci_dev *dev, unsigned offset, unsigned size)
{
	assert_ptr_equal(dev, &fw.pci);
	assert_true(size == 1 || size == 2 || size == 4);
	if (fw.now < fw.back)
		return UINT32_MAX >> (32 - 8 * size);
	switch (offset) {
	case 0x00: return fw.pci.vendor;
	case 0x04: return fw.pci_command;
	case 0x06: return 0x10;
	case 0x10: return fw.bar;
	case 0x34: return 0x40;
	case 0x40: return 0x01;
	case 0x41: return EXPRESS;
	case EXPRESS: return 0x10;
	case EXPRESS + 4: return (uint32_t)fw.flr << 28;
	default: return 0;
	}
}

static void function_reset(void)
{
	assert_false(fw.pci_command & 4);
	forget();
	fw.queue_low = fw.queue_high = fw.bar = 0;
	fw.pci_command = 0;
	fw.back = fw.now + 300000000;
	fw.resets++;
	fw.init_until = fw.init_ns > ~0ull - fw.back ? ~0ull : fw.back + fw.init_ns;
	if (fw.heals)
		fw.fault = FW_NONE, fw.delay_ns = 20000;
}

void pci_write(const struct pci_dev *dev, unsigned offset, unsigned size, uint32_t value)
{
	assert_ptr_equal(dev, &fw.pci);
	assert_true(size == 1 || size == 2 || size == 4);
	assert_true(fw.now >= fw.back);
	if (offset == 0x04)
		fw.pci_command = (uint16_t)value;
	else if (offset == 0x10)
		fw.bar = value;
	else if (offset == EXPRESS + 8 && value & 0x8000)
		function_reset();
}

int pci_msix_route(const struct pci_dev *dev, unsigned entry, unsigned core)
{
	assert_ptr_equal(dev, &fw.pci);
	if (entry >= fw.pci.msix_vectors)
		return E_INVAL;
	fw.routed[entry] = core + 1;
	return E_OK;
}

static void *more(size_t bytes)
{
	size_t n = (bytes + GUEST_PAGE - 1) & ~(size_t)(GUEST_PAGE - 1);
	if (n > fw.room - fw.brk)
		return NULL;
	void *p = bus(fw.brk, n);
	fw.brk += n;
	memset(p, 0, n);
	return p;
}

/* --- commands --- */

/* Opcodes from the PRM: what destroys the created object, and the minimum lengths of input and
 * output. */
static const struct known {
	uint16_t opcode, undo;
	uint16_t in_bytes, out_bytes;
	enum fw_state least;
} known[] = {
	{0x100, 0, 16, 4112, FW_ENABLED},       {0x102, 0, 32, 16, FW_ENABLED},
	{0x103, 0, 16, 16, FW_INITIALISED},     {0x104, 0, 16, 16, FW_OFF},
	{0x105, 0, 16, 16, FW_ENABLED},         {0x107, 0, 16, 16, FW_ENABLED},
	{0x108, 0, 16, 16, FW_ENABLED},         {0x109, 0, 4112, 16, FW_ENABLED},
	{0x10a, 0, 16, 112, FW_ENABLED},        {0x10b, 0, 16, 16, FW_ENABLED},
	{0x10d, 0, 80, 16, FW_INITIALISED},     {0x200, 0x202, 272, 16, FW_INITIALISED},
	{0x202, 0, 16, 16, FW_INITIALISED},     {0x301, 0x302, 280, 16, FW_INITIALISED},
	{0x302, 0, 16, 16, FW_INITIALISED},     {0x400, 0x401, 280, 16, FW_INITIALISED},
	{0x401, 0, 16, 16, FW_INITIALISED},     {0x750, 0, 16, 16, FW_INITIALISED},
	{0x754, 0, 16, 272, FW_INITIALISED},    {0x755, 0, 512, 16, FW_INITIALISED},
	{0x771, 0x772, 16, 16, FW_INITIALISED}, {0x772, 0, 16, 16, FW_INITIALISED},
	{0x773, 0, 32, 256, FW_INITIALISED},    {0x800, 0x801, 16, 16, FW_INITIALISED},
	{0x801, 0, 16, 16, FW_INITIALISED},     {0x802, 0x803, 16, 16, FW_INITIALISED},
	{0x803, 0, 16, 16, FW_INITIALISED},     {0x805, 0, 32, 32, FW_ENABLED},
	{0x816, 0x817, 16, 16, FW_INITIALISED}, {0x817, 0, 16, 16, FW_INITIALISED},
	{0x829, 0x82b, 64, 16, FW_INITIALISED}, {0x82b, 0, 64, 16, FW_INITIALISED},
	{0x900, 0x902, 272, 16, FW_INITIALISED}, {0x902, 0, 16, 16, FW_INITIALISED},
	{0x904, 0x906, 280, 16, FW_INITIALISED}, {0x905, 0, 272, 16, FW_INITIALISED},
	{0x906, 0, 16, 16, FW_INITIALISED},     {0x908, 0x90a, 280, 16, FW_INITIALISED},
	{0x909, 0, 272, 16, FW_INITIALISED},    {0x90a, 0, 16, 16, FW_INITIALISED},
	{0x912, 0x914, 192, 16, FW_INITIALISED}, {0x914, 0, 16, 16, FW_INITIALISED},
	{0x916, 0x918, 276, 16, FW_INITIALISED}, {0x917, 0, 276, 16, FW_INITIALISED},
	{0x918, 0, 16, 16, FW_INITIALISED},
	{0x92f, 0x92f, 64, 16, FW_INITIALISED}, {0x930, 0x931, 64, 16, FW_INITIALISED},
	{0x931, 0, 64, 16, FW_INITIALISED},     {0x933, 0x934, 1024, 16, FW_INITIALISED},
	{0x934, 0, 64, 16, FW_INITIALISED},     {0x936, 0x938, 840, 16, FW_INITIALISED},
	{0x938, 0, 64, 16, FW_INITIALISED},
};

static const struct known *find_known(uint16_t opcode)
{
	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].opcode == opcode)
			return &known[i];
	fail_msg("command 0x%x", opcode);
	return NULL;
}

static void manage_pages(const uint8_t *in, uint32_t in_bytes, uint8_t *out, uint32_t out_bytes)
{
	uint32_t op_mod = get32(in + 4), n = get32(in + 12);
	if (!fw.lie)
		assert_int_equal(get32(in + 8), 7); /* function, as QUERY_PAGES says */
	if (op_mod == 1) {
		assert_int_equal(in_bytes, 16 + 8 * n);
		for (unsigned i = 0; i < n; i++) {
			uint64_t at = get64(in + 16 + 8 * i);
			assert_int_equal(at % 4096, 0);
			bus(at, 4096)[0] ^= 0xff; /* the firmware may write it */
			if (fw.lie && fw.pages == FW_PAGES_MAX)
				continue;
			for (unsigned k = 0; k < fw.pages; k++)
				if (fw.page[k] == at && !fw.lie)
					fail_msg("page 0x%llx twice", (unsigned long long)at);
			assert_true(fw.pages < FW_PAGES_MAX);
			fw.page[fw.pages++] = at;
		}
	} else if (op_mod == 2) {
		assert_int_equal(out_bytes, 16 + 8 * n);
		n = n < fw.pages ? n : fw.pages;
		for (unsigned i = 0; i < n; i++) {
			uint64_t at = fw.page[--fw.pages];
			set64(out + 16 + 8 * i, at ^ (fw.lying_page == i + 1 ? fw.lying_bits : 0));
		}
		set32(out + 8, n);
	}
}

static void access_reg(const uint8_t *in, uint8_t *out, uint32_t out_bytes)
{
	uint32_t id = get32(in + 8) & 0xffff, group = in[16 + 3] & 63;
	bool read = get32(in + 4) & 1;
	memcpy(out + 16, in + 16, out_bytes - 16);
	for (unsigned i = 0; id == 0xc00e && i < 16; i++)
		set32(out + 16 + 4 * i, fw.dtor[i]);
	if (id != 0x7004 && id != 0xc00e)
		assert_int_equal(in[16 + 1], 1); /* local_port */
	if (id == 0x5003 && read)
		set32(out + 16 + 4, fw.frame_max << 16);
	if (id == 0x5004) {
		assert_int_equal(in[16 + 3], 4);
		set32(out + 16 + 0x24, fw.eth_oper);
	}
	for (unsigned i = 0; id == 0x5008 && i < 16; i++)
		set64(out + 16 + 8 + 8 * i, fw.errors[16 * group + i]);
}

static void query(uint16_t opcode, const uint8_t *in, uint8_t *out)
{
	uint32_t op_mod = get32(in + 4) & 0xffff;
	switch (opcode) {
	case 0x100:
		memcpy(out + 16, fw.caps[op_mod >> 1], FW_CAP_BYTES);
		break;
	case 0x107:
		set32(out + 8, 7);
		set32(out + 12, op_mod == 1 ? fw.boot_pages : fw.init_pages);
		break;
	case 0x10a:
		set32(out + 0x6c, 2);
		break;
	case 0x750:
		out[15] = (uint8_t)(0x10 | fw.link);
		break;
	case 0x754:
		out[16] = fw.inline_mode;
		memcpy(out + 16 + 0xf6, fw.vport_mac, 6);
		break;
	case 0x773:
		set32(out + 0x30, fw.out_of_buffer);
		break;
	}
}

/* Objects, and the order in which they must be destroyed. */
/* Moves the last object that this opcode destroys to the end of the list. */
static void bring_forward(uint16_t opcode)
{
	unsigned at = fw.objects;
	while (at && fw.undo[at - 1] != opcode)
		at--;
	assert_true(at > 0);
	for (; at < fw.objects; at++)
		fw.undo[at - 1] = fw.undo[at];
	fw.undo[fw.objects - 1] = opcode;
}

static void keep_account(const struct known *k, const uint8_t *in, uint8_t *out)
{
	bool destroys = k->undo == 0;
	if (k->opcode == 0x92f) /* SET_FLOW_TABLE_ROOT undoes itself */
		destroys = (get32(in + 4) & 0xffff) == 1;
	if (k->opcode == 0x936 && (get32(in + 4) & 0xffff) == 1) /* changes an entry */
		return;
	if (fw.lie)
		fw.objects = 0;
	for (unsigned i = 0; destroys && !fw.lie && i < ARRAY_LEN(known); i++) {
		if (known[i].undo != k->opcode)
			continue;
		assert_true(fw.objects > 0);
		if (fw.any_order)
			bring_forward(k->opcode);
		assert_int_equal(fw.undo[--fw.objects], k->opcode);
	}
	if (k->undo && !destroys) {
		assert_true(fw.objects < FW_OBJECTS_MAX);
		fw.undo[fw.objects++] = k->undo;
		set32(out + 8, k->opcode == 0x802 ? 3 : ++fw.next_id & 0xff);
		if (fw.lie)
			fw.objects = 0;
	}
	if (k->opcode == 0x301 && fw.eq == 0) {
		fw.eq = get64(in + 0x110);
		fw.eqn = get32(out + 8);
		fw.eq_in = 0;
	}
	if (k->opcode == 0x302 && get32(in + 8) == fw.eqn)
		fw.eq = 0;
}

static void execute(const struct known *k, const uint8_t *in, uint32_t in_bytes, uint8_t *out,
                    uint32_t out_bytes)
{
	if (k->opcode == 0x102)
		fw.state = FW_INITIALISED;
	if (k->opcode == 0x103) {
		assert_int_equal(fw.objects, 0);
		fw.state = FW_ENABLED;
	}
	if (k->opcode == 0x104)
		fw.state = FW_ENABLED;
	if (k->opcode == 0x105) {
		if (!fw.lie)
			assert_true(fw.pages == 0 && fw.state == FW_ENABLED);
		fw.state = FW_OFF;
	}
	if (k->opcode == 0x108)
		manage_pages(in, in_bytes, out, out_bytes);
	if (k->opcode == 0x805)
		access_reg(in, out, out_bytes);
	query(k->opcode, in, out);
	keep_account(k, in, out);
}

/* Reads (to != NULL) or writes the mailboxes of a text; checks all of them either way. */
static void mailboxes(uint64_t pointer, uint8_t token, uint8_t *text, uint32_t bytes, bool write,
                      bool spoil)
{
	uint32_t number = 0;
	for (uint32_t at = 16; at < bytes; at += 512, number++) {
		uint32_t n = bytes - at < 512 ? bytes - at : 512;
		assert_int_equal(pointer % 512, 0);
		uint8_t *b = bus(pointer, 576);
		assert_int_equal(get32(b + 568), number);
		assert_int_equal(b[573], token);
		if (!write) {
			assert_int_equal(sum(b + 512, 63), 0xff);
			assert_int_equal(sum(b, 576), 0xff);
			memcpy(text + at, b, n);
		} else {
			memcpy(b, text + at, n);
			b[573] = (uint8_t)(token + spoil);
		}
		pointer = get64(b + 560);
	}
	assert_int_equal(pointer, 0);
}

/* Injects the fault that is due; true: the command gets no further answer. */
static bool misbehave(uint8_t *e, uint8_t *out)
{
	switch (fw.fault) {
	case FW_HANG:
		fw.delay_ns = ~0ull >> 1; /* this command and all later ones */
		return true;
	case FW_REMOVE:
		fw.removed = true;
		return true;
	case FW_DELIVERY:
		e[0x3f] = 6 << 1;
		return true;
	case FW_STATUS:
		out[0] = 5;
		set32(out + 4, 0xabcdef);
		return false;
	default:
		return false;
	}
}

/* Requests pages before it continues this command; true: not yet. */
static bool wants_pages(unsigned n)
{
	static unsigned had;
	if (fw.fault != FW_WANT_PAGES || fw.logged + 1 != fw.at)
		return false;
	if (fw.want) {
		had = fw.pages;
		fw_event(0x0b, 0, 7, (uint32_t)fw.want);
		fw.want = 0;
	}
	fw.due[n] = fw.now + 1000;
	return fw.pages == had;
}

static void run_entry(unsigned n)
{
	static uint8_t in[8192], out[8192];
	uint8_t *e = bus(((uint64_t)fw.queue_high << 32 | (fw.queue_low & ~0xfffu)) + 64 * n, 64);
	uint32_t in_bytes = get32(e + 4), out_bytes = get32(e + 0x38);
	assert_int_equal(e[0], 7);
	assert_int_equal(e[0x3f], 1);
	assert_int_equal(sum(e, 64), 0xff);
	assert_int_not_equal(e[0x3c], 0);
	assert_in_range(in_bytes, 16, sizeof in);
	assert_in_range(out_bytes, 16, sizeof out);
	memset(out, 0, sizeof out);
	memcpy(in, e + 0x10, 16);
	mailboxes(get64(e + 8), e[0x3c], in, in_bytes, false, false);
	const struct known *k = find_known((uint16_t)(get32(in) >> 16));
	if (k->opcode != 0x108 && wants_pages(n))
		return;
	assert_in_range(in_bytes, k->in_bytes, sizeof in);
	assert_in_range(out_bytes, k->out_bytes, sizeof out);
	assert_true(fw.lie || fw.state >= k->least);
	struct fw_command *c = &fw.log[fw.logged % FW_LOG_MAX];
	*c = (struct fw_command){k->opcode, (uint16_t)get32(in + 4), {0}, in_bytes, n};
	memcpy(c->in, in, sizeof c->in);
	bool bad = ++fw.logged == fw.at && fw.fault != FW_NONE && fw.fault != FW_WANT_PAGES;
	if (bad && misbehave(e, out))
		return;
	if (!bad || fw.fault == FW_TOKEN)
		execute(k, in, in_bytes, out, out_bytes);
	e[0x3f] = 0;
	if (fw.lie)
		fw.lie(e, out, out_bytes);
	memcpy(e + 0x20, out, 16);
	mailboxes(get64(e + 0x30), e[0x3c], out, out_bytes, true, bad && fw.fault == FW_TOKEN);
}

static void run(void)
{
	for (unsigned n = 0; n < 32; n++)
		if (fw.due[n] && fw.now >= fw.due[n]) {
			fw.due[n] = 0;
			run_entry(n);
		}
}

uint64_t host_clock_tsc(void)
{
	fw.now += look_ns(fw.now, fw.tick_ns);
	run();
	return fw.now;
}

/* --- registers --- */

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	uint64_t at = (uintptr_t)a - BAR;
	uint32_t v = 0;
	assert_int_equal(bytes, 4);
	fw.now += fw.tick_ns;
	switch (at) {
	case 0x0000: v = 0x0023001c; break;
	case 0x0004: v = 5u << 16 | 0x7d0; break;
	case 0x0010: v = fw.queue_high; break;
	case 0x0014: v = fw.queue_low | 0x56; break;
	case 0x01fc: v = (uint32_t)(fw.initialising || fw.now < fw.init_until) << 31; break;
	case 0x0ff8: v = fw.exec_to; break;
	case 0x0ffc: v = fw.init_to; break;
	case 0x0238: v = fw.rfr; break;
	case 0x023c: v = fw.synd; break;
	case 0x1010: v = fw.health_stuck ? fw.health : ++fw.health; break;
	default: fail_msg("read of 0x%llx", (unsigned long long)at);
	}
	uint8_t word[4];
	set32(word, fw.removed ? UINT32_MAX : v);
	memcpy(&v, word, 4);
	return v;
}

static void take_queue(uint32_t low)
{
	if (low & 0x700 && fw.clings)
		return;
	fw.queue_low = low;
	if (low & 0x700)
		forget();
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t raw)
{
	uint64_t at = (uintptr_t)a - BAR;
	uint8_t word[4];
	assert_int_equal(bytes, 4);
	memcpy(word, &raw, 4);
	uint32_t v = get32(word);
	fw.now += fw.tick_ns;
	if (fw.removed)
		return;
	switch (at) {
	case 0x0010: fw.queue_high = v; break;
	case 0x0014: take_queue(v); break;
	case 0x0018:
		assert_int_equal(v & (v - 1), 0);
		assert_true(fw.pci_command & 4);
		fw.doorbells++;
		fw.due[__builtin_ctz(v)] = fw.now + fw.delay_ns;
		break;
	case 3 * 4096 + 0x40:
		assert_true(fw.lie || v >> 24 == fw.eqn);
		fw.eq_armed = v & 0xffffff;
		break;
	default:
		if (!fw.lie || at < 4096 || at >= BAR_BYTES) /* the doorbell page that it named */
			fail_msg("write of 0x%llx", (unsigned long long)at);
	}
}

void host_mmio_write64(volatile void *a, uint64_t v)
{
	(void)v;
	fail_msg("write of 8 bytes at %p", (volatile void *)a);
}

void fw_event(uint8_t type, uint8_t sub_type, uint32_t word0, uint32_t word1)
{
	assert_int_not_equal(fw.eq, 0);
	assert_true(fw.eq_in - fw.eq_armed < 64);
	uint8_t *e = bus(fw.eq + fw.eq_in % 64 * 64, 64);
	memset(e, 0, 63);
	e[1] = type;
	e[3] = sub_type;
	set32(e + 0x20, word0);
	set32(e + 0x24, word1);
	e[0x3f] = fw.eq_in++ / 64 % 2;
}

void fw_raw_event(const uint8_t eqe[63], unsigned ahead, uint8_t owner)
{
	if (fw.eq == 0)
		return;
	unsigned at = fw.eq_in + ahead;
	uint8_t *e = bus(fw.eq + at % 64 * 64, 64);
	memcpy(e, eqe, 63);
	e[0x3f] = owner ^ (at / 64 % 2);
	fw.eq_in += ahead == 0 && (owner & 1) == 0;
}

/* --- start and end --- */

void fw_power(unsigned vectors)
{
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	guest_open();
	memset(&fw, 0, sizeof fw);
	fw.pci = (struct pci_dev){.vendor = 0x15b3,
	                          .device = 0x1017,
	                          .msix_vectors = (uint16_t)vectors,
	                          .bar = {{BAR, BAR_BYTES}}};
	fw.clock = clock_make(TSC_HZ);
	fw.nic = (struct nic){
		.ops = &mlx5_ops, .pci = &fw.pci, .clock = &fw.clock, .dma_more = more};
	fw.brk = GUEST_NOTHING;
	fw.room = RINGS_AT;
	fw.now = 1000000000;
	fw.tick_ns = TICK_NS;
	fw.delay_ns = 20000;
	fw.boot_pages = 300;
	fw.init_pages = 700;
	memcpy(fw.vport_mac, mac, 6);
	fw.eth_oper = 1u << 20; /* 100GBASE-CR4 */
	fw.frame_max = 10240;
	uint8_t *c = fw.caps[0];
	set32(c + 0x10, 18);                     /* log_max_qp */
	set32(c + 0x18, 22u << 16 | 24);         /* log_max_cq_sz, log_max_cq */
	set32(c + 0x34, 1u << 31 | 1u << 25 | 1u << 8); /* vport_group_manager, nic_flow_table,
	                                                    Ethernet */
	set32(c + 0x40, 1u << 14 | 1u << 3);     /* cmdif_checksum, eth_net_offloads */
	set32(c + 0x4c, 1u << 30);               /* driver_version */
	set32(c + 0x50, 1024);                   /* max_wqe_sz_sq */
	set32(c + 0x6c, 17u << 24 | 17u << 16);  /* log_max_rq, log_max_sq */
	set32(c + 0x70, 11u << 8);               /* log_max_rqt_size */
	set32(c + 0x78, 15);                     /* log_max_wq_sz */
	set32(c + 0x90, 4);                      /* log_uar_page_sz */
	set32(fw.caps[1], 3u << 30 | 1u << 24 | 18u << 16 | 2u << 12);
	set32(fw.caps[7] + 0x40, 1u << 31);
	set32(fw.caps[7] + 0x44, 20u << 24 | 64);
	set32(fw.caps[7] + 0x60, 1u << 17);
}

int fw_probe(void)
{
	return mlx5_ops.probe(&fw.nic, &fw.pci);
}

static struct nic_ring_mem mem[PAIRS_MAX];
static struct nic_config config; /* of the last start */

int fw_start(unsigned pairs, struct nic_shared *shared)
{
	static const struct nic_counters cnt[PAIRS_MAX];
	size_t bytes = mlx5_ops.ring_bytes(&fw.nic), at = RINGS_AT;
	assert_in_range(pairs, 1, PAIRS_MAX);
	for (unsigned i = 0; i < pairs; i++, at += (bytes + 4095) & ~(size_t)4095)
		mem[i] = (struct nic_ring_mem){bus(at, bytes), bytes, 1 + i, &cnt[i]};
	/* Nobody may access the rings here: they are a data core's. */
	guest_close(mem[0].mem, bus(at - 1, 1) + 1);
	config = (struct nic_config){pairs, ~(uint32_t)(NIC_VLAN | NIC_PROMISC), BUF_STRIDE_STANDARD, mem};
	memset(shared, 0, sizeof *shared);
	return mlx5_ops.start(&fw.nic, &config, shared);
}

int fw_pair_again(unsigned pair, struct nic_shared *shared)
{
	uint64_t all = (1ull << config.pairs) - 1;
	int e = rig_spread(&mlx5_ops, &fw.nic, all & ~(1ull << pair));
	if (e == E_OK)
		e = mlx5_ops.pair_stop(&fw.nic, pair);
	if (e == E_OK)
		e = mlx5_ops.pair_start(&fw.nic, &config, pair, shared);
	return e == E_OK ? rig_spread(&mlx5_ops, &fw.nic, all) : e;
}

void fw_stop(void)
{
	mlx5_ops.stop(&fw.nic);
}

void fw_assert_clean(void)
{
	assert_int_equal(fw.objects, 0);
	assert_int_equal(fw.pages, 0);
	assert_int_equal(fw.state, FW_OFF);
	assert_int_equal(fw.eq, 0);
}

unsigned fw_count(uint16_t opcode)
{
	unsigned n = 0;
	for (unsigned i = 0; i < fw.logged; i++)
		n += fw.log[i].opcode == opcode;
	return n;
}

int fw_find(unsigned from, uint16_t opcode)
{
	for (unsigned i = from; i < fw.logged; i++)
		if (fw.log[i].opcode == opcode)
			return (int)i;
	return -1;
}
