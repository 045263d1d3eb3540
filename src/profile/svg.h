/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_SVG_H
#define PROFILE_SVG_H

#include <stddef.h>

/*
 * The style and the script of the flame graph that out_svg.c writes: svg.css and
 * svg.js of this folder, as bytes of the program; made as those of page.h are.
 */
extern const char svg_css[];
extern const size_t svg_css_len;
extern const char svg_js[];
extern const size_t svg_js_len;

#endif
