# SPDX-License-Identifier: GPL-2.0
#
#	make ab		from a bare machine to the report
#	make check	build and run the tests (check-host: only the fast ones)
#	make mutants	does each small mistake in our series fail its case?
#	make deps	install what is needed (as root; else print how)
#	make install	PREFIX=/usr/local, DESTDIR=
#
# Quiet by default; V=1 shows commands.

V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2);)

CC	?= gcc
CFLAGS	?= -O2 -g
PREFIX	?= /usr/local
B	:= build
VERSION	:= 0.1

# Every dependency's reason is in README.md.
DEPS := build-essential pkg-config git \
	libjansson-dev libinih-dev nettle-dev libarchive-dev libcgroup-dev \
	libnuma-dev libdw-dev libgsl-dev libtraceevent-dev libtracefs-dev libcmocka-dev scdoc \
	linux-source-6.12 flex bison bc libelf-dev libssl-dev xz-utils kmod \
	mmdebstrap libarchive-tools qemu-system-arm qemu-system-x86 xfsprogs jq procps \
	gnuplot-nox libxml2-utils linux-perf b4 git-email libmailtools-perl

# Kernels and agents of the architecture that is not the host's.
ifeq ($(shell uname -m),aarch64)
DEPS += gcc-x86-64-linux-gnu libc6-dev-amd64-cross
else
DEPS += gcc-aarch64-linux-gnu libc6-dev-arm64-cross
endif

override CFLAGS += -std=gnu11 -Wall -Wextra -Wshadow -Wmissing-prototypes \
	-Wstrict-prototypes -Wno-unused-parameter -Wno-missing-field-initializers \
	-Werror=implicit-function-declaration -D_GNU_SOURCE \
	-DFOLAB_VERSION='"$(VERSION)"' -DFOLAB_PREFIX='"$(PREFIX)"'

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# ---- the rooms ------------------------------------------------------------

ROOMS	:= harness/base harness/record cgroups harness/plan harness/build \
	   harness/analyse workloads harness/report harness/attach harness/measure \
	   harness/machine harness/cmd
# What the agent is made of: the floors below it.
GUEST	:= harness/base harness/record cgroups workloads harness/measure \
	   harness/agent

