/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cmd - the subcommands, one a file and thin: parse options, call the rooms
 * in the order of the walk.
 */
#ifndef FOLAB_CMD_H
#define FOLAB_CMD_H

#include <getopt.h>

#include "../record/record.h"

struct command {
	const char *name;
	/* argv[0] is the command's name.  Returns an enum exit_code. */
	int (*run)(int argc, char **argv);
	const char *summary;
};

int cmd_ab(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_mutants(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_build(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/* "folab: text" on standard error; returns the error's exit code. */
int cmd_fail(const struct err *err);
/* First of all: see that file descriptors 0 to 2 are open. */
void cmd_begin(void);
/* Flush standard output: a full disk or a closed pipe must not look like success. */
int cmd_finish(int code);
/* An option that getopt_long() refused (it has said why): points to --help. */
int cmd_usage(const char *command);
/* DIR/report.txt, which is @text, and DIR/report.html. */
int cmd_write_reports(const char *dir, const struct result *r, const char *text,
		      struct err *err);
/* A space and @word, in quotes if a shell would not take it as it is. */
void cmd_add_word(FILE *to, const char *word);
/* The value of --@name: a whole number within limits, or EXIT_USAGE. */
int cmd_count(const char *name, const char *text, int64_t min, int64_t max,
	      int64_t *value, struct err *err);
/*
 * The value of -m: @own, which is the command's default, gives NULL in *host,
 * "remote:HOST" HOST.  EXIT_USAGE.
 */
int cmd_machine(const char *text, const char *own, const char **host,
		struct err *err);
/* The value of -a.  EXIT_USAGE if there is no such architecture. */
int cmd_arch(const char *text, const struct arch **arch, struct err *err);

#endif
