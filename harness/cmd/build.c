/* SPDX-License-Identifier: GPL-2.0 */
#include "../build/build.h"
#include "cmd.h"

static const char help[] =
"usage: folab build KERNEL [-a ARCH] [-j JOBS] [-v]\n"
"\n"
"Build KERNEL, or find it in the cache, and print the path of its image.\n"
"\n"
"KERNEL is one of\n"
"  6.12                 Debian's linux-source-6.12, as it is\n"
"  6.12+SERIES[+...]    the same with patches/linux-6.12/SERIES applied\n"
"  6.12+SERIES+mutant:NAME  with the mistake patches/mutants/NAME.patch on top\n"
"  git:PATH@REF         a commit of your own tree (the work tree is left alone)\n"
"  image:PATH           an image that is already built\n"
"\n"
"  -a, --arch=ARCH      arm64 (default) or x86_64\n"
"  -j, --jobs=N         compilers at a time (default: one a processor)\n"
"      --config=NAME    with the config fragment patches/config/NAME.config too:\n"
"                       host (boots a distribution), debug, or one of yours\n"
"      --debug          --config=debug (KASAN, DEBUG_VM, page table check, lockdep)\n"
"  -q, --quiet          no progress line\n"
"  -v, --verbose        the compiler's output too\n"
"  -h, --help           this text\n"
"\n"
"example: folab build git:$HOME/linux@mm-unstable -a x86_64\n";

int cmd_build(int argc, char **argv)
{
	static const struct option options[] = {
		{ "arch", required_argument, NULL, 'a' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "config", required_argument, NULL, 'c' },
		{ "debug", no_argument, NULL, 'D' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const struct arch *arch = arch_find("arm64");
	struct build_options opt = { 0 };
	struct image image = { 0 };
	struct err err = { 0 };
	int64_t jobs = 0;
	int c;

	while ((c = getopt_long(argc, argv, "a:j:qvh", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			arch = arch_find(optarg);
			if (!arch) {
				err_set(&err, EXIT_USAGE,
					"no architecture \"%s\"; there are arm64 and x86_64",
					optarg);
				return cmd_fail(&err);
			}
			break;
		case 'j':
			if (parse_int(optarg, 1, 4096, &jobs)) {
				err_set(&err, EXIT_USAGE,
					"--jobs %s: must be a whole number from 1",
					optarg);
				return cmd_fail(&err);
			}
			opt.jobs = jobs;
			break;
		case 'D':
			opt.fragment = "debug";
			break;
		case 'c':
			if (build_check_fragment(optarg, &err))
				return cmd_fail(&err);
			opt.fragment = optarg;
			break;
		case 'q':
			progress_quiet(true);
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return cmd_usage("build");
		}
	}
	if (argc - optind != 1) {
		err_set(&err, EXIT_USAGE, "folab build takes one KERNEL");
		return cmd_fail(&err);
	}
	intr_install();
	if (build_check_spec(argv[optind], arch, &err) ||
	    build_kernel(argv[optind], arch, &opt, &image, &err))
		return cmd_fail(&err);
	puts(image.kernel);
	image_free(&image);
	return EXIT_OK;
}
