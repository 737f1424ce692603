/*
 * The statement `xdp OBJECT [PROGRAM]` of a port: a program of the machine's store (control/programs/)
 * runs on every frame that the port receives. Several are a chain. Whether there is such an object is
 * not known here: control/commit/load.c asks. See docs/xdp.md.
 */
#include "control/config/config_parse.h"

static bool is_name(struct text w, size_t size)
{
	bool good = w.len > 0 && w.len < size && w.at[0] != '.' && w.at[0] != '-';
	for (size_t i = 0; good && i < w.len; i++) {
		const char c = text_lower(w.at[i]);
		good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
	}
	return good;
}

bool config_is_object_name(struct text w) { return is_name(w, CONFIG_OBJECT_SIZE); }

int config_xdp(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	unsigned here = 0;
	int error = words_expect(&p->w, i);
	if (error != 0 || (p->w.n > i + 1 && (error = words_end(&p->w, i + 2)) != 0))
		return error;
	const struct text object = words_at(&p->w, i), program = words_at(&p->w, i + 1);
	if (!config_is_object_name(object))
		return FAIL(p, i, "an object's name has 1 to %d letters, digits, and characters of \"-_.\"",
		            CONFIG_OBJECT_SIZE - 1);
	if (program.len && !is_name(program, CONFIG_PROGRAM_SIZE))
		return FAIL(p, i + 1, "a program's name has 1 to %d letters, digits, and characters of \"-_.\"",
		            CONFIG_PROGRAM_SIZE - 1);
	for (unsigned k = 0; k < c->xdp_count; k++) {
		const struct config_xdp *x = &c->xdp[k];
		here += x->interface == p->interface->key;
		if (x->interface == p->interface->key && text_equal(text_of(x->object), object) &&
		    text_equal(text_of(x->program), program))
			return FAIL(p, i, "the interface has this program already, at line %u", x->line);
	}
	if (here == CONFIG_XDP_EACH_MAX)
		return FAIL(p, i, "an interface has at most %d programs", CONFIG_XDP_EACH_MAX);
	if (c->xdp_count == CONFIG_XDP_MAX)
		return FAIL(p, i, "the interfaces have at most %d programs together", CONFIG_XDP_MAX);
	struct config_xdp *x = &c->xdp[c->xdp_count++];
	*x = (struct config_xdp){.interface = p->interface->key, .line = p->w.line};
	memcpy(x->object, object.at, object.len);
	memcpy(x->program, program.at, program.len);
	return 0;
}

int config_check_xdp(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->xdp_count; i++) {
		const struct config_xdp *x = &c->xdp[i];
		const int n = config_number(c, x->interface);
		if (n < 0 || n >= CONFIG_PORTS_MAX)
			return text_fail(err, x->line, text_of("xdp"),
			                 "programs run on ports: give it to the port of this interface");
	}
	return 0;
}
