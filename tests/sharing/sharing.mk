# Cache lines that cores share, counted by a plugin of QEMU's.
#   make sharing             router, discard and pktgen with 1, 2, 4, 8 and 16 data cores: a table.
#                            It fails if a function shares a line that tests/sharing/expected.txt
#                            does not have. OPTIONS: those of `tests/sharing/sharing.py --help`
# Included by the top Makefile.

SHARING_BUILD := $(BUILD)/sharing
# A plugin states which version of QEMU's interface it takes. QEMU 9.0 dropped version 1 and has the calls
# that we use unchanged.
SHARING_VERSION = $(shell qemu-system-x86_64 --version 2>/dev/null | \
	sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p' | awk '{ print $$1 < 9 ? 1 : 2 }')

.PHONY: sharing sharing-plugin
sharing-plugin: $(SHARING_BUILD)/plugin.so

$(SHARING_BUILD)/plugin.so: tests/sharing/plugin.c tests/sharing/sharing.mk
	@mkdir -p $(@D)
	@gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wshadow -fPIC -shared -fvisibility=hidden \
		-DPLUGIN_VERSION=$(or $(SHARING_VERSION),1) -o $@ $< -lpthread

sharing: all sharing-plugin ## cache lines shared between cores, by function, at 1 to 16 data cores: a table
	@$(PYTHON) tests/sharing/sharing.py $(OPTIONS)
