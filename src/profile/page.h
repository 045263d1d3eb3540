/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_PAGE_H
#define PROFILE_PAGE_H

#include <stddef.h>

/*
 * The parts of the report's page, as bytes of the program: page.html, page.css
 * and the page's scripts (page*.js, one after the other) of this folder, turned
 * into page_data.c by embed.sh when forkflame is built. Each ends in a NUL that
 * its length does not count. They hold UTF-8 and live as long as the program.
 */
extern const char page_html[];
extern const size_t page_html_len;
extern const char page_css[];
extern const size_t page_css_len;
extern const char page_js[];
extern const size_t page_js_len;

#endif
