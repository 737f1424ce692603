# Peer tests: the stack against Linux' own, over tap devices in network namespaces.
#   make test-peer                all; K="loss or flood" runs some only
#   HAYATE_PEER_FULL=1            the long version: 1 GiB, 100,000 connections
#   HAYATE_PEER_BUILD=examples    the programs without sanitizers
# Included by the top Makefile, which has included examples/examples.mk before.

.PHONY: test-peer

test-peer: examples examples-asan ## TCP against Linux' own, over tap devices
	@/usr/bin/python3 -m pytest -c tests/peer/pytest.ini $(if $(K),-k "$(K)") tests/peer
