/* SPDX-License-Identifier: GPL-2.0 */
/*
 * window - the two instructions that mark the measured window.
 *
 * For the agent: include this header and put FOLAB_WINDOW_BEGIN() and
 * FOLAB_WINDOW_END() directly around the measured system call, in user space
 * and in the same thread.  Without the plugin they do nothing.  They are also
 * compiler barriers.  What lies between is counted, nothing else: start and
 * stop other probes (the PMU) outside of the two, so that their own system
 * calls are not measured.
 *
 * arm64: hints #0x60 and #0x61, which are not allocated and so are no-ops.
 * x86_64: a seven byte no-op whose displacement no compiler makes ("folb",
 * "fole").  The branch behind the first ends the emulator's block there, and
 * with it the code that was translated before the window.
 */
#ifndef FOLAB_WINDOW_H
#define FOLAB_WINDOW_H

#define WINDOW_ARM64_BEGIN	0xd5032c1fU	/* hint #0x60 */
#define WINDOW_ARM64_END	0xd5032c3fU	/* hint #0x61 */
#define WINDOW_X86_NOP		"\x0f\x1f\x80"	/* nopl disp32(%rax) */
#define WINDOW_X86_BEGIN	WINDOW_X86_NOP "folb"
#define WINDOW_X86_END		WINDOW_X86_NOP "fole"
#define WINDOW_X86_LEN		7

#if defined(__aarch64__)
#define FOLAB_WINDOW_BEGIN() \
	asm volatile("hint #0x60\n\tb 1f\n1:" : : : "memory")
#define FOLAB_WINDOW_END() \
	asm volatile("hint #0x61" : : : "memory")
#elif defined(__x86_64__)
#define FOLAB_WINDOW_BEGIN() \
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t.ascii \"folb\"\n\t" \
		     "jmp 1f\n1:" : : : "memory")
#define FOLAB_WINDOW_END() \
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t.ascii \"fole\"" \
		     : : : "memory")
#endif

#endif
