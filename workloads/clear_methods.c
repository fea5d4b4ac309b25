/* SPDX-License-Identifier: GPL-2.0 */
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "clear_methods.h"

static bool always(void)
{
	return true;
}

/* The C library's own: it may stream, or not, from some length on. */
static void by_memset(void *p, size_t bytes)
{
	memset(p, 0, bytes);
	/* A caller that sees that nothing is read would drop the call. */
	asm volatile("" : : "r"(p) : "memory");
}

#if defined(__x86_64__)

static void by_stosb(void *p, size_t bytes)
{
	asm volatile("rep stosb" : "+D"(p), "+c"(bytes) : "a"(0) : "memory");
}

static void by_stosq(void *p, size_t bytes)
{
	size_t n = bytes / 8;

	asm volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(0) : "memory");
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static void by_avx2(void *p, size_t bytes)
{
	char *at = p, *end = at + bytes;

	for (; at < end; at += 128)
		for (int i = 0; i < 128; i += 32)
			_mm256_stream_si256((__m256i *)(at + i),
					    _mm256_setzero_si256());
	_mm_sfence();
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

__attribute__((target("avx512f"))) static void by_avx512(void *p, size_t bytes)
{
	char *at = p, *end = at + bytes;

	for (; at < end; at += 128) {
		_mm512_stream_si512((__m512i *)at, _mm512_setzero_si512());
		_mm512_stream_si512((__m512i *)(at + 64),
				    _mm512_setzero_si512());
	}
	_mm_sfence();
}

/* X86_FEATURE_ERMS: leaf 7, EBX bit 9. */
static bool has_erms(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 9));
}

#define X86(usable, clear)	usable, clear
#define ARM64(usable, clear)	NULL, NULL
#define OF_KERNEL		(has_erms() ? "rep-stosb" : "rep-stosq")

#elif defined(__aarch64__)

/* DCZID_EL0: bit 4 forbids DC ZVA, bits 3..0 are log2 of its words of 4. */
static uint64_t dczid(void)
{
	uint64_t v;

	asm volatile("mrs %0, dczid_el0" : "=r"(v));
	return v;
}

static bool has_zva(void)
{
	return !(dczid() & 16) && (4u << (dczid() & 15)) <= 4096;
}

static void by_zva(void *p, size_t bytes)
{
	size_t step = 4u << (dczid() & 15);
	char *at = p, *end = at + bytes;

	for (; at < end; at += step)
		asm volatile("dc zva, %0" : : "r"(at) : "memory");
}

static void by_stp(void *p, size_t bytes)
{
	char *at = p, *end = at + bytes;

	for (; at < end; at += 64)
		asm volatile("stp xzr, xzr, [%0]\n\t"
			     "stp xzr, xzr, [%0, #16]\n\t"
			     "stp xzr, xzr, [%0, #32]\n\t"
			     "stp xzr, xzr, [%0, #48]"
			     : : "r"(at) : "memory");
}

#define X86(usable, clear)	NULL, NULL
#define ARM64(usable, clear)	usable, clear
#define OF_KERNEL		(has_zva() ? "dc-zva" : "stp")

#endif

const struct clear_method clear_methods[CLEAR_METHODS] = {
	{ "rep-stosb", X86(always, by_stosb) },
	{ "rep-stosq", X86(always, by_stosq) },
	{ "nt-avx2", X86(has_avx2, by_avx2) },
	{ "nt-avx512", X86(has_avx512, by_avx512) },
	{ "dc-zva", ARM64(has_zva, by_zva) },
	{ "stp", ARM64(always, by_stp) },
	{ "memset", always, by_memset },
};

bool clear_method_usable(const struct clear_method *m)
{
	return m->usable && m->usable();
}

const struct clear_method *clear_method_of_kernel(void)
{
	for (size_t i = 0; i < CLEAR_METHODS; i++)
		if (!strcmp(clear_methods[i].name, OF_KERNEL))
			return &clear_methods[i];
	return NULL;	/* not reached: both names are in the table */
}