HOST_SRC  := $(wildcard $(addsuffix /*.c,$(ROOMS)))
GUEST_SRC := $(wildcard $(addsuffix /*.c,$(GUEST)))
HOST_OBJ  := $(HOST_SRC:%.c=$(B)/host/%.o)
HOST_LIBS := -ljansson -linih -lnettle -larchive -lcgroup -lnuma -ldw -lelf \
	     -ltracefs -ltraceevent -lgsl -lgslcblas -lm -lpthread

TESTS	:= $(wildcard harness/tests/test_*.c harness/tests/fuzz_*.c \
		workloads/tests/test_*.c)
TEST_BIN := $(patsubst %.c,$(B)/tests/%,$(notdir $(TESTS)))

AGENTS	:= $(B)/agent-arm64 $(B)/agent-x86_64
# What folab sends to another host, beside the agent's library: the local machine.
ONHOST	:= $(addprefix harness/machine/,local.c host_facts.c host_cgroup.c \
		host_scratch.c scratch_fs.c) harness/onhost/main.c
ONHOSTS	:= $(B)/onhost-arm64 $(B)/onhost-x86_64

all: $(B)/folab $(B)/plugin.so

$(B)/folab: $(B)/host/harness/folab.o $(B)/libfolab.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(HOST_LIBS)

$(B)/libfolab.a: $(HOST_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/host/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# Asked when it is needed: make may just have installed it.
$(B)/host/harness/machine/host_ftrace.o: \
	override CFLAGS += $(shell pkg-config --cflags libtracefs)

# ---- the plugin: nothing of ours, QEMU loads it ---------------------------

$(B)/plugin.so: $(wildcard harness/plugin/*.c harness/plugin/*.h)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ \
		$(filter %.c,$^)

# ---- the agent: static, for the guest's architecture -----------------------
#
# The C library is the cross compiler's.  The few other libraries come from
# Debian's packages of that architecture by way of a sysroot in the cache, so
# that the host gets no foreign architecture.

CACHE	:= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/folab
GUEST_LIBS := -lcgroup -ljansson -lnettle -lnuma -lm -lpthread
# libcgroup can look up users and groups, which a static C library warns about
# (--no-warnings); nothing of ours does.

# $(1) folab's name, $(2) GNU triplet, $(3) Debian's name
define agent_rules
$(B)/$(1)/%.o: %.c | $(B)/$(1)/sysroot
	$$(call say,CC,'$(1) $$<')
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2)-gcc $$(CFLAGS) -DFOLAB_AGENT \
		-idirafter $(B)/$(1)/sysroot/include -MMD -MP -c -o $$@ $$<

$(B)/agent-$(1): $(GUEST_SRC:%.c=$(B)/$(1)/%.o)
	$$(call say,LINK,$$@)
	$$(Q)rm -f $(B)/$(1)/libguest.a
	$$(Q)ar rcs $(B)/$(1)/libguest.a \
		$$(filter-out $(B)/$(1)/harness/agent/main.o,$$^)
	$$(Q)$(2)-gcc $$(CFLAGS) -static -s -Wl,--no-warnings -o $$@ \
		$(B)/$(1)/harness/agent/main.o $(B)/$(1)/libguest.a \
		-L$(B)/$(1)/sysroot/lib $$(GUEST_LIBS)

$(B)/onhost-$(1): $(ONHOST:%.c=$(B)/$(1)/%.o) $(B)/agent-$(1)
	$$(call say,LINK,$$@)
	$$(Q)$(2)-gcc $$(CFLAGS) -static -s -Wl,--no-warnings -o $$@ \
		$$(filter %.o,$$^) $(B)/$(1)/libguest.a \
		-L$(B)/$(1)/sysroot/lib $$(GUEST_LIBS)

$(B)/$(1)/sysroot: harness/agent/sysroot harness/agent/packages.sh
	$$(call say,SYSROOT,$(1))
	$$(Q)harness/agent/sysroot $(3) "$$(CACHE)" $$@

# For the guest as it is, with the shared libraries that it needs.
$(B)/stress-ng-$(1): harness/agent/stress-ng harness/agent/packages.sh
	$$(call say,FETCH,$$@)
	$$(Q)harness/agent/stress-ng $(3) "$$(CACHE)" $$@
endef
$(eval $(call agent_rules,arm64,aarch64-linux-gnu,arm64))
$(eval $(call agent_rules,x86_64,x86_64-linux-gnu,amd64))

agents: $(AGENTS) $(ONHOSTS)
stress-ng: $(B)/stress-ng-arm64 $(B)/stress-ng-x86_64

# ---- correctness cases: a static program each, for the guest ----------------
#
# With the kernel's own test harness, out of the kernel source that folab
# builds.  They share the agent's library.

KSELFTEST := $(B)/kselftest/kselftest_harness.h
KSOURCE	:= /usr/src/linux-source-6.12.tar.xz
CASES	:= $(patsubst workloads/cases/%.c,%,$(wildcard workloads/cases/*.c))
CASE_LIB := $(wildcard workloads/cases/lib/*.c)

$(KSELFTEST): $(KSOURCE)
	$(call say,UNPACK,$(@D))
	$(Q)mkdir -p $(@D)
	$(Q)tar -xf $< -C $(@D) --strip-components=4 --touch --wildcards \
		'*/tools/testing/selftests/kselftest.h' \
		'*/tools/testing/selftests/kselftest_harness.h'

# $(1) folab's name, $(2) GNU triplet.  The harness is not free of warnings, and
# a failed assertion takes it back to a fork(2) with longjmp(3): a local
# variable, which says who is the child, has to be in memory then, not in a
# register.
define case_rules
$(B)/$(1)/workloads/cases/%.o: workloads/cases/%.c $(KSELFTEST) \
		| $(B)/$(1)/sysroot
	$$(call say,CC,'$(1) $$<')
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2)-gcc $$(CFLAGS) -DFOLAB_AGENT -Iworkloads/cases \
		$$(if $$(findstring /lib/,$$@),,-O0) \
		-isystem $(B)/kselftest -Wno-missing-prototypes \
		-idirafter $(B)/$(1)/sysroot/include -MMD -MP -c -o $$@ $$<

$(B)/cases-$(1)/%: $(B)/$(1)/workloads/cases/%.o \
		$(CASE_LIB:%.c=$(B)/$(1)/%.o) $(B)/agent-$(1)
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2)-gcc $$(CFLAGS) -static -s -Wl,--no-warnings -o $$@ \
		$$(filter %.o,$$^) $(B)/$(1)/libguest.a \
		-L$(B)/$(1)/sysroot/lib $$(GUEST_LIBS)

cases-$(1): $(CASES:%=$(B)/cases-$(1)/%)
endef
$(eval $(call case_rules,arm64,aarch64-linux-gnu))
$(eval $(call case_rules,x86_64,x86_64-linux-gnu))

# It holds the text of these for the programs that it prints.
$(foreach a,arm64 x86_64,$(B)/$(a)/workloads/cases/lib/walk_print.o): \
	$(wildcard workloads/cases/lib/walk_*.h)

cases: cases-arm64 cases-x86_64
.SECONDARY:

# ---- tests ----------------------------------------------------------------

define test_rule
$(B)/tests/%: $(1)/%.c $(B)/libfolab.a
	$$(call say,TEST,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) -MMD -MP -o $$@ $$< $(B)/libfolab.a $$(HOST_LIBS) -lcmocka
endef
$(eval $(call test_rule,harness/tests))
$(eval $(call test_rule,workloads/tests))

tests: $(TEST_BIN)

JOBS	:= $(shell nproc)

check: deps
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all agents cases stress-ng tests
	$(Q)harness/tests/run $(B)

# With the scenarios that want 12 GiB of memory and minutes of time.
check-full: deps
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all agents cases stress-ng tests
	$(Q)harness/tests/run --full $(B)

# Small mistakes in our own series, each built and run against its case.
mutants: deps
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all agents cases
	$(Q)$(B)/folab mutants $(MUTANTS_ARGS)

check-host: all tests
	$(Q)harness/tests/run --host $(B)

# ---- the two commands ------------------------------------------------------

ab: deps
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all $(B)/agent-arm64
	$(Q)$(B)/folab ab $(AB_ARGS)

deps:
	$(Q)harness/deps $(DEPS)

# ---- man page, install -----------------------------------------------------

$(B)/folab.1: docs/folab.1.scd
	$(call say,MAN,$@)
	$(Q)scdoc < $< > $@

man: $(B)/folab.1

D := $(DESTDIR)$(PREFIX)

# The agents' and kernels' compilers stay with make deps: folab compiles
# kernels where it is installed, too.
install: all agents cases stress-ng man
	$(Q)install -d $(D)/bin $(D)/libexec/folab $(D)/share/man/man1 \
		$(D)/share/folab/workloads
	$(Q)install -m 755 $(B)/folab $(D)/bin/
	$(Q)install -m 755 $(AGENTS) $(ONHOSTS) $(B)/plugin.so \
		$(D)/libexec/folab/
	$(Q)for a in arm64 x86_64; do \
		install -d $(D)/libexec/folab/cases-$$a && \
		install -m 755 $(CASES:%=$(B)/cases-$$a/%) \
			$(D)/libexec/folab/cases-$$a/ && \
		rm -rf $(D)/libexec/folab/stress-ng-$$a && \
		cp -RL $(B)/stress-ng-$$a $(D)/libexec/folab/ || exit; \
	done
	$(Q)install -m 644 $(B)/folab.1 $(D)/share/man/man1/
	$(Q)cp -R patches $(D)/share/folab/
	$(Q)cp -R workloads/scenarios $(D)/share/folab/workloads/

clean:
	$(Q)rm -rf $(B)

.PHONY: all agents stress-ng cases cases-arm64 cases-x86_64 tests check check-full check-host mutants ab deps man install clean

-include $(shell find $(B) -name '*.d' 2>/dev/null)
